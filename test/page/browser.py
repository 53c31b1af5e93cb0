# SPDX-License-Identifier: MIT
"""browser.py - a real Chromium, told what to do over a pipe in its own language (the DevTools protocol).

The browser ends with the `with` block, by its pid."""
import base64
import fcntl
import itertools
import json
import os
import select
import signal
import subprocess
import time

PATIENCE_S = 60


def high_pipe():
    """Its descriptors are none of the two that the browser wants."""
    low = os.pipe()
    high = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in low]
    for end in low:
        os.close(end)
    return high


class Browser:
    """One page in a browser of its own: its console and what it asks of the network are kept."""

    def __init__(self, chromium, folder):
        self.numbers, self.inbox = itertools.count(1), b''
        self.console, self.requests = [], []
        told, self.write_end = high_pipe()
        self.read_end, answers = high_pipe()
        # The browser reads from descriptor 3 and answers on 4.
        words = [chromium, '--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage',
                 '--hide-scrollbars', '--no-first-run', '--disable-background-networking', '--disable-sync',
                 '--disable-component-update', '--disable-default-apps', '--disable-extensions',
                 f'--user-data-dir={folder}/profile', '--remote-debugging-pipe', 'about:blank']
        self.process = subprocess.Popen(
            ['bash', '-c', f'exec 3<&{told} 4>&{answers} {told}<&- {answers}>&-; exec "$@"', 'browser', *words],
            pass_fds=(told, answers), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
            env={**os.environ, 'TZ': 'Asia/Kolkata'})
        os.close(told)
        os.close(answers)
        self.session = None
        targets = self.ask('Target.getTargets')['targetInfos']
        page = next(target for target in targets if target['type'] == 'page')
        self.session = self.ask('Target.attachToTarget', targetId=page['targetId'], flatten=True)['sessionId']
        for domain in ('Page', 'Runtime', 'Network', 'Log'):
            self.ask(f'{domain}.enable')

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self.write_end)
        os.close(self.read_end)

    def note(self, message):
        method, what = message.get('method'), message.get('params', {})
        if method == 'Runtime.consoleAPICalled':
            self.console.append(' '.join(str(part.get('value', part)) for part in what['args']))
        elif method == 'Runtime.exceptionThrown':
            self.console.append(str(what['exceptionDetails'].get('exception', what))[:400])
        elif method == 'Log.entryAdded':
            self.console.append(what['entry']['text'] + ' ' + what['entry'].get('url', ''))
        elif method == 'Network.requestWillBeSent':
            self.requests.append(what['request']['url'])

    def receive(self, end):
        while b'\0' not in self.inbox:
            if not select.select([self.read_end], [], [], max(0, end - time.monotonic()))[0]:
                raise TimeoutError('the browser does not answer')
            more = os.read(self.read_end, 1 << 16)
            if not more:
                raise EOFError('the browser has ended')
            self.inbox += more
        message, self.inbox = self.inbox.split(b'\0', 1)
        return json.loads(message)

    def ask(self, method, **parameters):
        number = next(self.numbers)
        order = {'id': number, 'method': method, 'params': parameters}
        if self.session:
            order['sessionId'] = self.session
        os.write(self.write_end, json.dumps(order).encode() + b'\0')
        end = time.monotonic() + PATIENCE_S
        while True:
            message = self.receive(end)
            if message.get('id') == number:
                if 'error' in message:
                    raise RuntimeError(f'{method}: {message["error"]}')
                return message['result']
            self.note(message)

    def run(self, script):
        """What a script in the page comes to, also when it is a promise."""
        done = self.ask('Runtime.evaluate', expression=script, awaitPromise=True, returnByValue=True)
        if 'exceptionDetails' in done:
            raise RuntimeError(f'{script[:200]}: {done["exceptionDetails"]}')
        return done['result'].get('value')

    def wait(self, script, what):
        """Until it is true; what it then was."""
        end = time.monotonic() + PATIENCE_S
        while True:
            value = self.run(script)
            if value:
                return value
            if time.monotonic() > end:
                raise TimeoutError(f'never came true: {what}')
            time.sleep(0.05)

    def open(self, address):
        self.ask('Page.navigate', url=address)
        self.wait(f'document.readyState === "complete" && location.href.startsWith({json.dumps(address)})', address)

    def look(self, width, dark, height=900):
        self.ask('Emulation.setEmulatedMedia',
                 features=[{'name': 'prefers-color-scheme', 'value': 'dark' if dark else 'light'}])
        self.ask('Emulation.setDeviceMetricsOverride', width=width, height=height, deviceScaleFactor=1,
                 mobile=False)

    def press(self, key, code):
        self.ask('Input.dispatchKeyEvent', type='keyDown', key=key, code=key, windowsVirtualKeyCode=code)

    def picture(self, path, whole=True):
        done = self.ask('Page.captureScreenshot', captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(done['data']))
