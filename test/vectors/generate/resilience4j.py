#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""resilience4j's two limiters, by the rules of its documents.

Balances and cycles are Python's whole numbers, so nothing overflows; times before the creation are cut towards zero."""
import peers

YEAR = 365 * 86400 * 10**9


class Atomic:
    def __init__(self, limit, period):
        self.limit, self.period, self.cycle, self.balance = limit, period, 0, limit

    def book(self, t):
        cycle = abs(t) // self.period * (1 if t >= 0 else -1)
        if cycle != self.cycle:
            self.balance = min(self.balance + (cycle - self.cycle) * self.limit, self.limit)
            self.cycle = cycle

    def wait(self, t, n):
        if self.balance >= n:
            return 0
        more = max(0, -((self.balance + self.limit - n) // self.limit))
        return (self.cycle + 1) * self.period - t + more * self.period

    def take(self, t, n, max_wait):
        self.book(t)
        wait = self.wait(t, n)
        if wait > max_wait:
            return {"allowed": False}
        self.balance -= n
        return {"allowed": True, "wait_ns": wait}

    def drain(self, t):
        before = self.balance
        self.book(t)
        self.balance -= before

    def after(self, t):
        return {"permissions": self.balance, "cycle": self.cycle, "wait_for_one_ns": self.wait(t, 1)}


def around(rng, value):
    return max(0, rng.choice([value, value - 1, value + 1, rng.randint(0, value), value * rng.randint(1, 5)]))


def atomic_case(rng, number):
    period = rng.choice([1, 7, 1000, 500_000_000, 10**9, 86400 * 10**9, YEAR, rng.randint(1, 10**12)])
    limit = rng.choice([1, 2, 3, 5, 10, 1000, 2**31 - 1, 2**40, rng.randint(1, 50)])
    peer, t, steps, first = Atomic(limit, period), 0, [], limit
    back, far = rng.random() < 0.3, rng.random() < 0.3
    for _ in range(rng.randint(1, 60)):
        gap = rng.choice([0, 0, 0, 1, around(rng, period), rng.randint(0, period), rng.randint(0, 8 * period)])
        if far and rng.random() < 0.05:
            gap = rng.randint(0, 100 * YEAR)
        t += -gap if back and rng.random() < 0.2 else gap
        if abs(t) > 290 * YEAR:
            break
        step = {"t_ns": t}
        roll = rng.random()
        if roll < 0.05:
            new = rng.choice([0, -1, -7, around(rng, limit), 1, 1000])
            step |= {"op": "set_limit", "limit_per_period": new}
            if new > 0:
                limit = peer.limit = new
            step["expect"] = {"ok": True} if new > 0 else {"error": "invalid argument"}
        elif roll < 0.1:
            peer.drain(t)
            step |= {"op": "drain", "expect": {"ok": True}, "state_after": peer.after(t)}
            if peer.wait(t, 1) > 2**62 or abs(peer.balance) > 2**60:
                break
        else:
            n = rng.choice([0, 1, 1, 1, 2, 3, around(rng, limit), rng.randint(0, 3 * limit)])
            exact = Atomic(peer.limit, period)
            exact.cycle, exact.balance = peer.cycle, peer.balance
            exact.book(t)
            exact = exact.wait(t, n)
            wait = rng.choice([0, 0, exact, max(0, exact - 1), exact + 1, around(rng, period), 2**63 - 1])
            step |= {"op": "try", "n": n, "max_wait_ns": wait, "expect": peer.take(t, n, wait)}
            if abs(peer.balance) > 2**60 or exact > 2**62:
                break
            step["state_after"] = peer.after(t)
        steps.append(step)
    limiter = {"algorithm": "random", "period_ns": period, "limit_per_period": first, "initial_permissions": first}
    return {"name": f"random {number}", "limiter": limiter, "tolerance_ns": 0, "steps": steps}


def semaphore_case(rng, number):
    limit = first = rng.choice([1, 2, 3, 5, 10, 2**31 - 1, rng.randint(1, 50)])
    period, balance, t, steps = rng.choice([1, 10**9, 86400 * 10**9]), limit, 0, []
    for _ in range(rng.randint(1, 60)):
        t += rng.choice([0, 0, 1, period])
        step, roll = {"t_ns": t}, rng.random()
        if roll < 0.2 and balance <= limit:
            balance = limit
            step |= {"op": "refresh", "expect": {"ok": True}}
        elif roll < 0.25:
            new = rng.choice([0, -1, around(rng, limit), 1])
            step |= {"op": "set_limit", "limit_per_period": new}
            step["expect"] = {"ok": True} if new > 0 else {"error": "invalid argument"}
            limit = new if new > 0 else limit
        elif roll < 0.3:
            balance = 0
            step |= {"op": "drain", "expect": {"ok": True}}
        else:
            n = rng.choice([0, 1, 1, 2, around(rng, limit), balance, balance + 1])
            step |= {"op": "try", "n": n, "max_wait_ns": 0, "expect": {"allowed": n <= balance}}
            balance -= n if n <= balance else 0
        step["state_after"] = {"permissions": balance}
        steps.append(step)
    limiter = {"algorithm": "random", "period_ns": period, "limit_per_period": first}
    return {"name": f"random {number}", "limiter": limiter, "tolerance_ns": 0, "steps": steps}


peers.write(("resilience4j_atomic", "resilience4j AtomicRateLimiter", atomic_case),
            ("resilience4j_semaphore", "resilience4j SemaphoreBasedRateLimiter", semaphore_case))
