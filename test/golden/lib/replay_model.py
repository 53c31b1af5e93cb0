#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""replay_model.py make SEED LINES KIND           a log of clients in bursts, to standard output
replay_model.py decide KIND COST LIMIT LOG     what `weir replay --each LIMIT` should say of it
replay_model.py agree EXPECTED FOUND NS        are two such outputs the same, but for so many ns of retry_ns?

KIND is "msec" ($remote_addr [$msec] $request_time $body_bytes_sent) or "combined".  COST is "one" or "bytes".  The
rules are written down anew, with fractions and searches instead of the clocks and formulas of weir."""
import calendar
import ipaddress
import json
import random
import re
import sys
import time
from fractions import Fraction

SECOND = 10**9
PERIODS = {"s": SECOND, "min": 60 * SECOND, "h": 3600 * SECOND}


# ---- a log ----

def address(number):
    if number % 5 == 4:  # four hosts to a household
        return "2001:db8:%x:%x::%x" % (number % 3, number // 20, number % 4 + 1)
    if number % 17 == 3:
        return "::ffff:192.0.2.%d" % number
    return "192.0.2.%d" % number


def make(seed, lines, kind):
    rng = random.Random(seed)
    # The longest first: how far back a request may belong is known from those before it.
    now, requests = 1_763_683_200 * SECOND, [(1_763_683_199 * SECOND, "192.0.2.250", 12_000)]
    while len(requests) < lines:
        now += rng.choice([0, 1, 7, 40, 100, 100, 250, 1000]) * 10**6
        client = address(int(60 * rng.random() ** 3))
        burst = rng.choice([1, 1, 1, 2, 8, 30]) if rng.random() < 0.3 else 1
        for _ in range(burst):
            duration = rng.choice([0, 1, 3, 20, 100, 1500, 12_000]) if rng.random() < 0.9 else 400
            requests.append((now + duration * 10**6, client, duration))
            now += rng.choice([0, 0, 1, 10]) * 10**6
    # As they end, but two processes write: a line may stand a little too late.
    requests.sort(key=lambda one: one[0] + rng.random() * 5 * 10**8)
    for end, client, duration in requests[:lines]:
        size = rng.choice(["0", "-", "200", "1000", "1001", "99999"])
        if kind == "msec":
            print("%s [%d.%03d] %d.%03d %s" % (client, end // SECOND, end % SECOND // 10**6, duration // 1000,
                                              duration % 1000, size))
        else:
            when = time.strftime("%d/%b/%Y:%H:%M:%S +0000", time.gmtime(end // SECOND))
            print('%s - - [%s] "GET / HTTP/1.1" 200 %s "-" "test"' % (client, when, size))


MSEC = re.compile(r"^(\S+) \[(\d+)\.(\d{3})\] (\d+)\.(\d{3}) (\S+)$")
COMBINED = re.compile(r'^(\S+) - - \[([^]]*) \+0000\] "[^"]*" \d+ (\S+) ')


def key_of(text):
    if ":" not in text:
        return text
    parsed = ipaddress.IPv6Address(text)
    if parsed.ipv4_mapped:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.IPv6Network((text, 64), strict=False))


def requests_of(path, kind, cost):
    with open(path) as log:
        for number, line in enumerate(log):
            if kind == "msec":
                client, seconds, ms, duration, duration_ms, size = MSEC.match(line.rstrip("\n")).groups()
                start = (int(seconds) * 1000 + int(ms) - int(duration) * 1000 - int(duration_ms)) * 10**6
            else:
                client, when, size = COMBINED.match(line).groups()
                start = calendar.timegm(time.strptime(when, "%d/%b/%Y:%H:%M:%S")) * SECOND
            amount = 1 if cost == "one" else 0 if size == "-" else int(size)
            yield start, number, key_of(client), amount


# ---- the rules: now and cost to (allowed, delay_ns, retry_ns) ----

def first_time(passes, low, step=1):
    """The first time, in steps from low on, at which it passes; once it does it goes on to."""
    high = low + step
    while not passes(high):
        high = low + (high - low) * 2
    while high - low > step:
        middle = low + (high - low) // (2 * step) * step
        if passes(middle):
            high = middle
        else:
            low = middle
    return high


class Gcra:
    def __init__(self, limit):
        self.interval = Fraction(limit.period, limit.count)
        self.burst, self.drained = limit.burst, Fraction(0)

    def ask(self, now, cost):
        if cost > self.burst:
            return False, 0, 0
        drained = max(self.drained, now) + cost * self.interval
        earliest = drained - self.burst * self.interval
        if earliest > now:
            return False, 0, -((now - earliest) // 1)
        self.drained = drained
        return True, 0, 0


class Leaky:
    """nginx: whole ms, thousandths of a request."""

    def __init__(self, limit):
        self.rate = Fraction(limit.count * SECOND, limit.period)
        self.burst, self.calm = limit.burst, limit.calm
        self.level, self.last = 0, 0

    def leaked(self, ms):
        return max(0, self.level - int(self.rate * (ms - self.last)))  # thousandths a second are units a ms

    def ask(self, now, cost):
        ms = now // 10**6
        if cost > self.burst:
            return False, 0, 0
        if self.leaked(ms) + 1000 * cost > 1000 * self.burst:
            when = first_time(lambda then: self.leaked(then) + 1000 * cost <= 1000 * self.burst, ms)
            return False, 0, when * 10**6 - now
        self.level, self.last = self.leaked(ms) + 1000 * cost, ms
        over = self.level - 1000 * (self.calm + 1)
        return True, int(over / self.rate) * 10**6 if over > 0 else 0, 0


class SlidingLog:
    def __init__(self, limit):
        self.count, self.period, self.entries = limit.count, limit.period, []

    def ask(self, now, cost):
        if cost > self.count:
            return False, 0, 0

        def held(then):
            return sum(1 for entry in self.entries if entry > then - self.period)

        self.entries = [entry for entry in self.entries if entry > now - self.period]
        if len(self.entries) + cost > self.count:
            return False, 0, first_time(lambda then: held(then) + cost <= self.count, now) - now
        self.entries += [now] * cost
        return True, 0, 0


class SlidingWindow:
    def __init__(self, limit):
        self.count, self.period, self.counted = limit.count, limit.period, {}

    def weighted(self, then):
        window = then // self.period
        left = self.period - then % self.period
        return self.counted.get(window - 1, 0) * left // self.period + self.counted.get(window, 0)

    def ask(self, now, cost):
        if cost > self.count:
            return False, 0, 0
        if self.weighted(now) + cost > self.count:
            return False, 0, first_time(lambda then: self.weighted(then) + cost <= self.count, now) - now
        window = now // self.period
        self.counted[window] = self.counted.get(window, 0) + cost
        return True, 0, 0


class Limit:
    def __init__(self, text):
        words = text.split()
        count, period = re.match(r"^(\d+)(?:r|B)?/([a-z]+)$", words[0]).groups()
        nginx = "r/" in words[0]
        said = dict(word.split("=") for word in words[1:] if "=" in word)
        self.count, self.period = int(count), PERIODS[period]
        self.burst = int(said.get("burst", 0 if nginx else count)) + nginx
        self.calm = self.burst if "nodelay" in words else int(said.get("delay", 0))
        self.rule = {"gcra": Gcra, "leaky": Leaky, "sliding-log": SlidingLog, "sliding-window": SlidingWindow}[
            said.get("algorithm", "leaky" if nginx else "gcra")]


def decide(kind, cost, text, path):
    limit, states, answers = Limit(text), {}, []
    for start, number, key, amount in sorted(requests_of(path, kind, cost)):
        if key not in states:
            states[key] = limit.rule(limit)
        allowed, delay, retry = states[key].ask(start, amount) if amount else (True, 0, 0)
        answers.append((number, {"time_ns": start, "key": key, "limit": text, "allowed": allowed, "delay_ns": delay,
                                 "retry_ns": retry}))
    for _, answer in sorted(answers, key=lambda one: one[0]):
        print(json.dumps(answer, separators=(",", ":")))


# ---- comparing ----

def agree(expected_path, found_path, ns):
    with open(expected_path) as file:
        expected = file.read().splitlines()
    with open(found_path) as file:
        found = file.read().splitlines()
    denied = delayed = 0
    if len(expected) != len(found):
        sys.exit("%d lines, expected %d" % (len(found), len(expected)))
    for number, (mine, theirs) in enumerate(zip(expected, found), 1):
        if mine != theirs:
            a, b = json.loads(mine), json.loads(theirs)
            near = abs(a.pop("retry_ns") - b.pop("retry_ns")) <= ns
            if a != b or not near or list(a) != list(b):
                sys.exit("line %d\n< %s\n> %s" % (number, mine, theirs))
        denied += '"allowed":false' in mine
        delayed += '"delay_ns":0' not in mine
    print("%d lines, %d refused, %d delayed" % (len(found), denied, delayed))


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
    elif sys.argv[1] == "decide":
        decide(*sys.argv[2:6])
    else:
        agree(sys.argv[2], sys.argv[3], int(sys.argv[4]))
