#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""limits' sliding window counter, in exact fractions.

With a fourth argument `peer` the answers are those of the installed package limits, run at a clock of its own; times
are then multiples of 1/512 s and windows powers of two, so that its doubles are exact."""
import sys

import peers

SECOND = 10**9
GRID = SECOND // 512


class Model:
    def __init__(self, limit, window):
        self.limit, self.window, self.counts = limit, window, {}

    def weighted(self, t):
        number, inside = divmod(t, self.window)
        return (self.counts.get(number - 1, 0) * (self.window - inside) // self.window) + self.counts.get(number, 0)

    def peek(self, t, n):
        return self.weighted(t) + n <= self.limit

    def try_(self, t, n):
        allowed = self.peek(t, n)
        if allowed:
            number = t // self.window
            self.counts[number] = self.counts.get(number, 0) + n
        return allowed

    def remaining(self, t):
        return max(0, self.limit - self.weighted(t))


class Peer:
    def __init__(self, limit, window):
        import limits
        import limits.storage.memory
        self.clock = limits.storage.memory.time
        self.module = limits
        self.item = limits.RateLimitItemPerSecond(limit, window // SECOND)
        storage = limits.storage.MemoryStorage()
        storage._MemoryStorage__schedule_expiry = lambda: None
        self.strategy = limits.strategies.SlidingWindowCounterRateLimiter(storage)
        self.base = 2**30

    def at(self, t):
        now = self.base + t / SECOND
        self.clock.time = lambda: now
        self.module.strategies.time.time = lambda: now

    def peek(self, t, n):
        self.at(t)
        return self.strategy.test(self.item, cost=n)

    def try_(self, t, n):
        self.at(t)
        return self.strategy.hit(self.item, cost=n)

    def remaining(self, t):
        self.at(t)
        return self.strategy.get_window_stats(self.item).remaining


def pick_gap(pick, window, grid):
    kind = pick.randrange(16)
    if kind < 5:
        return 0
    if kind < 8:
        return pick.randrange(window // 8 + 1)
    if kind < 9:
        return grid
    if kind < 11:
        return pick.randrange(2 * window)
    if kind < 12:
        return window * pick.randrange(4) + pick.choice([-grid, 0, grid])
    if kind < 13:
        return pick.randrange(10**pick.randrange(1, 17))
    if kind < 15:
        return -pick.choice([grid, window, window // 2, pick.randrange(4 * window)])
    return 0


def make_case(pick, number, peer):
    grid = GRID if peer else 1
    window = SECOND * 2**pick.randrange(8) if peer else pick.choice([SECOND, 7, 1000, 60 * SECOND, 3 * SECOND + 1,
                                                                     pick.randrange(1, 10**12)])
    limit = pick.choice([0, 1, 2, 3, 5, 8, 10, 100, pick.randrange(1, 10**6)])
    counter = (Peer if peer else Model)(limit, window)
    t, steps = pick.choice([0, 0, window // 2, pick.randrange(10**12), -pick.randrange(10**12)]) // grid * grid, []
    t = abs(t) if peer else t
    for _ in range(pick.randrange(1, 100)):
        n = pick.choice([0, 1, 1, 1, 1, 2, 3, limit, limit + 1, pick.randrange(limit + 1)])
        op = pick.choice(["try", "try", "try", "peek"])
        allowed = counter.peek(t, n) if op == "peek" else counter.try_(t, n)
        steps.append({"t_ns": t, "op": op, "n": n, "expect": {"allowed": allowed, "remaining": counter.remaining(t)}})
        t += pick_gap(pick, window, grid) // grid * grid
        if t > 2**63 or t < -(10**15) or (peer and not 0 <= t < 2**20 * SECOND):
            break
    return {"name": f"random {number}", "tolerance_ns": 0, "steps": steps, "limiter": {
        "algorithm": "sliding window counter (previous window weighted), windows aligned to time zero",
        "limit": limit, "window_ns": window}}


peers.write(("sliding_window_counter", "limits (Python) sliding window counter",
             lambda pick, number: make_case(pick, number, sys.argv[4:] == ["peer"])))
