# SPDX-License-Identifier: MIT
"""cross_site.py TEST_PAGE CHROMIUM FOLDER VICTIM METRICS: a page at localhost sends a real browser to VICTIM in
all ways that pages have; by METRICS it shows that the requests came, and that none was let through or counted.

Both end with it."""
import http.server
import json
import pathlib
import re
import sys
import threading
import urllib.request

sys.path.insert(0, sys.argv[1])
from browser import Browser  # noqa: E402

CHROMIUM, FOLDER, VICTIM, METRICS = sys.argv[2], pathlib.Path(sys.argv[3]), sys.argv[4], sys.argv[5]
PATIENCE_S = 60
HEADERS = ('X-Weir-Key', 'X-Weir-Proxy', 'X-Forwarded-Method', 'X-Forwarded-Uri', 'X-Original-URI')
SCRIPT = '''
const victim = %s, headers = %s, done = [];
const image = new Image();
done.push(new Promise(end => { image.onload = image.onerror = end; image.src = victim + '&image'; }));
for (const how of [{}, {method: 'POST', body: 'a'}, {credentials: 'include'}, {method: 'HEAD'}])
    done.push(fetch(victim, {mode: 'no-cors', ...how}).catch(() => 0));
for (const name of headers) {
    done.push(fetch(victim, {headers: {[name]: 'victim'}}).catch(() => 0));
    done.push(fetch(victim, {mode: 'no-cors', headers: {[name]: 'victim'}}).catch(() => 0));
}
navigator.sendBeacon(victim, 'a');
const frame = document.createElement('iframe'), form = document.createElement('form');
frame.name = 'frame';
done.push(new Promise(end => { frame.onload = end; }));
form.method = 'post'; form.action = victim; form.target = 'frame';
document.body.append(frame, form);
form.submit();
Promise.all(done).then(() => done.length)
'''


class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = b'<!doctype html><meta charset=utf-8><title>a page on the web</title>'
        self.send_response(200)
        self.send_header('Content-Type', 'text/html')
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def figures():
    """How many requests came over HTTP, this one included; how many decisions there were."""
    with urllib.request.urlopen(METRICS, timeout=PATIENCE_S) as answer:
        text = answer.read().decode()
    came = re.search(r'^weir_requests_total\{protocol="http"\} (\d+)$', text, re.M)
    decided = re.findall(r'^weir_decisions_total\{.*\} (\d+)$', text, re.M)
    return int(came.group(1)), sum(int(count) for count in decided)


server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Page)
threading.Thread(target=server.serve_forever, daemon=True).start()
before, _ = figures()
with Browser(CHROMIUM, FOLDER) as browser:
    browser.open(f'http://localhost:{server.server_port}/')
    browser.run(SCRIPT % (json.dumps(VICTIM), json.dumps(HEADERS)))
came, decided = figures()
server.shutdown()
# An image, four fetches, a form; each header's preflight, which is an OPTIONS of the same address.
assert came - before - 1 >= 6 + len(HEADERS), f'only {came - before - 1} requests came'
assert decided == 0, f'{decided} decisions'
