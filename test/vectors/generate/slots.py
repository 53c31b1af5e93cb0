#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""slots.py > ../slots/concurrent.json: what a concurrent limit answers, by a model that is a list of ends.

Of lists with a rate the rate is a bucket of whole us.  No code of weir's is in here; the core, the module and weir.lua
all have to say the same.  The numbers are the same each time.
"""
import json
import random

CASES = 60


class Model:
    def __init__(self, slots, lease, rate=None):
        self.slots, self.lease, self.rate = slots, lease, rate
        self.held = {}  # id: [end, slots]
        self.full_at = 0  # when the bucket has all again, us

    def free(self, now):
        return self.slots - sum(count for end, count in self.held.values() if end > now)

    def room(self, now):
        every, burst = self.rate
        return (burst * every - max(self.full_at - now, 0)) // every

    def take(self, now, n, peek=False):
        passes = self.free(now) >= n and (not self.rate or self.room(now) >= n)
        if n > self.slots or (self.rate and n > self.rate[1]):
            return {"allowed": False, "never": True}
        if not passes:
            return {"allowed": False, "never": False, "retry_after_ns": self.retry(now, n) * 1000}
        if not peek and n:
            self.held[len(self.held)] = [now + self.lease, n]
        if not peek and self.rate:
            self.full_at = max(self.full_at, now) + n * self.rate[0]
        left = min([self.free(now)] + ([self.room(now)] if self.rate else [])) - (n if peek else 0)
        return {"allowed": True, "never": False, "remaining": left}

    def retry(self, now, n):
        waits = [0]
        ends = sorted(end for end, count in self.held.values() if end > now for _ in range(count))
        if self.free(now) < n:
            waits.append(ends[n - self.free(now) - 1] - now)
        if self.rate and self.room(now) < n:
            waits.append(max(self.full_at, now) - now - (self.rate[1] - n) * self.rate[0])
        return max(waits)

    def change(self, now, key, op):
        entry = self.held[key]
        done = entry[0] > now and entry[1] > 0
        if done:
            entry[0] = now + self.lease if op == "renew" else 0
        return {"done": done}


def case(chance, number):
    slots, lease = chance.choice([1, 2, 3, 5, 20]), chance.choice([7, 1500, 40000, 1000000, 30000000])
    rate = chance.choice([None, None, (chance.choice([10, 1000, 250000]), chance.choice([1, 4, 30]))])
    model = Model(slots, lease, rate)
    text = "%d concurrent lease=%dus" % (slots, lease)
    if rate:
        text += "; 1/%dus burst=%d" % rate
    now, steps = 1000000, []
    for _ in range(40):
        if chance.random() < 0.7:
            now += chance.randrange(max(lease // chance.choice([1, 3, 20]), 1) + 2)
        ids = [key for key in model.held]
        op = chance.choice(["try"] * 5 + ["peek", "renew", "release", "release"]) if ids else "try"
        step = {"t_ns": now * 1000, "op": op}
        if op in ("try", "peek"):
            step["n"] = 1 if chance.random() < 0.6 else chance.randrange(slots + 2)
            step["expect"] = model.take(now, step["n"], op == "peek")
        else:
            step["id"] = chance.choice(ids[-4:])
            step["expect"] = model.change(now, step["id"], op)
        steps.append(step)
    return {"name": "case %d" % number, "limiter": {"text": text}, "tolerance_ns": 0, "steps": steps}


def main():
    chance = random.Random(33)
    head = {"system": "slots that are held", "version": "1", "produced_by": "derived", "clock": "us",
            "conventions": "a slot is free from its end on; id: the place of a try that was allowed and took some"}
    lines = [json.dumps(case(chance, number)) for number in range(CASES)]
    print(json.dumps(head)[:-1] + ',\n "cases": [\n  ' + ",\n  ".join(lines) + "\n]}")


main()
