#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""nosqlbench's present limiter, by the rules of its document.

Doubles where it has doubles, whole numbers without end where it has 32 bits."""
import peers

POOL, FIRST_MAX, CENTURY = 10**9, 2**31 - 1, 100 * 365 * 86400 * 10**9


class SimRate:
    def __init__(self, rate, ratio):
        self.last = 0
        self.set_rate(rate, ratio)

    def set_rate(self, rate, ratio):
        self.tick = 1 if rate > 1 else 10**3 if rate > 0.001 else 10**6 if rate > 0.000001 else 10**9
        self.per_op, self.over = int(1e9 / self.tick / rate), int(POOL * ratio)
        self.active, self.waiting = self.per_op, 0

    def refill(self, t):
        passed, self.last = t - self.last, t
        if passed < 0:
            return
        self.waiting += max(0, passed - FIRST_MAX) // self.tick
        ticks = min(passed, FIRST_MAX) // self.tick
        fits = min(ticks, max(POOL - self.active, 0))
        self.active += fits
        self.waiting += ticks - fits
        paid_back = int(min(ticks / POOL, 1.0) * (self.over - POOL))
        moved = max(0, min(self.over - self.active, paid_back, self.waiting))
        self.active += moved
        self.waiting -= moved

    def take(self):
        if self.active < self.per_op:
            return {"allowed": False}
        self.active -= self.per_op
        return {"allowed": True, "backlog_ticks": self.active + self.waiting}

    def after(self):
        return {"active_ticks": self.active, "waiting_ticks": self.waiting}


def pick_rate(rng):
    return rng.choice(
        [
            rng.choice([1e9, 1e6, 1e3, 100.0, 1.0000001, 1.0, 0.5, 0.002, 0.001, 5e-4, 1e-6, 1e-7, 3.0, 7.7]),
            10 ** rng.uniform(-8, 9),
            round(10 ** rng.uniform(-3, 6), 3) or 1.0,
            1e9 / rng.randint(1, 10**6),
            rng.randint(1, 10**6) / 1.0,
        ]
    )


def pick_gap(rng, peer):
    return rng.choice(
        [
            0, 1, peer.tick - 1, peer.tick + 1, 10**7, 10**7, rng.randint(0, 10**7), rng.randint(0, 10**9),
            rng.randint(0, 3 * 10**9), FIRST_MAX, FIRST_MAX + 1, FIRST_MAX + peer.tick, rng.randint(0, 4 * 10**9),
            peer.per_op * peer.tick, POOL * peer.tick, rng.randint(0, CENTURY) if rng.random() < 0.01 else 0,
        ]
    )


def case(rng, number):
    rate, ratio = pick_rate(rng), rng.choice([1.0, 1.1, 1.5, 2.0, 1.15, 1.0000001, 3.0, 0.9, rng.uniform(1, 2.1)])
    peer, t, steps = SimRate(rate, ratio), 0, []
    limiter = {"algorithm": "random", "rate_per_s": rate, "burst_ratio": ratio, "tick_ns": peer.tick}
    limiter |= {"ticks_per_op": peer.per_op, "pool_size_ticks": POOL, "pool_and_burst_size_ticks": peer.over}
    limiter |= {"initial_active_ticks": peer.active}
    back = rng.random() < 0.1
    for _ in range(rng.randint(1, 120)):
        gap, roll = pick_gap(rng, peer), rng.random()
        t = max(0, t - gap) if back and rng.random() < 0.1 else t + gap
        if t > 2**62:
            break
        if roll < 0.5:
            peer.refill(t)
            step = {"t_ns": t, "op": "refill", "expect": {"total_ticks": peer.active + peer.waiting}}
        elif roll < 0.98:
            step = {"t_ns": t, "op": "try_op", "n": 1, "expect": peer.take()}
        else:
            rate, ratio = pick_rate(rng), rng.choice([1.0, 1.1, 2.0])
            peer.set_rate(rate, ratio)
            step = {"t_ns": t, "op": "set_rate", "rate_per_s": rate, "burst_ratio": ratio, "expect": {"ok": True}}
        steps.append(step | {"state_after": peer.after()})
    return {"name": f"random {number}", "limiter": limiter, "tolerance_ns": 0, "steps": steps}


peers.write(("nosqlbench_simrate", "nosqlbench SimRate", case))
