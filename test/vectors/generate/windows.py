#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The systems with fixed windows, answered by models of them.

The models are dumb on purpose: dictionaries, exact integers, and gubernator's own doubles."""
import peers

MS, SECOND, YEAR = 10**6, 10**9, 365 * 86400 * 10**9


class Envoy:
    system = "envoy ratelimit fixed window (aligned)"
    name, grain = "fixed_window_aligned", 1

    def __init__(self, pick):
        self.window = pick.choice([1, 1, 2, 60, 3600, 86400, 7 * 86400, 30 * 86400, 365 * 86400]) * SECOND
        self.limit = pick.choice([0, 1, 2, 5, 10, 1000, 2**32 - 1])
        self.count = {}
        self.limiter = {"limit": self.limit, "window_ns": self.window, "clock_resolution_ns": SECOND}
        self.ops = ["try"]

    def step(self, op, t, n, _):
        t -= t % SECOND
        key = t // self.window
        self.count[key] = self.count.get(key, 0) + n
        left = self.limit - self.count[key]
        return {"allowed": left >= 0, "remaining": max(left, 0), "reset_in_ns": self.window - t % self.window}


class Limits:
    system = "limits (Python) fixed window"
    name, grain = "fixed_window_limits", SECOND // 512

    def __init__(self, pick):
        self.window = pick.choice([1, 2, 10, 60, 86400, 365 * 86400]) * SECOND
        self.limit = pick.choice([0, 1, 2, 3, 10, 1000])
        self.count, self.end = 0, None
        self.limiter = {"limit": self.limit, "window_ns": self.window}
        self.ops = ["try", "try", "try", "peek"]

    def step(self, op, t, n, _):
        if self.end is not None and self.end <= t:
            self.count, self.end = 0, None
        if op == "peek":
            allowed = self.count + n <= self.limit
        else:
            self.count += n
            if self.count == n:
                self.end = t + self.window
            allowed = self.count <= self.limit
        reset = 0 if self.end is None else self.end - t
        return {"allowed": allowed, "remaining": max(self.limit - self.count, 0), "reset_in_ns": reset}


class Flexible:
    system = "rate-limiter-flexible RateLimiterMemory"
    name, grain = "fixed_window_first_call", 1

    def __init__(self, pick):
        self.window = pick.choice([1, 2, 10, 60, 86400, 365 * 86400]) * SECOND
        self.block = pick.choice([0, 0, 1, 3, 10, 3600]) * SECOND
        self.limit = pick.choice([0, 1, 2, 3, 10, 1000])
        self.count, self.end = 0, None
        self.limiter = {"limit": self.limit, "window_ns": self.window, "block_ns": self.block}
        self.ops = ["try"]

    def step(self, op, t, n, _):
        t -= t % MS
        if self.end is None or self.end <= t:
            self.count, self.end = 0, t + self.window
        before = self.count
        self.count += n
        allowed = self.count <= self.limit
        if not allowed and before <= self.limit and self.block > 0:
            self.end = t + self.block
        return {"allowed": allowed, "consumed": self.count, "remaining": max(self.limit - self.count, 0),
                "reset_in_ns": self.end - t}


class Token:
    system = "gubernator token and leaky bucket"
    name, grain = "gubernator", 1

    def __init__(self, pick):
        self.request = {}
        self.bucket = None
        self.limiter = {"algorithm": "TOKEN_BUCKET", **self.change(pick)}
        self.ops = ["try"] * 8 + ["try_drain", "try_reset", "set_limit"]

    def change(self, pick):
        self.request = {"limit": pick.choice([0, 1, 2, 3, 10, 100]),
                        "duration_ns": pick.choice([5 * MS, SECOND, SECOND, 2 * SECOND, 60 * SECOND, 86400 * SECOND])}
        self.window = self.request["duration_ns"]
        return self.request

    def step(self, op, t, n, _):
        limit, duration, t = self.request["limit"], self.request["duration_ns"], t - t % MS

        def told(over, remaining, end):
            return {"allowed": not over, "remaining": remaining, "reset_in_ns": end - t}

        b = self.bucket
        if b is None or b["end"] < t:
            over = n > limit
            left = limit if over else limit - n
            self.bucket = {"limit": limit, "duration": duration, "left": left, "from": t, "end": t + duration,
                           "over": False}
            return told(over, left, t + duration)
        if op == "try_reset":
            b["left"], b["limit"], b["over"] = limit, limit, False
            return {"allowed": True, "remaining": limit, "reset_in_ns": 0}
        b["left"], b["limit"] = max(b["left"] + limit - b["limit"], 0), limit
        seen = b["left"]
        if b["duration"] != duration:
            b["duration"], b["end"] = duration, b["from"] + duration
            if b["end"] <= t:
                b["from"], b["end"], b["left"] = t, t + duration, limit
        if n == 0:
            return told(b["over"], seen, b["end"])
        if seen == 0:
            b["over"] = True
            return told(True, 0, b["end"])
        if n > b["left"]:
            if op == "try_drain":
                b["left"] = seen = 0
            return told(True, seen, b["end"])
        b["left"] -= n
        return told(b["over"], b["left"], b["end"])


