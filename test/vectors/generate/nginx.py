#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""nginx's limit_req, from the rules of its excess in thousandths."""
import peers

MS = 10**6
MINUTE_MS = 60000


def truncated(a, b):
    return a // b if a >= 0 else -(-a // b)


class Zone:
    def __init__(self, rate, burst, delay):
        self.rate, self.burst, self.delay = rate, 1000 * burst, delay
        self.excess = self.last = None

    def try_(self, now):
        """(allowed, excess, wait in ms)"""
        if self.last is None:
            self.excess, self.last = 0, now
            return True, 0, 0
        ms = now - self.last
        ms = 1 if ms < -MINUTE_MS else max(ms, 0)
        excess = max(0, self.excess - self.rate * ms // 1000 + 1000)
        if excess > self.burst:
            return False, excess, 0
        self.excess = excess
        if ms != 0:
            self.last = now
        late = 0 if self.delay is None else max(0, excess - 1000 * self.delay)
        return True, excess, truncated(late * 1000, self.rate)


def pick_limiter(pick):
    number = pick.choice([1, 2, 3, 5, 7, 10, 30, 59, 60, 61, 100, 999, 1000, 1500, 10000, 10**6, 10**9,
                          pick.randrange(1, 100), pick.randrange(1, 10**pick.randrange(1, 10))])
    unit = pick.choice("smm")
    burst = pick.choice([0, 0, 1, 2, 5, 20, pick.randrange(1000)])
    delay = pick.choice([None, 0, 0, pick.randrange(1, 8), 1000])
    return {"algorithm": "leaky bucket by excess in thousandths of a request", "rate": f"{number}r/{unit}",
            "rate_thousandths_per_s": number * 1000 // (60 if unit == "m" else 1), "burst": burst,
            "delay": "see delay_requests", "nodelay": delay is None, "delay_requests": delay}


def pick_gap(pick, limiter):
    permit = 10**6 // limiter["rate_thousandths_per_s"]
    kind = pick.randrange(20)
    if kind < 6:
        return 0
    if kind < 8:
        return 1
    if kind < 13:
        return max(0, permit + pick.randrange(-2, 3))
    if kind < 15:
        return pick.randrange(2 * permit + 2)
    if kind < 16:
        return permit * (limiter["burst"] + pick.randrange(3))
    if kind < 17:
        return pick.randrange(10**pick.randrange(1, 10))
    if kind < 19:
        return -pick.choice([1, 59999, 60000, 60001, 60002, pick.randrange(120000), pick.randrange(10**7)])
    return pick.choice([0] * 30 + [10**12, 10**13])


def make_case(pick, number):
    limiter = pick_limiter(pick)
    zone = Zone(limiter["rate_thousandths_per_s"], limiter["burst"], limiter["delay_requests"])
    now, steps = pick.choice([0, 0, 1, 10**6, -(10**9), pick.randrange(10**12)]), []
    for _ in range(pick.randrange(1, 120)):
        allowed, excess, wait = zone.try_(now)
        expect = {"allowed": allowed, "excess_thousandths": excess}
        if allowed:
            expect["wait_ns"] = wait * MS
        steps.append({"t_ns": now * MS, "op": "try", "n": 1, "expect": expect})
        now += pick_gap(pick, limiter)
        if not -(2**43) < now < 18 * 10**12:
            break
    return {"name": f"random {number}", "limiter": limiter, "tolerance_ns": 0, "steps": steps}


peers.write(("nginx_limit_req", "nginx limit_req", make_case))
