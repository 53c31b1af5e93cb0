#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Guava's two limiters, from the rules of the shared vectors' README.

Each case is walked through twice: as the peer does it, in doubles and whole us, and exactly, in fractions.  A step is
only kept where both decide alike and their waits differ by less than half of the tolerance, as in the recorded ones.
"""
import math
from fractions import Fraction as F

import peers

MAX = 2**63 - 1
INF = math.inf
FINE_MAX = 2**52  # us: later, a double that is added up no longer tells the us


def us(x):  # a cast from double to long
    return 0 if math.isnan(x) else int(max(-MAX - 1, min(MAX, x)))


class Peer:
    """number is float or Fraction; cut makes whole us of a number, or leaves it."""

    def __init__(self, number, cut, rate, burst_s=None, warmup=None, cold=None):
        self.number, self.cut = number, cut
        self.burst_s, self.warmup, self.cold = burst_s, warmup, cold
        self.stored, self.max, self.next, self.rate = number(0), number(0), 0, None
        self.set_rate(rate, 0)

    def accrue(self, now):
        if now <= self.next:
            return
        if self.rate == INF:
            pass
        elif self.burst_s is not None:
            self.stored = min(self.max, self.stored + (now - self.next) / self.interval)
        elif self.max > 0:
            self.stored = min(self.max, self.stored + (now - self.next) / (self.warmup / self.max))
        self.next = now

    def set_rate(self, rate, now):
        if self.rate is not None:
            self.accrue(now)
        was, old = self.rate, self.max
        self.rate = rate
        if rate == INF:
            return
        number = self.number
        self.interval = number(10**6) / number(rate)
        if self.burst_s is not None:
            self.max = number(self.burst_s) * number(rate)
            full = self.max
            scaled = number(0) if old == 0 else self.stored * self.max / old
            self.stored = full if was == INF else scaled
            return
        self.threshold = number(self.warmup) / 2 / self.interval
        self.max = self.threshold + 2 * number(self.warmup) / (self.interval + self.interval * number(self.cold))
        span = self.max - self.threshold
        self.slope = self.interval * (number(self.cold) - 1) / span if span else number(0)
        self.stored = number(0) if was == INF else self.max if old == 0 else self.stored * self.max / old

    def price(self, n):
        if self.rate == INF:
            return 0, self.number(0)
        used = min(self.number(n), self.stored)
        wait = self.cut((n - used) * self.interval)
        if self.burst_s is None:
            above, part = self.stored - self.threshold, used
            if above > 0:
                k = min(above, part)
                heights = 2 * self.interval + above * self.slope + (above - k) * self.slope
                wait += self.cut(k * heights / 2)
                part -= k
            wait += self.cut(part * self.interval)
        return wait, used

    def ask(self, n, now, timeout):
        if self.next - timeout > now:
            return False, 0
        wait = max(self.next - now, 0)
        self.accrue(now)
        price, used = self.price(n)
        self.next = min(self.next + price, MAX)
        self.stored -= used
        return True, wait


def pick_rate(r):
    group = r.choice(["plain", "plain", "plain", "plain", "fast", "slow"])
    kind = r.randrange(10)
    if group == "fast":
        return r.choice([1e9, 1e12, 2e15, 1e15, 5e9, 1e300, INF, 1e7, 2.5e8, math.exp(r.uniform(0, 30))])
    if group == "slow" and kind < 6:
        return r.choice([1e-9, 1e-12, 5e-324, 1e-300, 2e-14, 3.3e-10, INF, 1e-6])
    if kind < 5:
        return r.choice([1.0, 2.0, 5.0, 10.0, 3.0, 7.0, 1000.0, 0.5, 0.1, 100.0, 1e6, 1 / 86400, 1 / 3600, 12.5, INF])
    return math.exp(r.uniform(math.log(1e-5), math.log(1e6)))


def pick_n(r):
    kind = r.randrange(12)
    if kind < 7:
        return r.choice([1, 1, 1, 2, 3, 5, 10])
    return r.randrange(1, 200) if kind < 9 else r.randrange(1, 10**r.randrange(1, 9)) if kind < 11 else 2**31 - 1


def finite(x):
    return float(x) if math.isfinite(x) else ("inf" if x > 0 else "nan" if math.isnan(x) else "-inf")


def make_case(r, bursty, index):
    rate = pick_rate(r)
    if bursty:
        shape = {"burst_s": r.choice([1.0, 1.0, 1.0, 0.0, 0.5, 10.0, 2.5, 1e6])}
        limiter = {"rate_per_s": finite(rate), "max_burst_s": shape["burst_s"], "initial_stored_permits": 0}
    else:
        shape = {"warmup": r.choice([10**6, 4 * 10**6, 10**7, 1, 250000, 3600 * 10**6, 0, 1234567]),
                 "cold": r.choice([3.0, 3.0, 3.0, 1.0, 2.0, 10.0, 1.5])}
        limiter = {"rate_per_s": finite(rate), "warmup_ns": shape["warmup"] * 1000, "cold_factor": shape["cold"],
                   "starts": "cold (stored permits = max)"}
    try:
        peer = Peer(float, us, rate, **shape)
        exact = Peer(F, lambda x: x, F(rate) if rate != INF else INF, **shape)
    except (OverflowError, ZeroDivisionError):
        return None
    steps, now, mutating = [], 0, 0
    floor = r.choice([0, 0, -10**9])
    worst = F(0)
    for _ in range(r.randrange(3, 40)):
        gap = r.choice([0, 0, 1, us(1e6 / rate) if rate not in (INF, 0) else 7, r.randrange(10**7),
                        r.randrange(10**r.randrange(1, 13))])
        if r.randrange(60) == 0:
            gap = r.choice([9 * 10**15, 3 * 10**15, 10**16])
        if r.randrange(4) == 0 and peer.next > now:
            gap = peer.next - now + r.choice([0, 0, -1, 1, 17])
        now += -gap if r.randrange(12) == 0 else gap
        now = max(now, floor)
        if now * 1000 > 18 * 10**18:
            break
        kind = r.randrange(20)
        step = {"t_ns": now * 1000}
        if kind == 0:
            n = r.choice([0, -1, -5])
            step.update(op=r.choice(["acquire", "try"]), n=n, expect={"error": "invalid argument"})
            if step["op"] == "try":
                step["max_wait_ns"] = 10**9
        elif kind == 1:
            step.update(op="set_rate", rate_per_s=finite(r.choice([0.0, -1.0, math.nan, -INF])),
                        expect={"error": "invalid argument"})
        elif kind == 2:
            rate = pick_rate(r)
            step.update(op="set_rate", rate_per_s=finite(rate), expect={"ok": True})
            try:
                peer.set_rate(rate, now)
                exact.set_rate(F(rate) if rate != INF else INF, now)
            except (OverflowError, ZeroDivisionError):
                return None
            mutating += 1
        else:
            n = pick_n(r)
            acquire = r.randrange(2) == 0
            timeout = r.choice([0, 0, -10**6, 10**6, r.randrange(10**r.randrange(1, 14)), max(peer.next - now, 0),
                                max(peer.next - now - 1, 0), peer.next - now + 1, MAX // 1000])
            if timeout * 1000 >= 2**64 - 1:
                timeout = MAX
            if acquire:
                step.update(op="acquire", n=n)
                timeout = 2 * MAX
            else:
                step.update(op="try", n=n, max_wait_ns=timeout * 1000)
            mutating += 1
            tolerance = F(mutating + 1)
            margin = exact.next - max(timeout, 0) - now
            if not acquire and 0 < abs(margin) < tolerance * 2:
                mutating -= 1
                continue
            if not acquire and margin == 0 and peer.next - max(timeout, 0) != now:
                mutating -= 1
                continue
            try:
                got = peer.ask(n, now, max(timeout, 0))
                want = exact.ask(n, now, max(timeout, 0))
            except OverflowError:
                return None
            if got[0] != want[0] or abs(got[1] - want[1]) > tolerance / 2 or FINE_MAX < peer.next < MAX:
                break
            worst = max(worst, abs(got[1] - want[1]) / tolerance)
            step["expect"] = {"allowed": got[0], "wait_ns": got[1] * 1000}
            if not got[0]:
                mutating -= 1
            steps.append(step)
            now += got[1]
            if now * 1000 >= 2**64 - 1:
                break
            continue
        steps.append(step)
    # A tolerance that grows with the case is only good for a whole case if it never shrinks.
    limiter = {"algorithm": "smooth", **limiter}
    return {"name": f"random {index}", "limiter": limiter, "tolerance_ns": (mutating + 1) * 1000, "steps": steps}


peers.write(("guava_bursty", "Guava SmoothBursty", lambda pick, number: make_case(pick, True, number)),
            ("guava_warmup", "Guava SmoothWarmingUp", lambda pick, number: make_case(pick, False, number)))
