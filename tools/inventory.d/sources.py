# SPDX-License-Identifier: MIT
"""Libraries, headers, what is installed, and the texts of the sources."""
import re

from common import BUILD, ENVIRONMENT, FACTS, ROOM, TREE, Trouble, fact, run, source_texts, weir
from manual import manual_items


def list_symbols():
    for library, dynamic in (('libweir.so', ['-D']), ('libweir-redis.so', ['-D']), ('weir-redis.so', ['-D']),
                             ('libweir.a', []), ('libweir-redis.a', [])):
        rows = [line.split() for line in run('nm', *dynamic, '-g', '--defined-only', '--with-symbol-versions',
                                             BUILD / library, status=0)[1].splitlines()]
        rows = [row for row in rows if len(row) == 3]
        if not rows:
            raise Trouble(f'{library} exports nothing')
        for _, kind, name in rows:
            fact('symbol', name, library, kind)
        if dynamic:
            for soname in re.findall(r'SONAME.*\[(.*)\]', run('readelf', '-d', BUILD / library, status=0)[1]):
                fact('soname', library, soname)


def list_installed():
    prefix = ROOM / 'installed'
    run('cmake', '--install', BUILD, '--prefix', prefix, status=0)
    system = re.compile(r'\blib(64|/[\w-]+-linux-gnu)\b')
    for path in sorted(path for path in prefix.rglob('*') if not path.is_dir()):
        fact('installed', system.sub('lib', str(path.relative_to(prefix))))
        if path.suffix == '.pc':
            for line in path.read_text().splitlines():
                if line and not line.startswith(('prefix=', '#')):
                    fact('pkg-config', path.name, system.sub('lib', line))
        if path.suffix == '.cmake':
            for target in re.findall(r'add_library\((\S+)', path.read_text()):
                fact('cmake-target', target)


def cpp(text, *options):
    return run('cc', '-E', '-P', '-xc', '-DWEIR_API=', *options, '-', text=text, status=0)[1]


def declarations(text):
    depth, begin = 0, 0
    for at, letter in enumerate(text):
        depth += {'{': 1, '}': -1}.get(letter, 0)
        ends = letter == ';' or letter == '}' and not re.match(r'\s*(\w|;)', text[at + 1:]) or \
            letter == '}' and 'static inline' in text[begin:at]
        if depth == 0 and ends:
            yield ' '.join(text[begin:at + 1].split())
            begin = at + 1


def list_headers():
    headers, constants, types = sorted((TREE / 'include').rglob('*.h')), set(), set()
    for header in headers:
        name = str(header.relative_to(TREE / 'include'))
        text = re.sub(r'(?m)^\s*#\s*include.*', '', header.read_text())
        found = list(declarations(cpp(text)))
        for words in found:
            fact('declaration', name, words)
            if words.startswith(('enum', 'typedef enum')):
                constants |= set(re.findall(r'\bWEIR_\w+', re.search(r'{(.*)}', words)[1]))
            types |= set(re.findall(r'^typedef (?:struct|enum|union).*} (\w+);', words))
            types |= set(re.findall(r'^struct (\w+) {', words)) # which has its typedef elsewhere
        for macro in re.findall(r'^#define (WEIR_.*)', cpp(text, '-dM'), re.M):
            if not re.match(r'WEIR_(API|\w*H) ?$', macro):
                fact('macro', name, macro.strip())
    if not constants or not types:
        raise Trouble('the headers have hardly anything')
    rows = [f'printf("constant | {word} | %lld\\n", (long long){word});' for word in sorted(constants)]
    rows += [f'printf("size | {word} | %zu aligned %zu\\n", sizeof({word}), _Alignof({word}));'
             for word in sorted(types)]
    includes = ''.join(f'#include <{header.relative_to(TREE / "include")}>\n' for header in headers)
    (ROOM / 'probe.c').write_text(f'#include <stdio.h>\n{includes}int main(void) {{\n' + '\n'.join(rows) + '}\n')
    run('cc', '-I', TREE / 'include', 'probe.c', '-o', 'probe', status=0)
    FACTS.extend(run(ROOM / 'probe', status=0)[1].splitlines())


def token(comment, text, space, name):
    return re.compile(rf'(?P<comment>{comment})|(?P<text>{text})|(?P<space>{space})|(?P<name>{name})|\w+|.', re.S)


DOUBLE, SINGLE, NEVER = r'"(?:\\.|[^"\\\n])*"', r"'(?:\\.|[^'\\\n])*'", '(?!)'
C_TOKEN = token(r'/\*.*?\*/|//[^\n]*|' + SINGLE, DOUBLE, r'\s+|\\\n', r'[A-Z]\w*')
LUA_TOKEN = token(r'--\[\[.*?\]\]|--[^\n]*', DOUBLE + '|' + SINGLE, r'\s+|\.\.', NEVER)
JS_TOKEN = token(r'/\*.*?\*/|(?<!:)//[^\n]*', DOUBLE + '|' + SINGLE + r'|`(?:\\.|[^`\\])*`', r'\s+', NEVER)


def literals(token, text):
    """Neighbours are joined; a name in capitals between two of them, such as PRIu64, becomes %."""
    joined, between = None, ''
    for match in token.finditer(text):
        if match['comment'] or match['space']:
            continue
        if match['text']:
            if joined is not None and between and not joined.endswith('%'):
                joined += '%'
            joined, between = (joined or '') + match['text'][1:-1], ''
        elif match['name'] and joined is not None and not between:
            between = match[0]
        elif joined is not None:
            yield joined
            joined, between = None, ''
    if joined is not None:
        yield joined


def list_environment():
    paged = {name for _, section, item, _ in manual_items() if section == 'ENVIRONMENT' for name in item.split(' , ')}
    texts = [text for _, text in source_texts()]
    read = {name for text in texts for name in re.findall(r'getenv\("(\w+)"\)', text)}
    read |= {name for name in paged if any(f'"{name}"' in text for text in texts)}
    for name in read | paged:
        fact('environment', name, 'read by the sources' * (name in read), 'in a manual page' * (name in paged))


def list_messages():
    found = set()
    for path, text in source_texts():
        text = re.sub(r'_Static_assert\([^;]*;|#\s*include[^\n]*', '', text)
        found |= set(literals(LUA_TOKEN if path.suffix == '.lua' else C_TOKEN, text))
    pages = [path for path in (TREE / 'web').rglob('*') if 'node_modules' not in path.parts]
    for path in sorted(path for path in pages if path.suffix == '.js'):
        found |= set(literals(JS_TOKEN, path.read_text()))
    for path in sorted(path for path in pages if path.suffix == '.html'):
        text = path.read_text()
        for script in re.findall(r'<script[^>]*>(.*?)</script>', text, re.S):
            found |= set(literals(JS_TOKEN, script))
        found |= set(re.sub(r'<(script|style).*?</\1>|<!--.*?-->|<[^>]*>', '\\\\n', text, flags=re.S).split('\\n'))
    lines = {line for text in found for line in text.replace('\\r', '').replace('\\"', '"').split('\\n')}
    specification = re.compile(r'%[-+#0]*(?:\d+|\*)?(?:\.(?:\d+|\*))?(?:hh|h|ll|l|j|z|t)?[diouxXcsfgeEpn](?![a-z])')
    for line in sorted({specification.sub('%', ' '.join(line.split())) for line in lines}):
        if ' ' in line and re.search('[A-Za-z]', line):
            fact('message', line)