class Leaky:
    system = "gubernator token and leaky bucket"
    name, grain = "gubernator_leaky", 1

    def __init__(self, pick):
        self.request = {}
        self.bucket = None
        self.limiter = {"algorithm": "LEAKY_BUCKET", **self.change(pick)}
        self.ops = ["try"] * 8 + ["try_drain", "try_reset", "set_limit"]

    def change(self, pick):
        limit = pick.choice([1, 2, 3, 7, 10, 100, 5000])
        self.limit = limit
        self.request = {"limit": limit, "duration_ns": pick.choice([100, 1000, 1000, 60000, 86400000]) * MS,
                        "burst": pick.choice([limit, limit, max(limit // 3, 1), 3 * limit])}
        self.window = self.request["duration_ns"]
        return self.request

    def step(self, op, t, n, _):
        limit, duration, burst = self.request["limit"], self.request["duration_ns"] // MS, self.request["burst"]
        t //= MS
        rate = float(duration) / float(limit)

        def told(over, remaining, counted=None):
            missing = limit - (remaining if counted is None else counted)
            return {"allowed": not over, "remaining": remaining, "reset_in_ns": missing * int(rate) * MS}

        b = self.bucket
        if b is None or b["end"] < t:
            over = n > burst
            left = 0 if over else burst - n
            self.bucket = {"left": float(left), "burst": burst, "leaked": t, "end": t + duration}
            return told(over, left)
        if op == "try_reset":
            b["left"] = float(burst)
        if b["burst"] != burst:
            if burst > int(b["left"]):
                b["left"] = float(burst)
            b["burst"] = burst
        if n != 0:
            b["end"] = t + duration
        leak = float(t - b["leaked"]) / rate
        if int(leak) > 0:
            b["left"] += leak
            b["leaked"] = t
        if int(b["left"]) > burst:
            b["left"] = float(burst)
        whole = int(b["left"])
        if whole == 0 and n > 0:
            return told(True, 0)
        if whole == n:
            b["left"] = 0.0
            return told(False, 0)
        if n > whole:
            if op == "try_drain":
                b["left"] = 0.0
                return told(True, 0, whole)
            return told(True, whole)
        if n != 0:
            b["left"] -= float(n)
        return told(False, int(b["left"]))


def gap(pick, window):
    return pick.choice([0, 0, 1, MS, window // 3, window // 2, window - MS, window - 1, window, window + 1, window + MS,
                        pick.randrange(window), pick.randrange(3 * window), pick.randrange(100) * MS,
                        pick.choice([0, 0, 0, 0, 30 * YEAR])])


def case(model, pick, number):
    subject = model(pick)
    t = pick.choice([0, 0, SECOND, pick.randrange(2 * 10**18), 1699488000 * SECOND + pick.randrange(10**12),
                     -pick.randrange(10**13)])
    back = pick.random() < 0.2
    steps = []
    for _ in range(pick.choice([10, 40, 80])):
        t += -gap(pick, subject.window) if back and pick.random() < 0.2 else gap(pick, subject.window)
        t = max(min(t, 2**63 + 2**62), -10**17)
        t -= t % subject.grain
        op = pick.choice(subject.ops)
        if op == "set_limit":
            steps.append({"t_ns": t, "op": op, **subject.change(pick), "expect": {"ok": True}})
            continue
        n = pick.choice([1, 1, 1, 1, 1, 0, 2, subject.limit if hasattr(subject, "limit") else 3, pick.randrange(12)])
        if pick.random() < 0.05:
            n = pick.choice([1000, 10**6, 2**31])
        steps.append({"t_ns": t, "op": op, "n": n, "expect": subject.step(op, t, n, pick)})
    return {"name": "random %d" % number, "limiter": {"algorithm": "-", **subject.limiter}, "tolerance_ns": 0,
            "steps": steps}


def of(model):
    return lambda pick, number: case(model, pick, number)


peers.write(*((model.name, model.system, of(model)) for model in (Envoy, Limits, Flexible, Token, Leaky)))
