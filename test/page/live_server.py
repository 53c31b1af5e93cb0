# SPDX-License-Identifier: MIT
"""live_server.py - stands in for weir serve: the page that is built in, and answers to /v1/stats that are made up.

The same answers each time, but for the clock; down() is as if the service had ended, up() as if it came back."""
import http.server
import json
import math
import subprocess
import threading
import time
import urllib.parse

OTHERS = 64


def limit(place, name, text, **more):
    return {'place': place, 'name': name, 'text': text, **({'shadow': False} if text else {}), 'allowed': 0,
            'denied': 0, 'never': 0, 'shadowed': 0, 'permits': 0, 'late_ns': 0, **more}


def busy(place, second):
    """Offered, denied, shadowed of a second: waves, and a storm now and then."""
    base = 40 * (place + 1) * (1.2 + math.sin(second / (20 + 7 * place) + place))
    storm = 300 if place == 1 and second % 240 > 190 else 0
    offered = int(base + storm + (second * 7919 * (place + 3)) % 11)
    over = max(0, offered - 60 * (place + 1)) if place != 2 else 0
    return [offered, 0, over] if place == 3 else [offered, over, 0]


class Case:
    """What the service would say; tests change it while it runs."""

    def __init__(self, names=(), seconds=0, calls=busy):
        self.limits, self.calls, self.count = list(names), calls, 0
        self.samples, self.events, self.mistakes, self.top = [], [], [], []
        self.table = {'keys': 0, 'keys_max': 1000000, 'bytes': 25165824, 'full': 0, 'displaced': 0, 'reclaimed': 0}
        self.layout, self.started_ms, self.rows_at_once, self.asked = 0, 1700000000000, 10000, []
        self.draining, self.more_names = False, 0
        for back in range(seconds, 0, -1):
            self.tick(time.time() - back)

    def tick(self, now=None):
        now = now or time.time()
        self.count += 1
        calls = []
        for one in self.limits:
            offered, denied, shadowed = self.calls(one['place'], self.count)
            one['allowed'] += offered - denied
            one['denied'] += denied
            one['shadowed'] += shadowed
            if offered:
                calls.append([one['place'], offered, denied, shadowed])
        p50 = 9000 + 700 * (self.count % 7) if calls else 0
        longest = p50 * (40 if self.count % 41 == 0 else 5)
        self.samples = (self.samples + [[self.count, int(now * 1000), p50, p50 * 3, longest,
                                         self.table['keys'], 12, calls]])[-600:]

    def stats(self, since):
        sums = {name: sum(one[name] for one in self.limits)
                for name in ('allowed', 'denied', 'never', 'shadowed', 'permits')}
        rows = [row for row in self.samples if row[0] > (since if since <= self.count else 0)]
        told = rows[:self.rows_at_once]
        return {
            'version': '0.1.0', 'unix_ms': int(time.time() * 1000), 'started_unix_ms': self.started_ms,
            'uptime_s': self.count, 'draining': self.draining, 'policies': 1,
            'addresses': [{'protocol': protocol, 'address': f'{host}:{port}'}
                          for protocol, port in (('RESP', 9347), ('HTTP', 9348)) for host in ('127.0.0.1', '[::1]')],
            'connections': {'open': 12, 'opened': 345, 'refused': 0, 'cut': 2}, 'commands': 5, 'http_requests': 6,
            'errors': 1, 'workers': 2, 'table': self.table, 'events': self.events,
            'mistakes': self.mistakes, 'top': self.top,
            'layout': self.layout, 'sample': self.count,
            'limits': [one for one in self.limits if one['place'] != OTHERS],
            'names': len(self.limits) + self.more_names, 'all': sums, 'samples': told,
            'more': len(told) < len(rows)}


class Server:
    def __init__(self, fixture):
        built = subprocess.run([fixture], capture_output=True, check=True).stdout
        content_type, policy, self.page = built.split(b'\n', 2)
        self.headers = {'Content-Type': content_type.decode(), 'Content-Security-Policy': policy.decode()}
        self.case, self.status, self.server, self.port = Case(), 200, None, 0

    def answer(self, path):
        where = urllib.parse.urlsplit(path)
        if where.path == '/':
            return 200, self.page, self.headers
        if where.path == '/v1/stats':
            since = int(urllib.parse.parse_qs(where.query)['since'][0])
            self.case.asked.append(since)
            body = json.dumps(self.case.stats(since), ensure_ascii=False).encode()
            return self.status, body, {'Content-Type': 'application/json'}
        return 404, b'nothing here', {}

    def up(self):
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                status, body, headers = outer.answer(self.path)
                self.send_response(status)
                for name, value in {**headers, 'Content-Length': str(len(body))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        class Quiet(http.server.ThreadingHTTPServer):
            def handle_error(self, *_):  # a page that is left does not wait for its answer
                pass

        self.server = Quiet(('127.0.0.1', self.port), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()
        return f'http://127.0.0.1:{self.port}/'

    def down(self):
        self.server.shutdown()
        self.server.server_close()


def usual():
    names = [('api', '60/min burst=60 algorithm=gcra; 100k tokens/min burst=100k algorithm=gcra'),
             ('login', '5/15min algorithm=sliding-log'), ('search', '200/s burst=400 algorithm=gcra'),
             ('upload', '10/min burst=10 algorithm=gcra'), ('', None)]
    case = Case([limit(i, *name) for i, name in enumerate(names)], 0)
    case.limits[3]['shadow'] = True
    for back in range(420, 0, -1):
        case.table['keys'] = 182000 + 300 * (420 - back)
        case.tick(time.time() - back)
    now = int(time.time() * 1000)
    case.events = [{'number': 3, 'unix_ms': now - 62000, 'text': 'cut 203.0.113.9: sent no whole request in 10 s'},
                   {'number': 2, 'unix_ms': now - 190000, 'text': 'weir.yaml:7:11: limits.api.limit: expected a period '
                    'after "10/", such as s, min, h; for example 10/s; the old limits stay'},
                   {'number': 1, 'unix_ms': now - 400000, 'text': 'weir.yaml: 4 limits'}]
    case.mistakes = [{'number': i, 'unix_ms': now - 9000 // i, 'text': f'HTTP 400 /auth: limit: mistake {i}'}
                     for i in (3, 2, 1)]
    keys = [('login', '203.0.113.9'), ('login', '2001:db8:4::/64'), ('api', 'acme'), ('api', 'globex'),
            (None, 'user:42'), ('upload', '198.51.100.77'), ('login', '192.0.2.15'), ('api', 'initech')]
    case.top = [{'limit': name, 'key': key, 'denied': int(18023 / (i + 1) ** 1.3), 'over': 3 * (i > 4), 'cut': False}
                for i, (name, key) in enumerate(keys)]
    return case
