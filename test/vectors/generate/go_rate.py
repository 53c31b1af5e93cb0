#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""golang.org/x/time/rate, from the rules of its float64 tokens.

Two models walk side by side: the peer's doubles and exact fractions.  A step on which they disagree hangs on the last
bit of a double, so it is left out.  A burst and a wait are no longer than SPAN_MAX: what is left of tokens after that
much time of them was taken (2^32 at one a minute) hangs on more than the 62 bits that weir has."""
import math
from fractions import Fraction

import peers

SECOND = 10**9
FOREVER = 2**63 - 1
SPAN_MAX = 2**60  # ns
RATE_MIN = 2.0**-90  # below, no token ever comes


class Limiter:
    """number = float: as the peer; number = Fraction: as it would be without rounding."""

    def __init__(self, number, rate, burst):
        self.number, self.rate, self.burst = number, rate, burst
        self.tokens, self.last, self.event = number(burst), -(2**70), -(2**70)

    def infinite(self):
        return self.rate == math.inf

    def in_time(self, ns, rate):
        if rate <= 0:
            return self.number(0)
        seconds = abs(ns) // SECOND + self.number(abs(ns) % SECOND) / SECOND
        return (seconds if ns >= 0 else -seconds) * self.number(rate)

    def time_of(self, tokens, rate):
        if rate <= 0:
            return FOREVER
        ns = tokens / self.number(rate) * SECOND
        return FOREVER if ns > FOREVER else int(max(ns, -(2**80)))

    def balance(self, t):
        elapsed = min(max(t - self.last, 0), FOREVER)
        if self.infinite():
            return self.number(self.burst) if elapsed > 0 else min(self.tokens, self.number(self.burst))
        return min(self.tokens + self.in_time(elapsed, self.rate), self.number(self.burst))

    def take(self, t, n, max_wait):
        """(granted, wait, reservation)"""
        if self.infinite():
            return True, 0, (True, n, t, 0)  # without a rate, as a rate of 0
        tokens = self.balance(t) - n
        wait = self.time_of(-tokens, self.rate) if tokens < 0 else 0
        if n > self.burst or wait > max_wait:
            return False, 0, (False, n, t, self.rate)
        self.tokens, self.last, self.event = tokens, t, t + wait
        return True, wait, (True, n, t + wait, self.rate)

    def cancel(self, t, reservation):
        granted, n, start, rate = reservation
        if not granted or self.infinite() or n == 0 or start < t:
            return
        restore = n - self.in_time(max(min(self.event - start, FOREVER), -FOREVER), rate)
        if restore <= 0:
            return
        self.tokens, self.last = min(self.balance(t) + restore, self.number(self.burst)), t
        before = start + FOREVER if rate <= 0 else start - int(min(n / self.number(rate) * SECOND, 2**63))
        if start == self.event and before >= t:
            self.event = before

    def change(self, t, rate, burst):
        self.tokens, self.last = self.balance(t), t
        self.rate, self.burst = rate, burst

    def copy(self):
        twin = Limiter(self.number, self.rate, self.burst)
        twin.__dict__.update(self.__dict__)
        return twin


def pick_rate(pick):
    """(as the peer has it, exact)"""
    kind = pick.randrange(12)
    if kind == 0:
        tiny = [(rate, Fraction(rate)) for rate in (5e-324, 1e-300)]
        return pick.choice([(0, 0), (-1, -1), *tiny, (math.inf, math.inf), (1e300, 10**300)])
    if kind == 1:
        exact = Fraction(1, pick.choice([86400, 60, 3600, 7, 10**10, 3 * 10**8, 31536000]))
    elif kind == 2:
        exact = Fraction(pick.choice([10**9, 3 * 10**9 // 2, 3 * 10**9, 10**10, 7 * 10**11, 10**12, 10**13, 10**18]))
    elif kind == 3:
        exact = Fraction(pick.choice([3, 7, 13, 999, 10**6 + 3]), pick.choice([1, 3, 7, 11]))
    elif kind == 4:
        exact = Fraction(pick.uniform(0, 10)) * Fraction(10) ** pick.randrange(-20, 20)
        return float(exact), Fraction(float(exact))
    else:
        exact = Fraction(pick.choice([1, 2, 4, 5, 8, 10, 25, 100, 1000, 10**6]), pick.choice([1, 1, 1, 2, 5, 8]))
    return float(exact), exact


def pick_burst(pick):
    if pick.randrange(15) == 0:
        return pick.choice([-3, -1, 0])
    return pick.choice([1, 2, 3, 5, 10, 100, 1000, 10**6, 2**31 - 1, 2**32])


def fits(rate, burst):
    return rate < RATE_MIN or burst * SECOND <= SPAN_MAX * rate


def pick_n(pick, burst):
    burst = max(burst, 0)
    return max(0, pick.choice([0, 1, 1, 1, 2, burst // 2, burst - 1, burst, burst, burst + 1, 2 * burst + 1,
                               pick.randint(0, burst)]))


def pick_time(pick, t, exact):
    kind = pick.randrange(14)
    if kind < 3:
        return t
    if kind < 5:
        return t + pick.choice([1, 2, 3, 10, 1000, 10**6, 10**9, 86400 * 10**9])
    if kind == 5:
        return max(0, t - pick.choice([1, 2, 1000, 10**6, 10**9, pick.randint(0, max(t, 1))]))
    if kind == 6:
        return max(t, min(t + pick.randint(0, 9 * 10**18), 2**63 - 1))
    slow = exact.infinite() or exact.rate <= 0
    spacing = pick.randint(1, 10**9) if slow else SECOND / Fraction(exact.rate)
    if kind == 7 and not slow:
        due = t + (exact.number(pick.randint(0, 3)) - exact.balance(t)) * spacing
        return max(t, min(int(due) + pick.choice([0, 1, -3, 3]), 2**63 - 1))
    by = int(spacing * Fraction(pick.choice([Fraction(1, 3), Fraction(1, 2), 1, 1, 2, 3, 10, 100])))
    return min(t + by + pick.choice([0, 0, 0, 1, -3, 3]) if by > 3 else t + by, max(t, 2**63 - 1))


def one_step(pick, t, peer, exact, reservations, number):
    """The step, or None when the two disagree; then both are as before."""
    was = peer.copy(), exact.copy()
    step, expect = {"t_ns": t}, {}
    kind = pick.randrange(20)
    if kind < 2:
        if not reservations:
            return None
        which = pick.choice(list(reservations))
        gained = [-model.balance(t) for model in (peer, exact)]
        for i, model in enumerate((peer, exact)):
            model.cancel(t, reservations[which][i])
            gained[i] += model.balance(t)
        if (gained[0] > 0) != (gained[1] > 0):
            peer.__dict__, exact.__dict__ = was[0].__dict__, was[1].__dict__
            return None
        step.update(op="cancel", id=which)
        expect["restored_tokens"] = float(gained[0])
    elif kind == 2:
        rate = pick_rate(pick)
        if not fits(rate[0], peer.burst):
            return None
        peer.change(t, rate[0], peer.burst)
        exact.change(t, rate[1], exact.burst)
        step.update(op="set_rate", rate_per_s="inf" if rate[0] == math.inf else rate[0])
        expect["ok"] = True
    elif kind == 3:
        burst = pick_burst(pick)
        if not fits(peer.rate, burst):
            return None
        peer.change(t, peer.rate, burst)
        exact.change(t, exact.rate, burst)
        step.update(op="set_burst", burst=burst)
        expect["ok"] = True
    elif kind == 4:
        step.update(op="tokens")
        expect["tokens"] = float(peer.balance(t))
    else:
        n = pick_n(pick, peer.burst)
        max_wait = FOREVER if kind < 9 else pick.choice([0, 0, 0, -1, 10**9, pick.randint(0, 10**12), FOREVER])
        takes = [model.take(t, n, max_wait) for model in (peer, exact)]
        too_long = SPAN_MAX < takes[0][1] < FOREVER
        if takes[0][0] != takes[1][0] or abs(takes[0][1] - takes[1][1]) > 1 or too_long:
            peer.__dict__, exact.__dict__ = was[0].__dict__, was[1].__dict__
            return None
        step.update(op="reserve" if kind < 9 else "try", id=number, n=n)
        if kind >= 9:
            step["max_wait_ns"] = max_wait
        expect["allowed"] = takes[0][0]
        if takes[0][0]:
            expect["wait_ns"] = takes[0][1]
        reservations[number] = [take[2] for take in takes]
    balance = float(peer.balance(t)), float(exact.balance(t))
    step["expect"] = expect
    tolerance = 1e-6 + (2e-9 * peer.rate if 0 < peer.rate < math.inf else 0)
    if abs(balance[0] - balance[1]) > tolerance / 4:
        return "apart"
    step["state_after"] = {"tokens": balance[0]}
    return step


def one_case(pick, index):
    rate, burst = pick_rate(pick), pick_burst(pick)
    if not fits(rate[0], burst):
        return None
    peer, exact = Limiter(float, rate[0], burst), Limiter(Fraction, rate[1], burst)
    t, steps, reservations = pick.choice([0, 0, 1, 10**9, pick.randint(0, 2**62)]), [], {}
    for number in range(60):
        at = pick_time(pick, t, exact)
        step = one_step(pick, at, peer, exact, reservations, number)
        if step == "apart":
            break
        if step is None:
            continue
        t = at
        steps.append(step)
    limiter = {"algorithm": "token bucket with reservations", "burst": burst, "initial_tokens": burst,
               "rate_per_s": "inf" if rate[0] == math.inf else rate[0]}
    return {"name": f"random {index}", "limiter": limiter, "tolerance_ns": 2, "steps": steps}


peers.write(("go_x_time_rate", "golang.org/x/time/rate", one_case))
