#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""calls.py FOLDER: the vectors that a limit's text alone says, as lines for the tests of the bindings, tab-separated.

    limit TEXT NAME                                 a new limiter, with its state
    refused TEXT NAME                               no limiter: the text is an error
    call NOW_NS COST DELAY_MAX_NS KEY=VALUE...      ask for COST, to start within DELAY_MAX_NS; then what it answers
    skipped FILE STEPS REASON                       run by the C runner (weir-vectors), whose adapters reach further

Keys: allowed, never (0 or 1); remaining; retry_ns, delay_ns, reset_ns, each LEAST..MOST (a peer that counts in other
units has a tolerance).  Times begin at 0, but those of windows and logs a whole number of every window later.
"""

from __future__ import annotations

import collections
import fractions
import json
import pathlib
import sys
from typing import Any

START_NS = 10**5 * 86400 * 10**9
FOREVER = 2**64 - 1
KEYS = {"retry_after_ns": "retry_ns", "wait_ns": "delay_ns", "reset_in_ns": "reset_ns"}
Case = dict[str, Any]


class Elsewhere(Exception):
    """No text says it."""


def gcra(interval_ns: int, burst: int) -> str:
    return f"1/{interval_ns}ns burst={burst} algorithm=gcra"


def per_second(rate: Any) -> str:
    if rate in ("inf", "nan", "-inf") or rate <= 0:
        raise Elsewhere("a rate that is not above 0, or infinite")
    simple = fractions.Fraction(rate).limit_denominator(1000)
    if float(simple) != rate:
        raise Elsewhere("a rate that is no simple fraction")
    return f"{simple.numerator}/{simple.denominator}s"


def nginx(of: Case) -> str:
    delay = " nodelay" if of["nodelay"] else f" delay={of['delay_requests']}" if of["delay_requests"] else ""
    return f"{of['rate']} burst={of['burst']}{delay}"


def cycle(of: Case) -> str:
    if of["cycle_zero_starts_ns"] or of["initial_permissions"] != of["limit_per_period"]:
        raise Elsewhere("a cycle that begins elsewhere")
    return f"{of['limit_per_period']}/{of['period_ns']}ns algorithm=cycle"


def rolling(of: Case) -> str:
    if of["min_gap_ns"] > of["interval_ns"]:
        raise Elsewhere("a gap that the peer forgets")
    gap = f" gap={of['min_gap_ns']}ns" if of["min_gap_ns"] else ""
    return f"{of['max_in_interval']}/{of['interval_ns']}ns algorithm=sliding-log count-refused{gap}"


def cell(of: Case) -> str:
    if of["count"] <= 0 or of["period_s"] <= 0:
        return "0/s"
    return gcra(int(of["period_s"] * 10**9 / of["count"]), of["max_burst"] + 1)


def window(of: Case, options: str) -> str:
    if of["limit"] <= 0:
        raise Elsewhere("a rate that is not above 0, or infinite")
    return f"{of['limit']}/{of['window_ns']}ns algorithm={options}"


# file: (weir's text, the answers that weir gives in the same words, the peer's tick in ns)
FILES = {
    "governor_gcra": (
        lambda of: gcra(of["emission_interval_ns"], of["burst"]),
        {"allowed", "never", "remaining", "retry_after_ns"},
        1,
    ),
    "throttled_gcra": (
        lambda of: gcra(of["emission_interval_ns"], of["max_burst"] + 1),
        {"allowed", "never", "retry_after_ns"},
        1,
    ),
    "redis_cell": (cell, {"allowed", "never", "retry_after_ns"}, 1),
    "go_x_time_rate": (
        lambda of: f"{per_second(of['rate_per_s'])} burst={of['burst']} algorithm=gcra",
        {"allowed", "wait_ns"},
        1,
    ),
    "fixed_window_aligned": (
        lambda of: window(of, "fixed-window align=clock count-refused"), {"allowed", "remaining"}, 1
    ),
    "fixed_window_limits": (
        lambda of: window(of, "fixed-window align=first count-refused"),
        {"allowed", "remaining", "reset_in_ns"},
        1,
    ),
    "moving_window_limits": (lambda of: window(of, "sliding-log edge=closed"), {"allowed"}, 1),
    "sliding_window_counter": (lambda of: window(of, "sliding-window"), {"allowed", "never", "remaining"}, 1),
    "sliding_log_accepted_only": (
        lambda of: f"{of['max_in_period']}/{of['period_ns']}ns algorithm=sliding-log edge=closed",
        {"allowed"},
        100,
    ),
    "rolling_log": (rolling, {"allowed"}, 1000),
    "nginx_limit_req": (nginx, {"allowed", "wait_ns"}, 1),
    "resilience4j_atomic": (cycle, {"allowed", "wait_ns"}, 1),
    "guava_bursty": (
        lambda of: f"{per_second(of['rate_per_s'])} burst={int(of['max_burst_s'] * 1e6)}us algorithm=bursty",
        {"allowed", "wait_ns"},
        1,
    ),
    "guava_warmup": (
        lambda of: f"{per_second(of['rate_per_s'])} warmup={of['warmup_ns']}ns cold={of['cold_factor']}"
        " algorithm=warmup",
        {"allowed", "wait_ns"},
        1,
    ),
}


def check(file: str, case: Case) -> None:
    """Raises Elsewhere, with the reason, where a text and its calls do not say all of a case."""
    times = [step["t_ns"] for step in case["steps"]]
    if file not in FILES:
        raise Elsewhere("a limiter that no text says")
    if case.get("peer_quirk"):
        raise Elsewhere("a quirk of the peer")
    if case.get("clock_goes_back") or times != sorted(times) or times[0] < 0:
        raise Elsewhere("a clock that goes back, or is below 0")
    if START_NS + times[-1] > FOREVER or any(step.get("n", 1) not in range(2**64) for step in case["steps"]):
        raise Elsewhere("a number over 64 bits, or below 0")
    if case["name"] == "ten billion per second: ten tokens a nanosecond":
        raise Elsewhere("a wait of a part of a ns, which the peer takes for none")
    others = {step["op"] for step in case["steps"]} - {"try", "reserve", "acquire", "create", "peek"}
    if others:
        raise Elsewhere(f"other calls: {', '.join(sorted(others))}")


def delay_max(file: str, step: Case) -> int:
    if step["op"] in ("acquire", "reserve") or file == "nginx_limit_req":
        return FOREVER
    longest = step.get("max_wait_ns", 0)
    return min(max(longest, 0), FOREVER) if isinstance(longest, int) else FOREVER


def answers(case: Case, step: Case, keys: set[str]) -> list[str]:
    said = []
    for key, value in step["expect"].items():
        if key not in keys or key == "wait_ns" and not step["expect"].get("allowed", True):
            continue
        if key.endswith("_ns"):
            near = case["tolerance_ns"]
            said.append(f"{KEYS[key]}={max(value - near, 0)}..{min(value + near, FOREVER)}")
        else:
            said.append(f"{key}={int(value)}")
    return said


def print_case(file: str, case: Case) -> None:
    to_text, keys, tick = FILES[file]
    text = to_text(case["limiter"])
    if all("error" in step["expect"] for step in case["steps"]):
        print("refused", text, f"{file}: {case['name']}", sep="\t")
        return
    print("limit", text, f"{file}: {case['name']}", sep="\t")
    start_ns = START_NS if "window" in text or "log" in text else 0
    for step in case["steps"]:
        if step["op"] in ("try", "reserve", "acquire"):  # a peek of a peer's forgets, or has another edge than its take
            now_ns = start_ns + step["t_ns"] // tick * tick
            print("call", now_ns, step.get("n", 1), delay_max(file, step), *answers(case, step, keys), sep="\t")


def main() -> None:
    skipped: collections.Counter[tuple[str, str]] = collections.Counter()
    for path in sorted(pathlib.Path(sys.argv[1]).glob("*.json")):
        vectors = json.loads(path.read_text())
        for case in vectors["cases"]:
            try:
                if vectors.get("peer_quirk"):
                    raise Elsewhere("a quirk of the peer")
                check(path.stem, case)
                print_case(path.stem, case)
            except Elsewhere as why:
                skipped[path.stem, str(why)] += len(case["steps"])
    for (file, why), steps in sorted(skipped.items()):
        print("skipped", file, steps, why, sep="\t")


if __name__ == "__main__":
    main()
