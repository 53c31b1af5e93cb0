#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""nosqlbench's and EngineBlock's token pools, from their rules: doubles truncated to 64 bits, as in the peers."""
import math

import peers

INT64_MAX, INT64_MIN = 2**63 - 1, -(2**63)


def whole(value):
    if value != value:
        return 0
    return INT64_MAX if value >= 2.0**63 else INT64_MIN if value < -(2.0**63) else int(value)


def number(value):
    return value if math.isfinite(value) else "inf" if value > 0 else "-inf" if value < 0 else "nan"


class Pools:
    def __init__(self):
        self.active = self.waiting = self.per_op = 0

    def set_rate(self, rate, ratio):
        self.per_op = whole(math.copysign(math.inf, rate) if rate == 0 else 1e9 / rate)
        self.set_size(max(1000000, whole(self.per_op * 2.0)), ratio)

    def set_size(self, pool, ratio):
        self.pool, self.over = pool, whole(pool * ratio)

    def refill(self, n):
        fits = min(n, max(self.pool - self.active, 0))
        self.active += fits
        self.waiting += n - fits
        share = min(n / self.pool, 1.0)
        move = min(self.over - self.active, whole(share * (self.over - self.pool)), self.waiting)
        self.waiting -= move
        self.active += move
        return self.active + self.waiting

    def sizes(self):
        return {"pool_size": self.pool, "burst_size": self.over - self.pool, "pool_and_burst_size": self.over}

    def sound(self):
        return all(INT64_MIN < value < INT64_MAX for value in (
            self.active, self.waiting, self.active + self.waiting, self.pool - self.active, self.over - self.active,
            self.over - self.pool))


def pick_rate(pick):
    return pick.choice([0.1, 1.0, 2.0, 7.0, 100.0, 499.0, 500.0, 1000.0, 2000.0, 1e6, 5e7, 1e9, 3e9, 1e12, math.inf,
                        1e-10, 1e-300, 0.0, -1.0, pick.uniform(0, 3000), 10 ** pick.uniform(-3, 10)])


def pick_ratio(pick):
    return pick.choice([1.0, 1.1, 1.25, 1.5, 2.0, 5.0, 0.5, 0.0, pick.uniform(0, 4)])


def one_step(pick, pools, t):
    kind = pick.randrange(12)
    size = max(min(pools.pool, 2**40), 1)
    tokens = pick.choice([0, 1, 10, size // 10, size // 2, size, 3 * size, pools.active, pools.active + 1,
                          pick.randint(0, 2 * size), pick.randint(0, 2**32)])
    if kind < 5:
        return {"op": "refill", "tokens": tokens, "expect": {"total": pools.refill(tokens)}}
    if kind < 6:
        taken = min(tokens, pools.active)
        pools.active -= taken
        return {"op": "take_up_to", "tokens": tokens, "expect": {"taken": taken}}
    if kind < 10:
        op = kind < 8 or pools.per_op is None
        amount = tokens if op else pools.per_op
        allowed = pools.active >= amount
        pools.active -= amount if allowed else 0
        expect = {"allowed": allowed}
        if allowed:
            expect["backlog"] = pools.active + pools.waiting
        return {"op": "try_take", "tokens": amount, "expect": expect} if op else {"op": "try_op", "n": 1,
                                                                                "expect": expect}
    if kind == 10:
        rate, ratio = pick_rate(pick), pick_ratio(pick)
        pools.set_rate(rate, ratio)
        return {"op": "set_rate", "rate_per_s": number(rate), "burst_ratio": ratio,
                "expect": dict(pools.sizes(), tokens_per_op=pools.per_op)}
    dropped = pools.active + pools.waiting
    pools.active = pools.waiting = 0
    return {"op": "restart", "expect": {"dropped": dropped}}


def one_case(pick, index):
    pools, ratio = Pools(), pick_ratio(pick)
    limiter = {"algorithm": "three token pools (active, burst, waiting)", "burst_ratio": ratio}
    if pick.randrange(3) == 0:
        pools.set_size(pick.choice([1, 7, 100, 1000, 10**6, 10**12]), ratio)
        pools.per_op = None
        limiter["pool_size"] = pools.pool
    else:
        rate = pick_rate(pick)
        pools.set_rate(rate, ratio)
        limiter.update(pools.sizes(), rate_per_s=number(rate), tokens_per_op=pools.per_op)
    t, steps = 0, []
    for _ in range(60):
        before = dict(pools.__dict__)
        step = one_step(pick, pools, t)
        if not pools.sound():
            pools.__dict__ = before
            continue
        t += step["tokens"] if step["op"] == "refill" else 0
        steps.append(dict(step, t_ns=t, state_after={"active": pools.active, "waiting": pools.waiting}))
    return {"name": f"random {index}", "limiter": limiter, "tolerance_ns": 0, "steps": steps}


peers.write(("nosqlbench_tokenpool", "nosqlbench/EngineBlock token pool", one_case))
