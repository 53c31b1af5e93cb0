# SPDX-License-Identifier: MIT
"""What the scripts here that are in Python have in common."""
import os
import re
import resource
import socket
import subprocess
import sys
import time

os.chdir(os.path.dirname(os.path.abspath(__file__)) + '/../..')
BUILD = os.path.abspath(os.environ.get('WEIR_BUILD', 'build'))
WEIR = BUILD + '/weir'
SMALL = os.environ.get('WEIR_SMALL') == '1'


def said(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False).stdout


def machine(between='; '):
    with open('/proc/cpuinfo', encoding='utf-8') as file:
        model = re.search(r'model name\s*: (.*)', file.read())
    return (f'{model.group(1) if model else "unknown"}, {os.cpu_count()} cores, Linux {os.uname().release}'
            f'{between}commit: {said("git", "describe", "--always", "--dirty", "--exclude=*").strip()}')


def quantile(values, part):
    return sorted(values)[min(len(values) - 1, int(len(values) * part))]


def run(*command, **options):
    """-> what it printed, seconds, processor seconds; it has to end well."""
    began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, text=True, check=False, **options)
    seconds, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        sys.exit(f'{sys.argv[0]}: {" ".join(command)}: exit status {done.returncode}')
    return (done.stdout or '') + (done.stderr or ''), seconds, (after.ru_utime - before.ru_utime + after.ru_stime -
                                                                before.ru_stime)


def processor_s(pid):
    """What all threads of a process have taken."""
    with open(f'/proc/{pid}/stat', encoding='utf-8') as file:
        words = file.read().rpartition(')')[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf('SC_CLK_TCK')


def serve(*arguments, threads=1):
    """A weir serve on ports that it chose -> the process, the port for RESP."""
    process = subprocess.Popen([WEIR, 'serve', '--threads', str(threads), '--resp', '127.0.0.1:0', *arguments],
                               stderr=subprocess.PIPE, text=True)
    return process, int(re.search(r'127\.0\.0\.1:(\d+)', process.stderr.readline()).group(1))


def connect(port, address='127.0.0.1'):
    connection = socket.create_connection(('127.0.0.1', port), timeout=60, source_address=(address, 0))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection
