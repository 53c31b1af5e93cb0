# SPDX-License-Identifier: MIT
"""page.py TEST_PAGE CHROMIUM WEIR FOLDER PORT: the page of a real `weir serve`, before, while and after it runs.

Both end with it."""
import pathlib
import subprocess
import sys
import time
import urllib.parse
import urllib.request

sys.path.insert(0, sys.argv[1])
from browser import Browser  # noqa: E402

CHROMIUM, WEIR, FOLDER, PORT = sys.argv[2], sys.argv[3], pathlib.Path(sys.argv[4]), sys.argv[5]
PATIENCE_S = 60
ADDRESS = f'http://127.0.0.1:{PORT}/'


class Service:
    def __enter__(self):
        words = [WEIR, 'serve', '--resp', '127.0.0.1:0', '--http', f'127.0.0.1:{PORT}']
        with open(FOLDER / 'served', 'wb') as said:
            self.process = subprocess.Popen(words, stdout=said, stderr=said)
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end and self.process.poll() is None:
            try:
                urllib.request.urlopen(ADDRESS + 'readyz', timeout=PATIENCE_S).close()
                return self
            except OSError:
                time.sleep(0.05)
        self.__exit__()
        raise TimeoutError('the service does not answer, or has ended: ' + (FOLDER / 'served').read_text())

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def take(key, times):
    for _ in range(times):
        body = urllib.parse.urlencode({'limit': '10/year', 'key': key}).encode()
        try:
            urllib.request.urlopen(ADDRESS + 'v1/take', body, timeout=PATIENCE_S).close()
        except urllib.error.HTTPError as refusal:
            assert refusal.code == 429, refusal


def says(browser, place, words):
    script = f'document.querySelector({place!r})?.textContent.includes({words!r})'
    browser.wait(script, f'{place} says {words}')


with Browser(CHROMIUM, FOLDER) as browser:
    with Service():
        browser.look(1280, False)
        browser.open(ADDRESS)
        says(browser, '#first-code', f'curl {ADDRESS}v1/take -d limit=10/min -d key=me')
        says(browser, '#addresses', f'HTTP at 127.0.0.1:{PORT}.')
        take('<b>acme', 12)
        says(browser, '.card', '2 refused of 12 since the start')
        says(browser, '.card', 'limits given as text')
        says(browser, '#top', '<b>acme')
        browser.wait('!byId("first").checkVisibility()', 'how to begin is not told any more')
        browser.wait('feed.samples.reduce((sum, sample) => sum + sample.calls.get("all")[0], 0) === 12',
                     'every second is there')
        assert browser.console == [], browser.console
    browser.wait('feed.state === "away"', 'it notices that the service is gone')
    with Service():
        browser.run('feedTurn()')
        browser.wait('feed.state === "live" && byId("first").checkVisibility()', 'it goes on with the next one')
        take('other', 1)
        says(browser, '.card', '0 refused of 1 since the start')
