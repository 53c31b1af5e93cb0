# SPDX-License-Identifier: MIT
"""What all parts of tools/inventory use: the build that is asked, facts, programs that are run, servers."""
import os
import re
import shlex
import socket
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

DATA = Path(__file__).resolve().parent
BUILD = Path(sys.argv[1] if len(sys.argv) > 1 else DATA.parent.parent / 'build').resolve()
# Sockets are made in there, and their paths are short.
ROOM = Path(tempfile.mkdtemp(prefix='inventory.', dir=None if len(tempfile.gettempdir()) < 60 else '/tmp'))
ENVIRONMENT = {'PATH': f'{ROOM}/bin:' + os.environ['PATH'] + ':/usr/sbin:/sbin', 'HOME': str(ROOM), 'TZ': 'UTC',
               'LC_ALL': 'C', 'XDG_STATE_HOME': str(ROOM)}
UNKNOWN = 'zqzqzqzq'
FACTS, STARTED, SERVERS = [], [], {}
BUILT = ['CMakeCache.txt', 'weir', 'libweir.so', 'libweir.a', 'libweir-redis.so', 'libweir-redis.a', 'weir-redis.so']
PROGRAMS = ['weir', 'weir-bench']  # up to 0.1.0 `weir bench` was a command
TREE, VERSION = Path(), UNKNOWN
if all((BUILD / name).exists() for name in BUILT):
    TREE = Path(re.search(r'CMAKE_HOME_DIRECTORY\S*=(.*)', (BUILD / 'CMakeCache.txt').read_text())[1])
    VERSION = subprocess.run([BUILD / 'weir', '--version'], stdout=subprocess.PIPE).stdout.decode().split()[-1]
    (ROOM / 'bin').mkdir()
    for program in PROGRAMS:
        if (BUILD / program).exists():
            (ROOM / 'bin' / program).symlink_to(BUILD / program)


class Trouble(Exception):
    status = 2


class Missing(Trouble):
    status = 77


def fact(kind, subject, *details):
    line = ' | '.join([kind, subject, *details])
    for found, shown in ((UNKNOWN, 'UNKNOWN'), (str(ROOM), 'ROOM'), (VERSION, 'VERSION'), ('\r', ''), ('\n', '\\n')):
        line = line.replace(found, shown)
    FACTS.append(line.rstrip())


def samples(name):
    """The lines of a file of inventory.d; a line [WORD] names the section of those that follow."""
    section = ''
    for line in (DATA / name).read_text().splitlines():
        if re.fullmatch(r'\[\w+\]', line):
            section = line[1:-1]
        elif line and not line.startswith('# '):
            yield section, line


def source_texts():
    for folder in ('src', 'bench/weir-bench'):
        for pattern in ('*.c', '*.h', '*.lua'):
            for path in sorted((TREE / folder).rglob(pattern)):
                yield path, path.read_text()


def run(*argv, text='', status=None):
    try:
        done = subprocess.run([str(word) for word in argv], cwd=ROOM, env=ENVIRONMENT, input=text.encode(), timeout=60,
                              capture_output=True)
    except subprocess.TimeoutExpired:
        raise Trouble(f'{shlex.join(map(str, argv))}: does not end') from None
    out, err = done.stdout.decode(errors='replace'), done.stderr.decode(errors='replace')
    if status is not None and done.returncode != status:
        raise Trouble(f'{shlex.join(map(str, argv))}: exit status {done.returncode}: {out}{err}')
    return done.returncode, out, err


def has_bench():
    return (ROOM / 'bin/weir-bench').exists()


def weir(*argv):
    if argv[:1] == ('bench',) and has_bench():
        return run(ROOM / 'bin/weir-bench', *argv[1:])
    return run(ROOM / 'bin/weir', *argv)


def in_parallel(function, rows):
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(lambda row: function(*row), rows))


def start(name, sock, *argv):
    """A server that listens at a socket in ROOM; it ends with this program."""
    if name not in SERVERS:
        with open(ROOM / f'{name}.log', 'wb') as log:
            process = subprocess.Popen([str(word) for word in argv], cwd=ROOM, env=ENVIRONMENT,
                                       stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        STARTED.append(process)
        wait_until(lambda: process.poll() is not None or listens(sock))
        if process.poll() is not None:
            raise Trouble(f'{shlex.join(map(str, argv))}: ' + (ROOM / f'{name}.log').read_text())
        SERVERS[name] = ROOM / sock
    return SERVERS[name]


def wait_until(is_so, seconds=30):
    end = time.monotonic() + seconds
    while not is_so() and time.monotonic() < end:
        time.sleep(0.02)


def listens(sock):
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(str(ROOM / sock)) == 0


def engine(name, *options):
    if int(re.search(r'v=(\d+)', run('redis-server', '--version', status=0)[1])[1]) < 7:
        raise Missing('redis-server is older than 7, which has no functions')
    return start(name, name, 'redis-server', '--port', 0, '--unixsocket', ROOM / name, '--save', '', *options)


def redis_with_functions():
    sock = engine('functions')
    run(ROOM / 'bin/weir', 'engine', 'install', f'unix://{sock}', status=0)
    return sock


def redis_with_module():
    return engine('module', '--loadmodule', BUILD / 'weir-redis.so')


def serve(name, config):
    (ROOM / f'{name}.yaml').write_text(config)
    start(name, f'{name}.resp', ROOM / 'bin/weir', 'serve', f'{name}.yaml', '--threads', 1,
          '--resp', f'unix:{ROOM}/{name}.resp', '--http', f'unix:{ROOM}/{name}.http')
    return ROOM / f'{name}.resp', ROOM / f'{name}.http'


def serve_alone():
    return serve('alone', (DATA / 'serve.yaml').read_text())


def serve_with_engine():
    redis = redis_with_functions()
    more = f'engine: {{url: "unix://{redis}", nodes: 1}}\ntexts: on\n'
    return serve('shared', (DATA / 'serve.yaml').read_text() + more)
