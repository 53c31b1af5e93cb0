#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""governor, throttled and redis-cell, from their rules.

All three keep one time, the theoretical arrival time; they differ in what a burst is, in what nothing (n = 0) does,
and in what they answer.  Whole numbers throughout."""
import peers

SECOND, MS, US = 10**9, 10**6, 1000
INT64_MAX, UINT64_MAX = 2**63 - 1, 2**64 - 1


def trunc(a, b):
    """a / b towards zero."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


class Governor:
    tat_max = UINT64_MAX

    def __init__(self, interval, burst):
        self.interval, self.burst, self.tat = interval, burst, None
        self.limiter = {"algorithm": "GCRA", "emission_interval_ns": interval, "burst": burst}

    def sound(self, t, n):
        """Where the peer's own numbers hold."""
        return n > 0 and max(t, self.tat or 0) + self.interval * (n + self.burst) < UINT64_MAX

    def take(self, t, n):
        t = max(t, 0)
        tau, need = self.interval * (self.burst - 1), self.interval * (n - 1)
        if need > tau:
            return {"allowed": False, "never": True, "capacity": self.burst}
        tat = t if self.tat is None else self.tat
        earliest = max(0, tat + need - tau)
        if t < earliest:
            return {"allowed": False, "retry_after_ns": earliest - t}
        self.tat = max(tat, t) + self.interval * n
        rest = min(t + tau + self.interval - self.tat, tau + self.interval)
        return {"allowed": True, "remaining": rest // self.interval}


class Throttled:
    tat_max = INT64_MAX

    def __init__(self, interval, burst):
        self.interval, self.limit, self.tat = interval, burst, None
        self.limiter = {"algorithm": "GCRA", "emission_interval_ns": interval, "max_burst": burst - 1, "limit": burst}

    def sound(self, t, n):
        return max(t, self.tat or 0) + self.interval * (n + self.limit) <= INT64_MAX

    def take(self, t, n):
        tau = self.interval * self.limit
        tat = t if self.tat is None else self.tat
        new, ttl, answer = max(t, tat) + n * self.interval, 0, {"allowed": True, "limit": self.limit}
        if t < new - tau:
            answer["allowed"] = False
            if n * self.interval <= tau:
                answer["retry_after_ns"], ttl = new - tau - t, tat - t
            else:
                answer["never"] = True
        else:
            self.tat, ttl = new, new - t
        answer["remaining"] = trunc(tau - ttl, self.interval) if tau - ttl > -self.interval else 0
        answer["reset_in_ns"] = ttl
        return answer


class RedisCell:
    tat_max = INT64_MAX

    def __init__(self, count, period_s, burst):
        self.interval, self.limit, self.tat, self.dies_ms = int(float(period_s * SECOND) / float(count)), burst, None, 0
        self.limiter = {"algorithm": "GCRA", "max_burst": burst - 1, "count": count, "period_s": period_s}

    def sound(self, t, n):
        return self.interval >= US and max(t, self.tat or 0) + self.interval * (n + self.limit) <= INT64_MAX

    def take(self, t, n):
        if self.tat is not None and t // MS > self.dies_ms:
            self.tat = None
        tau = self.interval * self.limit
        tat = t if self.tat is None else self.tat
        new, retry, answer = max(t, tat) + n * self.interval, -1, {"allowed": True, "limit": self.limit}
        if t < new - tau:
            answer["allowed"], ttl = False, tat - t
            if n * self.interval <= tau:
                answer["retry_after_ns"] = retry = new - tau - t
            else:
                answer["never"] = True
        else:
            self.tat, ttl = new, new - t
            self.dies_ms = t // MS + ttl // MS
        rest = tau - ttl
        answer["remaining"] = trunc(trunc(rest, US), self.interval // US) if rest > -self.interval else 0
        answer["reset_in_ns"] = ttl
        answer["reply"] = [0 if answer["allowed"] else 1, self.limit, answer["remaining"],
                           -1 if retry < 0 else self.seconds(retry), self.seconds(ttl)]
        return answer

    @staticmethod
    def seconds(ns):
        ms = trunc(ns, MS)
        return trunc(ms, 1000) + (1 if ms > 0 and ms % 1000 > 0 else 0)


def pick_burst(pick, most):
    return max(1, min(pick.choice([1, 1, 2, 3, 5, 10, 16, 100, 1000, 10**6, 2**31, 2**32 - 1, most]), most))


def pick_peer(pick, peer):
    if peer is RedisCell:
        count = pick.choice([1, 1, 2, 3, 7, 30, 100, 999, 10**6])
        period_s = pick.choice([1, 2, 60, 3600, 86400, 31536000])
        return peer(count, period_s, pick_burst(pick, INT64_MAX // 4 * count // (period_s * SECOND) or 1))
    interval = pick.choice([1, 1, 2, 3, 7, 1000, 333333333, 200000000, SECOND, 86400 * SECOND, 31536000 * SECOND,
                            pick.randint(1, 10**10), pick.randint(1, 2**61), pick.randint(1, 2**62)])
    span = peer.tat_max // 2 if pick.randrange(4) == 0 else 2**61
    most = 2**32 - 1 if peer is Governor else INT64_MAX
    return peer(interval, pick_burst(pick, max(1, min(span // interval, most))))


def pick_time(pick, t, peer):
    kind, interval = pick.randrange(14), peer.interval
    due = (peer.tat or t) - interval * (peer.limiter.get("burst") or peer.limit)
    if kind < 3:
        return t
    if kind < 6:
        return t + pick.choice([1, 2, 999, 1000, 999999, 10**6, SECOND, interval, interval - 1, interval // 3])
    if kind < 9:
        return due + interval * pick.choice([0, 1, 1, 2, 3]) + pick.choice([-1, 0, 0, 1])
    if kind == 9:
        return (peer.tat or t) + pick.choice([-1000001, -1, 0, 1, 400000, 999999])
    if kind == 10:
        return t - pick.choice([1, 1000, 10**6, SECOND, interval, pick.randint(0, max(t, 1))])
    if kind == 11:
        return pick.randint(max(t, 0), peer.tat_max)
    return t + pick.randint(0, 10 * interval)


def one_case(pick, kind, name):
    peer = pick_peer(pick, kind)
    burst = peer.limiter.get("burst") or peer.limit
    t, steps = pick.choice([0, 0, 1, SECOND, pick.randint(0, peer.tat_max // 4)]), []
    lowest = -10**12 if kind is Governor and pick.randrange(4) == 0 else 0
    for _ in range(40):
        at = min(max(pick_time(pick, t, peer), lowest), peer.tat_max)
        n = max(0, pick.choice([0, 1, 1, 1, 1, 2, burst // 2, burst - 1, burst, burst + 1, pick.randint(0, burst)]))
        if not peer.sound(at, n):
            continue
        t = at
        steps.append({"t_ns": at, "op": "try", "n": n, "expect": peer.take(at, n)})
    return {"name": name, "limiter": peer.limiter, "tolerance_ns": 0, "steps": steps}


def of(kind):
    return lambda pick, number: one_case(pick, kind, f"random {number}")


peers.write(("governor_gcra", "governor (GCRA)", of(Governor)), ("throttled_gcra", "throttled (GCRA)", of(Throttled)),
            ("redis_cell", "redis-cell CL.THROTTLE", of(RedisCell)))
