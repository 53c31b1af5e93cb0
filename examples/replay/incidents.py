#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""incidents.py slow-backend|batch-job: an access log of an incident, the same bytes each time, to try limits on.

slow-backend  A line is "ADDRESS [SECONDS] "REQUEST" STATUS DURATION", as nginx writes it when a request has ended.
              Five minutes of a site; from 12:02 to 12:03:20 the backend of /report takes 25 s instead of 0.2 s.
batch-job     A line of JSON for each call of an interface: time, tenant, path, request_time.  Five minutes of four
              tenants; from 12:01 to 12:04 the batch job of one of them, bulk, calls 900 times a second.
"""
import json
import random
import sys

START = 1764504000  # 2025-11-30 12:00:00 UTC
LENGTH = 300
STAMP = '%.3f'


def arrivals(chance, rate, begin=0, end=LENGTH):
    """Times of independent requests, so many a second on average."""
    time = begin + chance.expovariate(rate)
    while time < end:
        yield time
        time += chance.expovariate(rate)


def slow_backend(chance):
    """Requests a second and seconds that they take, for each path."""
    paths = {'/': (60, 0.02), '/search': (40, 0.12), '/cart': (15, 0.05), '/report': (4, 0.2)}
    for path, (rate, usual) in paths.items():
        for start in arrivals(chance, rate):
            slow = path == '/report' and 120 <= start < 200
            took = (25 if slow else usual) * chance.uniform(0.7, 1.3)
            client = f'192.0.2.{chance.randrange(1, 200)}'
            line = f'{client} [{STAMP % (START + start + took)}] "GET {path} HTTP/1.1" 200 {STAMP % took}'
            yield start + took, line


def batch_job(chance):
    """Calls a second and when, for each tenant."""
    tenants = {'acme': (120, 0, LENGTH), 'globex': (60, 0, LENGTH), 'initech': (20, 0, LENGTH), 'bulk': (900, 60, 240)}
    for tenant, span in tenants.items():
        for start in arrivals(chance, *span):
            took = 0.01 * chance.uniform(0.5, 2)
            fields = {'time': STAMP % (START + start + took), 'tenant': tenant, 'path': '/v1/items',
                      'request_time': float(STAMP % took)}
            yield start + took, json.dumps(fields)


def main():
    incidents = {'slow-backend': slow_backend, 'batch-job': batch_job}
    if sys.argv[1:] not in [[name] for name in incidents]:
        sys.exit(__doc__)
    for _, line in sorted(incidents[sys.argv[1]](random.Random(33))):
        print(line)


main()
