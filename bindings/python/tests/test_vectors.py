# SPDX-License-Identifier: MIT
"""The shared vectors (test/vectors/peers) through the binding: what a limit's text leads to, at the vectors' times.

Peers whose limiter is no text, or whose answers are counted in other units, are judged by the C runner; what is not
run here is counted by name, and printed by `pytest -rP`.
"""

from __future__ import annotations

import collections
import fractions
import json
import os
import pathlib
from collections.abc import Callable
from typing import Any

import pytest

import libweir

PEERS = pathlib.Path(os.environ["WEIR_TREE"]) / "test/vectors/peers"
Case = dict[str, Any]
START_NS = 10**5 * 86400 * 10**9  # a whole number of every window; cycles begin when the limit is made, at 0


def per_second(rate: Any) -> str:
    if rate in ("inf", "nan", "-inf") or rate <= 0:
        raise NotImplementedError("a rate that is not above 0, or infinite")
    simple = fractions.Fraction(rate).limit_denominator(1000)
    if float(simple) != rate:
        raise NotImplementedError("a rate that is no simple fraction")
    return f"{simple.numerator}/{simple.denominator}s"


def nginx(of: Case) -> str:
    delay = " nodelay" if of["nodelay"] else f" delay={of['delay_requests']}" if of["delay_requests"] else ""
    return f"{of['rate']} burst={of['burst']}{delay}"


def cycle(of: Case) -> str:
    if of["cycle_zero_starts_ns"] or of["initial_permissions"] != of["limit_per_period"]:
        raise NotImplementedError("a cycle that begins elsewhere")
    return f"{of['limit_per_period']}/{of['period_ns']}ns algorithm=cycle"


def rolling(of: Case) -> str:
    if of["min_gap_ns"] > of["interval_ns"]:
        raise NotImplementedError("a gap that the peer forgets")
    gap = f" gap={of['min_gap_ns']}ns" if of["min_gap_ns"] else ""
    return f"{of['max_in_interval']}/{of['interval_ns']}ns algorithm=sliding-log count-refused{gap}"


def cell(of: Case) -> str:
    if of["count"] <= 0 or of["period_s"] <= 0:
        return "0/s"
    return f"1/{int(of['period_s'] * 10**9 / of['count'])}ns burst={of['max_burst'] + 1} algorithm=gcra"


# file: (its limiter as weir's text, the keys to compare, the peer's tick in ns)
FILES: dict[str, tuple[Callable[[Case], str], set[str], int]] = {
    "governor_gcra": (
        lambda of: f"1/{of['emission_interval_ns']}ns burst={of['burst']} algorithm=gcra",
        {"allowed", "never", "remaining", "retry_after_ns"},
        1,
    ),
    "throttled_gcra": (
        lambda of: f"1/{of['emission_interval_ns']}ns burst={of['max_burst'] + 1} algorithm=gcra",
        {"allowed", "never", "retry_after_ns"},
        1,
    ),
    "redis_cell": (cell, {"allowed", "never", "retry_after_ns"}, 1),
    "fixed_window_limits": (
        lambda of: f"{of['limit']}/{of['window_ns']}ns algorithm=fixed-window align=first count-refused",
        {"allowed", "remaining", "reset_in_ns"},
        1,
    ),
    "moving_window_limits": (
        lambda of: f"{of['limit']}/{of['window_ns']}ns algorithm=sliding-log edge=closed",
        {"allowed"},
        1,
    ),
    "sliding_log_accepted_only": (
        lambda of: f"{of['max_in_period']}/{of['period_ns']}ns algorithm=sliding-log edge=closed",
        {"allowed"},
        100,
    ),
    "sliding_window_counter": (
        lambda of: f"{of['limit']}/{of['window_ns']}ns algorithm=sliding-window",
        {"allowed", "remaining", "never"},
        1,
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
RESERVES = {"nginx_limit_req", "resilience4j_atomic", "guava_bursty", "guava_warmup"}
SKIPPED: collections.Counter[str] = collections.Counter()


def reason_to_skip(case: Case) -> str | None:
    times = [step["t_ns"] for step in case["steps"]]
    if case.get("peer_quirk"):
        return "quirks of the peer"
    if case.get("clock_goes_back") or times != sorted(times) or times[0] < 0:
        return "the clock goes back, or is below 0"
    unknown = {step["op"] for step in case["steps"]} - {"try", "acquire", "create", "peek"}
    return f"other calls: {', '.join(sorted(unknown))}" if unknown else None


def answer(file: str, limiter: libweir.Limiter, step: Case) -> libweir.Decision:
    cost, longest_ns = step.get("n", 1), step.get("max_wait_ns")
    if step["op"] == "peek":
        return limiter.peek(cost)
    if step["op"] == "acquire" or (file == "nginx_limit_req"):
        return limiter.reserve(cost)
    if file in RESERVES and longest_ns:
        return limiter.reserve(cost, delay_max_ns=min(max(longest_ns, 0), 2**64 - 1))
    return limiter.take(cost)


def compare(case: Case, step: Case, decision: libweir.Decision, keys: set[str]) -> int:
    got = {
        "allowed": decision.allowed,
        "never": decision.verdict == "never",
        "remaining": decision.remaining,
        "retry_after_ns": decision.retry_ns,
        "wait_ns": decision.delay_ns,
        "reset_in_ns": decision.reset_ns,
    }
    compared = 0
    for key, expected in step["expect"].items():
        if key not in keys or step["op"] == "peek":  # the peers' peeks forget, or use another edge than their takes
            continue
        tolerance = case["tolerance_ns"] if key.endswith("_ns") else 0
        assert abs(got[key] - expected) <= tolerance, (case["name"], step, key, got[key])
        compared += 1
    return compared


def run(file: str, case: Case, text: str, keys: set[str], tick: int) -> int:
    try:
        limiter = libweir.Limiter(text, clock="manual")
    except libweir.LimitError:
        assert all("error" in step["expect"] for step in case["steps"]), (case["name"], text)
        return len(case["steps"])
    compared, stores_idle_time = 0, file.startswith("guava")
    for step in case["steps"]:
        limiter.set_time((0 if stores_idle_time else START_NS) + step["t_ns"] // tick * tick)
        assert "error" not in step["expect"], (case["name"], text)
        compared += 1 if compare(case, step, answer(file, limiter, step), keys) else 0
    return compared


@pytest.mark.parametrize("file", sorted(FILES))
def test_file(file: str) -> None:
    to_text, keys, tick = FILES[file]
    steps = 0
    for case in json.loads((PEERS / f"{file}.json").read_text())["cases"]:
        reason = reason_to_skip(case)
        try:
            text = to_text(case["limiter"])
        except NotImplementedError as not_here:
            reason = reason or str(not_here)
        if reason:
            SKIPPED[f"{file}: {reason}"] += len(case["steps"])
        else:
            steps += run(file, case, text, keys, tick)
    skipped = {reason: count for reason, count in SKIPPED.items() if reason.startswith(file)}
    print(f"{file}: {steps} steps, 0 mismatches; skipped {skipped}")
    assert steps > 0


def test_other_files_are_known() -> None:
    """A new file is run, or named here."""
    elsewhere = {
        "engineblock_core", "fixed_window_aligned", "fixed_window_first_call", "go_x_time_rate", "gubernator",
        "khenidak_ring", "nosqlbench_simrate", "nosqlbench_tokenpool", "resilience4j_semaphore", "rolling_log_old",
    }  # fmt: skip
    assert {path.stem for path in PEERS.glob("*.json")} == elsewhere | set(FILES)
