#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tenants_model.py make SEED LINES                 a log of tenants, `$tenant $msec`, in order of time
tenants_model.py decide PARENT LOG NAME=LIMIT...  what `weir replay --tenant` should say: counts of each tenant, and on
                                                  the second line a 1 or 0 for each request
tenants_model.py spread PARENT LOG NAME=LIMIT...  how many are refused where the requests of a second are spread over it

The rule as it is told to users, with fractions: a request within its tenant's guarantee passes, and the parent pays,
if it must into debt; another passes if its ceiling and the parent have room.  With weights it passes if they have room
beside what its tenant leaves to others, which is worked out in whole ns."""
import collections
import itertools
import json
import random
import re
import sys
from fractions import Fraction

SECOND = 10**9
START = 1_763_683_200 * SECOND


def make(seed, lines):
    chance = random.Random(seed)
    tenants = ['acme', 'globex', 'initech', 'stranger', 'other']
    now = START
    for _ in range(lines):
        now += chance.choice([0, 0, 1, 2, 5, 20]) * 10**6
        if chance.random() < 0.002:
            now += chance.randrange(1, 4) * SECOND
            chance.shuffle(tenants)  # another one is greedy
        tenant = tenants[int(len(tenants) * chance.random() ** 2.5)]
        print('%s %d.%03d' % (tenant, now // SECOND, now % SECOND // 10**6))


class Bucket:
    """Full at `full`; each permit moves that by the interval."""

    def __init__(self, text):
        count, period, burst = re.match(r'(\d+)/(s|min)(?: burst=(\d+))?', text.strip()).groups()
        self.interval = Fraction({'s': 1, 'min': 60}[period] * SECOND, int(count))
        self.burst, self.full = int(burst or count), Fraction(0)

    def after(self, now, permits=1):
        return max(self.full, now) + permits * self.interval

    def has_room(self, now, permits=1):
        return self.after(now, permits) <= now + self.burst * self.interval

    def pay(self, now):
        self.full = self.after(now)


class Fair:
    """Whose turn it is to borrow: what a tenant was lent ends at its finish, the latest start of all is the lead."""

    def __init__(self, parent):
        self.interval, self.burst = int(parent.interval), int(parent.burst * parent.interval)
        self.lead, self.finish = 0, {}

    def start(self, name, now):
        behind = self.burst // 4
        lead = self.lead if self.lead - now > behind else now + 64 * self.burst
        return lead, max(self.finish.get(name, 0), lead - behind)

    def spare(self, name, now):
        lead, start = self.start(name, now)
        return max(0, (self.burst - self.interval) // 2 - 2 * max(0, lead - start)) // self.interval

    def lend(self, name, now, weight):
        lead, start = self.start(name, now)
        self.lead, self.finish[name] = max(lead, start), start + self.interval // weight


class Tenant:
    def __init__(self, name, text):
        parts = text.split(';') if text else []
        self.name, self.weight = name, int((re.findall(r'weight=(\d+)', text or '') or [0])[0])
        self.guarantee = next((Bucket(part.replace('guaranteed ', '')) for part in parts if 'guaranteed' in part), None)
        self.ceiling = [Bucket(part) for part in parts if '/' in part and 'guaranteed' not in part]
        self.counts = collections.Counter()


def pay_all(buckets, now):
    for bucket in buckets:
        bucket.pay(now)


def ask(tenant, parent, fair, now):
    """What becomes of a request."""
    if not all(bucket.has_room(now) for bucket in tenant.ceiling):
        return 'denied'
    if tenant.guarantee is not None and tenant.guarantee.has_room(now):
        pay_all([tenant.guarantee, *tenant.ceiling, parent], now)
        return 'guaranteed'
    if not parent.has_room(now, 1 + (fair.spare(tenant.name, now) if tenant.weight else 0)):
        return 'denied'
    if tenant.weight:
        fair.lend(tenant.name, now, tenant.weight)
    pay_all([*tenant.ceiling, parent], now)
    return 'borrowed'


def requests_of(path):
    with open(path) as log:
        for line in log:
            name, seconds, ms = re.match(r'(\w+) (\d+)(?:\.(\d+))?', line).groups()
            yield int(seconds) * SECOND + int(ms or 0) * 10**6, name


def spread(requests):
    for second, those in itertools.groupby(requests, lambda request: request[0] // SECOND):
        those = list(those)
        for place, (_, name) in enumerate(those):
            yield second * SECOND + place * SECOND // len(those), name


def verdicts_of(parent_text, requests, texts):
    limits = dict(text.split('=', 1) for text in texts)
    tenants, parent, alone, verdicts = {}, Bucket(parent_text), Bucket(parent_text), []
    fair = Fair(parent)
    for now, name in requests:
        tenant = tenants.setdefault(name, Tenant(name, limits.get(name, limits.get('*'))))
        became = ask(tenant, parent, fair, now)
        tenant.counts.update({'requests': 1, became: 1, 'denied_alone': not alone.has_room(now)})
        if alone.has_room(now):
            alone.pay(now)
        verdicts.append('0' if became == 'denied' else '1')
    return tenants, verdicts


def decide(parent_text, path, texts):
    tenants, verdicts = verdicts_of(parent_text, requests_of(path), texts)
    names = ('requests', 'guaranteed', 'borrowed', 'denied', 'denied_alone')
    print(json.dumps({name: {what: tenant.counts[what] for what in names} for name, tenant in tenants.items()}))
    print(''.join(verdicts))


if __name__ == '__main__':
    if sys.argv[1] == 'make':
        make(int(sys.argv[2]), int(sys.argv[3]))
    elif sys.argv[1] == 'spread':
        print(verdicts_of(sys.argv[2], spread(requests_of(sys.argv[3])), sys.argv[4:])[1].count('0'))
    else:
        decide(sys.argv[2], sys.argv[3], sys.argv[4:])
