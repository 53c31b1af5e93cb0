# SPDX-License-Identifier: MIT
"""What `weir serve`, the module and the functions answer."""
import http.client
import json
import re
import shlex
import socket

from common import (UNKNOWN, engine, fact, redis_with_functions, redis_with_module, samples, serve, serve_alone,
                    serve_with_engine, wait_until, weir)
from manual import manual_items


class Resp:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(30)
        self.socket.connect(str(path))
        self.file = self.socket.makefile('rb')

    def ask(self, *words):
        words = [word.encode() for word in words]
        self.socket.sendall(b'*%d\r\n' % len(words) + b''.join(b'$%d\r\n%s\r\n' % (len(w), w) for w in words))
        return self.answer()

    def answer(self):
        line = self.file.readline()[:-2].decode()
        kind, rest = line[:1], line[1:]
        if kind in '$=' and rest != '-1':
            return self.file.read(int(rest) + 2)[:-2].decode(errors='replace')
        if kind == '%':
            return [self.answer() for _ in range(2 * int(rest))]
        if kind in '*~' and rest != '-1':
            return [self.answer() for _ in range(int(rest))]
        if kind in '$*_':
            return None
        if kind == ':':
            return int(rest)
        return line if kind == '-' else rest


def shape(answer):
    if isinstance(answer, list):
        return '[' + ' '.join(map(shape, answer)) + ']'
    if isinstance(answer, str):
        return answer if answer.startswith('-') or re.fullmatch(r'[A-Za-z_-]{1,20}', answer) else 'text'
    return 'null' if answer is None else 'integer'


def pairs(flat):
    return dict(zip(flat[::2], flat[1::2]))


def list_commands_of(where, resp, rows):
    names = sorted(row[0] for row in rows)
    for row in rows:
        fact('resp', row[0], where, f'arity {row[1]}, flags {",".join(sorted(row[2]))}, keys {row[3:6]}')
    docs = pairs(resp.ask('COMMAND', 'DOCS', *names))
    for name in names:
        for word, value in pairs(docs.get(name, [])).items():
            fact('resp', name, where, word, value if isinstance(value, str) else shape(value))


def list_resp():
    for where, sock in (('serve', serve_alone()[0]), ('module', redis_with_module()),
                        ('functions', redis_with_functions())):
        resp = Resp(sock)
        if where == 'serve':
            list_commands_of(where, resp, resp.ask('COMMAND'))
            for name in re.findall(r'^(\w+):', resp.ask('INFO'), re.M):
                fact('resp-info', 'serve', name)
        elif where == 'module':
            for module in map(pairs, resp.ask('MODULE', 'LIST')):
                fact('resp', module['name'], 'module')
                names = resp.ask('COMMAND', 'LIST', 'FILTERBY', 'MODULE', module['name'])
                list_commands_of(where, resp, resp.ask('COMMAND', 'INFO', *names))
        else:
            for library in map(pairs, resp.ask('FUNCTION', 'LIST')):
                for function in map(pairs, library['functions']):
                    flags = ','.join(sorted(function['flags']))
                    fact('resp', function['name'], f'function of {library["library_name"]}', f'flags {flags}')
        for section, line in samples('resp.txt'):
            if section == where:
                fact('reply', where, line, shape(resp.ask(*shlex.split(line))))


class Http(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__('localhost', timeout=30)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(30)
        self.sock.connect(self.path)


def fetch(path, method, target, body=''):
    client = Http(path)
    kind = 'application/json' if body.startswith('{') else 'application/x-www-form-urlencoded'
    client.request(method, target, body or None, {'X-Weir-Proxy': 'a', **({'Content-Type': kind} if body else {})})
    answer = client.getresponse()
    text = answer.read().decode(errors='replace')
    client.close()
    return answer, text


def json_paths(value, at=''):
    if isinstance(value, dict):
        return {path for key, below in value.items() for path in json_paths(below, f'{at}.{key}')}
    if isinstance(value, list):
        return {path for below in value for path in json_paths(below, at + '[]')} or {at + '[]'}
    kinds = {bool: 'boolean', str: 'string', type(None): 'null'}
    return {f'{at} {kinds.get(type(value), "number")}'}


def list_json(subject, text):
    """Whether the text is an object of JSON, or one on each line."""
    try:
        values = [json.loads(text)]
    except ValueError:
        try:
            values = [json.loads(line) for line in text.splitlines()]
        except ValueError:
            return False
    found = set().union(*(json_paths(value) for value in values if isinstance(value, (dict, list))))
    for path in found:
        if path.startswith('.events['):  # something has happened by now, or nothing
            path = '.events[]'
        # In a short measurement a figure may be there or not.
        fact('json', subject, path.replace(' null', ' number') if 'weir-bench' in subject else path)
    return bool(found)


def list_http():
    path = serve_alone()[1]
    named = re.findall(r'(?<=[ "])/[\w/]*', fetch(path, 'GET', '/' + UNKNOWN)[1])
    paged = [name for page, _, item, _ in manual_items() if page == 'weir-serve(1)'
             for name in re.findall(r'(?<!\S)/[\w/]*', item.replace('/name', '/NAME'))]
    for name in sorted(set(named) ^ set(paged)):
        fact('disagree', name, 'not in the manual page' if name in named else 'not in the words of 404')
    for target in sorted({*named, *paged, '/' + UNKNOWN}):
        for method in ('GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'):
            answer, _ = fetch(path, method, target.replace('NAME', UNKNOWN))
            allow = answer.headers['Allow']
            fact('http', f'{method} {target}', f'{answer.status}', allow or '')
    for _, line in samples('http.txt'):
        if 'stats' in line:
            wait_until(lambda: json.loads(fetch(path, 'GET', '/v1/stats?since=0')[1]).get('samples', [1]))
        answer, text = fetch(path, *line.split(' ', 2))
        fact('http', line, f'{answer.status}')
        for name, value in answer.getheaders():
            fact('http-header', line, name + ': ' + re.sub(r'\d+', 'N', value if name not in ('Date', 'ETag') else ''))
        if not list_json(line, text) and answer.status >= 400 or 'error' in text[:20]:
            fact('says', line, re.sub(r'\d+ s\b', 'N s', text))


def list_metrics():
    for where, path in (('alone', serve_alone()[1]), ('with an engine', serve_with_engine()[1])):
        fetch(path, 'POST', '/v1/take', 'limit=api&tenant=a')
        answer, text = fetch(path, 'GET', '/metrics')
        fact('metrics', where, f'{answer.status}', answer.headers['Content-Type'])
        for kind, name, value in re.findall(r'^# (TYPE|HELP) (\S+) (.*)', text, re.M):
            fact('metric', name, where, f'{kind} {value}')
        for series in re.findall(r'^([a-z]\S*(?:\{.*\})?) ', text, re.M):
            fact('metric', re.sub('{.*', '', series), where, series)
