#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""EngineBlock's core limiters, by a model of the rules in the vectors' README, section 5."""
import peers

MAX = 2**63 - 1
FORMS = {
    "average": "schedule timeline, average (no compensation)",
    "keeps": "schedule timeline, average (no compensation), clock read on every call",
    "draft": "schedule timeline, early draft: compensation on the wait of a blocked caller (slows down under load)",
    "compensation": "schedule timeline with gap compensation",
    "tens": "schedule timeline with gap compensation only when the slot number is a multiple of ten",
    "dual": "dual timeline: ideal schedule and burst-spaced schedule, with grace operations",
}


def cut(value):
    return MAX if value >= 2.0**63 else int(value)


class Peer:
    def __init__(self, form, rate, ratio):
        self.form, self.ratio = form, ratio
        self.slot = self.seen = self.sched = self.grace = 0
        self.shift = 0 if ratio == 1 else min(64 - cut(ratio * 2.0**63).bit_length(), 63)
        self.set_rate(rate)

    def set_rate(self, rate, now=None):
        self.rate, self.per_op = rate, cut(1e9 / rate)
        if self.form == "dual":
            self.burst = cut(1e9 / (self.ratio * rate))
            share = 1000 if rate <= 100000 else 50 if rate <= 500000 else 10 if rate <= 10000000 else 5
            self.allowed = max(500, int(rate) // share)
        elif now is not None and self.form != "keeps":
            self.slot = now

    def acquire(self, now, cost):
        return self.dual(now) if self.form == "dual" else self.single(now, cost)

    def single(self, now, cost):
        mine, self.slot = self.slot, self.slot + cost
        if self.form in ("average", "keeps"):
            self.seen = now
        elif self.seen < mine:
            self.seen = now
            gap = self.seen - mine - cost
            if gap > 0 and (self.form == "compensation" or self.form == "tens" and mine % 10 == 0):
                self.slot += gap >> self.shift
        wait = mine - self.seen
        if self.form == "draft" and wait > cost:
            self.slot += wait >> self.shift
        return (wait, 0) if wait > 0 else (0, -wait)

    def dual(self, now):
        mine, self.slot = self.slot, self.slot + self.per_op
        at = max(self.sched, mine, self.seen)
        if self.seen < at:
            self.seen = now
            at = max(at, now)
        self.sched = at + self.burst
        wait = at - self.seen
        if wait > 0:
            self.grace += 1
            if self.grace <= self.allowed:
                wait = 0
            else:
                self.grace = 0
        return (wait if wait > 500 else 0), at - mine

    def state(self):
        if self.form == "dual":
            return {"allocatedIdealNanos": self.slot, "scheduledNanos": self.sched}
        if self.form in ("average", "keeps"):
            return {"next_slot_ns": self.slot}
        return {"next_slot_ns": self.slot, "last_seen_ns": self.seen}

    def largest(self):
        return max(self.slot, self.sched, self.seen)


def any_rate(pick):
    how = pick.randrange(6)
    if how == 0:
        return pick.choice([1e9, 1e8, 5e7, 1e6, 1000.0, 1.0, 3.0, 7.0, 1e-3, 1 / 86400, 1e-6, 999999999.0])
    if how == 1:
        return float(pick.randrange(1, 10**9))
    return 10 ** pick.uniform(-7, 9)


def any_ratio(pick, form):
    if form == "dual":
        return pick.choice([1.0, 1.1, 1.5, 2.0, 1 + 10 ** pick.uniform(-4, 2), float(pick.randrange(1, 400))])
    if form in ("average", "keeps"):
        return 0.0
    if form == "tens" and pick.randrange(5) == 0:
        return 0.0
    return pick.choice([1.0, 0.5, 0.25, 0.75, 0.3, 0.03125, pick.random() or 1.0, 10 ** pick.uniform(-12, 0)])


def next_time(pick, peer, now, back):
    op = peer.per_op
    how = pick.randrange(12)
    if how < 3:
        return now
    if how < 5:
        return now + pick.randrange(2 * op + 2)
    if how == 5:
        return max(now, peer.slot + pick.randrange(-1, 2))
    if how == 6:
        return now + pick.randrange(50) * op
    if how == 7:
        return now + pick.choice([1, op, op - 1, op + 1])
    if how == 8 and pick.randrange(8) == 0:
        return now + pick.randrange(10 ** pick.randrange(1, 19))
    if how == 9 and back:
        return max(-(10**9), now - pick.randrange(10 ** pick.randrange(1, 12)))
    return now + pick.randrange(1000)


def case(pick, number):
    form = pick.choice(list(FORMS))
    peer = Peer(form, any_rate(pick), any_ratio(pick, form))
    back = pick.randrange(3) == 0
    name = "compensation_ratio" if form != "dual" else "burst_ratio"
    limiter = {"algorithm": FORMS[form], "rate_per_s": peer.rate, name: peer.ratio}
    long = form == "dual" and pick.randrange(4) == 0
    steps, now = [], 0
    for _ in range(3000 if long else pick.randrange(1, 80)):
        now = now + pick.randrange(2) if long and pick.randrange(100) else next_time(pick, peer, now, back)
        if now > MAX or peer.largest() + 3 * peer.per_op > MAX:
            break
        if not long and pick.randrange(25) == 0:
            rate = any_rate(pick)
            peer.set_rate(rate, now)
            steps.append({"t_ns": now, "op": "set_rate", "rate_per_s": rate, "expect": {"ok": True}})
            continue
        step, cost = {"t_ns": now, "op": "acquire", "n": 1}, peer.per_op
        if form != "dual" and pick.randrange(4) == 0:
            cost = pick.choice([0, 1, peer.per_op, pick.randrange(20 * peer.per_op + 1)])
            step = {"t_ns": now, "op": "acquire_time", "time_ns": cost}
        before = now
        wait, lag = peer.acquire(now, cost)
        if peer.largest() > MAX:
            break
        step["expect"] = {"allowed": True, "wait_ns": wait, "lag_ns": lag}
        step["state_after"] = peer.state()
        steps.append(step)
        if pick.randrange(3):
            now = before + wait
    return {"name": f"{form} {number}", "limiter": limiter, "tolerance_ns": 0, "steps": steps}


peers.write(("engineblock_core", "EngineBlock core", case))
