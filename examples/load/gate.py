#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A load test that a build can fail on: calls a function for each line, when `weir pace` lets the line through.

    yes http://127.0.0.1:8080/ | ./gate.py --p99 50 -- --profile ramp.txt

What follows -- goes to `weir pace`: a limit, a profile, --for, --count.  A call is timed from when its line came, so
the wait for a free worker counts (no coordinated omission).  Prints one JSON object.  Exit status: 0; 1: p99 is above
--p99 ms, or a call failed; 2: it was not measured, as weir failed, or lines came late, since the machine was busy."""
import argparse
import collections
import concurrent.futures
import json
import math
import os
import subprocess
import sys
import tempfile
import time
import urllib.request


def call(line):
    """What is tested: put your own in here.  An exception is a failure."""
    with urllib.request.urlopen(line, timeout=10) as answer:
        answer.read()


def timed_call(line, came, took_ms, errors):
    try:
        call(line)
    except Exception as error:  # whatever your function raises
        errors.append(f'{type(error).__name__}: {error}')
    took_ms.append((time.monotonic() - came) * 1000)


def percentile(values, percent):
    return sorted(values)[math.ceil(len(values) * percent / 100) - 1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--p99', type=float, default=100, metavar='MS', help='fail above it (100)')
    parser.add_argument('--late', type=float, default=20, metavar='MS', help='not measured above this p99 (20)')
    parser.add_argument('--workers', type=int, default=64, help='calls under way at once (64)')
    parser.add_argument('pace', nargs='+', help='arguments of weir pace')
    asked = parser.parse_args()
    took_ms, errors = [], []
    with tempfile.NamedTemporaryFile() as summary:
        with subprocess.Popen([os.environ.get('WEIR', 'weir'), 'pace', *asked.pace, '--json', '--summary',
                               summary.name], stdout=subprocess.PIPE, text=True) as weir:
            with concurrent.futures.ThreadPoolExecutor(asked.workers) as workers:
                for line in weir.stdout:
                    workers.submit(timed_call, line.rstrip('\n'), time.monotonic(), took_ms, errors)
        if weir.returncode != 0:
            return 2
        if not took_ms:
            print('gate: not measured: no line came', file=sys.stderr)
            return 2
        paced = json.load(summary)
    p50, p99, most = (percentile(took_ms, percent) for percent in (50, 99, 100))
    late_ms = paced['late_ns']['p99'] / 1e6
    print(json.dumps({'calls': len(took_ms), 'failed': len(errors), 'errors': collections.Counter(errors),
                      'per_s': round(paced['achieved_per_s'] or 0, 3), 'late_p99_ms': round(late_ms, 3),
                      'p50_ms': round(p50, 3), 'p99_ms': round(p99, 3), 'max_ms': round(most, 3)}))
    if late_ms > asked.late:
        print(f'gate: not measured: lines came {late_ms:.1f} ms late (p99): a busy machine', file=sys.stderr)
        return 2
    if errors:
        print(f'gate: {len(errors)} of {len(took_ms)} calls failed', file=sys.stderr)
        return 1
    if p99 > asked.p99:
        print(f'gate: p99 is {p99:.1f} ms, more than {asked.p99:g} ms', file=sys.stderr)
        return 1
    return 0


if __name__ == '__main__':
    try:
        sys.exit(main())
    except FileNotFoundError as missing:
        sys.exit(f'gate: {missing.filename} is not here: put weir into PATH, or its place into WEIR')
