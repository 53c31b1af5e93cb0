#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The three peers with a sliding log.

Each peer is written down as it works: a list that is cleared, searched and appended to, with its own units.  Times
stand still, hit edges, jump by centuries and go back."""
import bisect

import peers

MS = 1_000_000
YEAR = 31_536_000_000_000_000


class Rolling:
    """rolling-rate-limiter 0.4.2: clears and appends at every call, refused or not; microseconds."""

    def __init__(self, rnd):
        self.interval = rnd.choice([1, 10, 1000, 60000, rnd.randrange(1, 5000)]) * 1000
        self.most = rnd.choice([1, 2, 3, 5, rnd.randrange(1, 30), 100000])
        self.gap = rnd.choice([0, 0, 1, rnd.randrange(1, 200), 2 * self.interval // 1000]) * 1000
        self.log = []
        self.limiter = {"algorithm": "sliding log, refused calls are logged too", "interval_ns": self.interval * 1000,
                        "max_in_interval": self.most, "min_gap_ns": self.gap * 1000}
        self.unit, self.edges = 1000, [self.interval * 1000, self.gap * 1000]

    def step(self, rnd, t_ns):
        now = t_ns // 1000
        op = "peek" if rnd.random() < 0.1 else "try"
        self.log = [t for t in self.log if t > now - self.interval]
        log = self.log + [now]
        if op == "try":
            self.log = log
        by_count = len(log) > self.most
        by_gap = len(log) > 1 and self.gap > 0 and log[-1] - log[-2] < self.gap
        wait = max(self.gap, log[len(log) - self.most] - now + self.interval if len(log) >= self.most else 0)
        return op, 1, {"allowed": not (by_count or by_gap), "denied_by_count": by_count, "denied_by_min_gap": by_gap,
                       "next_allowed_in_ns": -(-wait // 1000) * MS, "remaining": max(0, self.most - len(log))}


class Khenidak:
    """khenidak/Throttling: a queue of ticks of 100 ns, cleared from its old end."""

    def __init__(self, rnd):
        self.period = rnd.choice([10_000_000, 1, 7, 10_000, rnd.randrange(1, 10**9)])
        self.most = rnd.choice([1, 2, 3, 5, rnd.randrange(1, 30), 100000])
        self.log = []
        self.limiter = {"algorithm": "sliding log of accepted calls", "max_in_period": self.most,
                        "period_ns": self.period * 100}
        self.unit, self.edges = 100, [self.period * 100]

    def step(self, rnd, t_ns):
        now = t_ns // 100
        while self.log and self.log[0] < now - self.period:
            self.log.pop(0)
        if len(self.log) < self.most:
            self.log.append(now)
            return "try", 1, {"allowed": True}
        return "try", 1, {"allowed": False, "retry_after_ns": (self.log[0] + self.period - now) * 100}


class Moving:
    """limits 5.8.0: newest first, never cleared; the decision by index, everything else by bisection."""

    def __init__(self, rnd):
        self.window = rnd.choice([10**9, 2 * 10**9, 60 * 10**9, 3600 * 10**9, 86400 * 10**9, 30 * 86400 * 10**9])
        self.limit = rnd.choice([1, 2, 3, 5, rnd.randrange(1, 30), 100000])
        self.log = []
        self.limiter = {"algorithm": "sliding log of accepted calls", "limit": self.limit, "window_ns": self.window}
        self.unit, self.edges = 1953125, [self.window]

    def counted(self, now):
        if not self.log:
            return now, 0
        at = bisect.bisect_left([-t for t in self.log], -(now - self.window))
        return self.log[at - 1], at

    def step(self, rnd, now):
        op = "peek" if rnd.random() < 0.25 else "try"
        n = rnd.choice([1, 1, 1, 1, 0, 2, 3, self.limit, self.limit + 1, rnd.randrange(0, min(self.limit, 40) + 2)])
        n = min(n, 2000) if self.limit > 2000 else n
        if op == "peek":
            allowed = self.counted(now)[1] <= self.limit - n
        elif n > self.limit:
            allowed = False
        else:
            back = self.limit - n
            allowed = not (back < len(self.log) and self.log[back] >= now - self.window)
            if allowed:
                self.log[:0] = [now] * n
        start, items = self.counted(now)
        return op, n, {"allowed": allowed, "remaining": self.limit - items, "reset_in_ns": start + self.window - now}


def case(rnd, peer, name, goes_back):
    start = rnd.choice([0, 0, 1000 * 10**9, -(10**12), 100 * YEAR, 290 * YEAR, 300 * YEAR])
    now, steps = start // peer.unit * peer.unit, []
    for _ in range(rnd.randrange(2, 80)):
        op, n, expect = peer.step(rnd, now)
        steps.append({"t_ns": now, "op": op, "n": n, "expect": expect})
        edge = rnd.choice(peer.edges)
        ahead = rnd.choice([0, 0, 0, peer.unit, edge, edge - peer.unit, edge + peer.unit, edge // 2, edge // 7,
                            rnd.randrange(0, 2 * edge + 1), rnd.randrange(0, edge // 3 + 1),
                            rnd.choice([0, 0, 0, YEAR, 20 * YEAR])])
        if goes_back and rnd.random() < 0.25:
            ahead = -ahead
        now = max(now + max(ahead, -(10**15)), -(10**12)) // peer.unit * peer.unit
    return {"name": name, "limiter": peer.limiter, "tolerance_ns": 0, "steps": steps}


def of(peer):
    return lambda pick, number: case(pick, peer(pick), f"random {number}", number % 2 == 1)


peers.write(("rolling_log", "rolling-rate-limiter in memory", of(Rolling)),
            ("sliding_log_accepted_only", "khenidak/Throttling sliding log", of(Khenidak)),
            ("moving_window_limits", "limits (Python) moving window", of(Moving)))
