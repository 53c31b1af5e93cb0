# SPDX-License-Identifier: MIT
"""A decision as response headers: Retry-After, and RateLimit-Policy and RateLimit as in
draft-ietf-httpapi-ratelimit-headers-11, as `weir serve` writes them, of the limit that the decision names.

    RateLimit-Policy: "default";q=60;w=60
    RateLimit: "default";r=59;t=1
"""

from __future__ import annotations

import functools
import math
import re
from fractions import Fraction
from typing import NamedTuple

from libweir._weir import Decision, Plan

_RATE = re.compile(r"(?P<count>[\d.]+)(?P<k>[kKMG]i?)?[^/]*/(?P<number>[\d.]*)(?P<unit>ns|us|ms|s|min|h|d|w|year)\b")
_BURST = re.compile(r"\bburst=([\d.]+)([kKMG]i?)?(ns|us|ms|s|min|h|d|w|year)?(?=\s|$)")
_SECONDS = {
    "ns": Fraction(1, 10**9), "us": Fraction(1, 10**6), "ms": Fraction(1, 1000), "s": Fraction(1),
    "min": Fraction(60), "h": Fraction(3600), "d": Fraction(86400), "w": Fraction(604800), "year": Fraction(31536000),
}  # fmt: skip
_TIMES = {None: 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30}


class _Policy(NamedTuple):
    text: str  # of RateLimit-Policy
    name: str
    interval_ns: Fraction  # between two permits
    burst: int  # of gcra, where one more passes an interval before the next; else 0


@functools.lru_cache(maxsize=1024)
def _policy(plan: Plan, index: int) -> _Policy | None:
    """Of one limit of a plan; None where it has no rate."""
    parts, unit = plan.text.split(";"), plan.units[index]
    limit = parts[index].strip() if index < len(parts) else ""
    if (rate := _RATE.match(limit)) is None:
        return None
    count = Fraction(rate["count"]) * _TIMES[rate["k"]]
    period = Fraction(rate["number"] or 1) * _SECONDS[rate["unit"]]
    window = math.ceil(period)
    quota = math.floor(count * window / period)
    burst = quota
    if (said := _BURST.search(limit)) is not None:
        amount = Fraction(said[1]) * _TIMES[said[2]]
        burst = math.floor(amount * _SECONDS[said[3]] * count / period if said[3] else amount)
    name = '"default"' if len(parts) == 1 else f'"default-{index + 1}"'
    text = f"{name};q={quota};w={window}"
    if unit != "requests":
        text += f';qu="{"content-bytes" if unit == "bytes" else unit}"'
    if burst != quota:
        text += f";weir-burst={burst}"
    return _Policy(text, name, period * 10**9 / count, burst if "gcra" in limit else 0)


def _seconds(ns: int | Fraction) -> int:
    return max(math.ceil(Fraction(ns) / 10**9), 1)


def headers(decision: Decision) -> dict[str, str]:
    """Headers that tell a client of its limit; Retry-After if it was refused and may come again."""
    told: dict[str, str] = {}
    if decision.verdict == "deny":
        told["Retry-After"] = str(_seconds(decision.retry_ns))
    policy = _policy(decision.plan, decision.limit)
    if policy is None:
        return told
    used = max(policy.burst - decision.remaining - 1, 0) if policy.burst else 0
    wait_ns = decision.retry_ns or decision.reset_ns - used * policy.interval_ns
    more = f";t={_seconds(wait_ns)}" if 0 < wait_ns and decision.verdict != "never" else ""
    told["RateLimit-Policy"] = policy.text
    told["RateLimit"] = f"{policy.name};r={decision.remaining}{more}"
    return told
