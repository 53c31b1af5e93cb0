# SPDX-License-Identifier: MIT
"""What other limiters answered, call by call (test/vectors/calls.py writes the lines of WEIR_CALLS)."""

from __future__ import annotations

import os
import pathlib

import pytest

import libweir


def answer(decision: libweir.Decision, key: str) -> int:
    if key == "never":
        return int(decision.verdict == "never")
    return int(getattr(decision, key))


def check(limiter: libweir.Limiter, call: list[str], where: str) -> None:
    now_ns, cost, delay_max_ns = map(int, call[:3])
    limiter.set_time(now_ns)
    decision = limiter.reserve(cost, delay_max_ns=delay_max_ns) if delay_max_ns else limiter.take(cost)
    for said in call[3:]:
        key, _, expected = said.partition("=")
        least, _, most = expected.partition("..")
        assert int(least) <= answer(decision, key) <= int(most or least), (where, call, said, answer(decision, key))


def test_vectors() -> None:
    steps, limiter, name = 0, libweir.Limiter("1/s"), ""
    for line in pathlib.Path(os.environ["WEIR_CALLS"]).read_text().splitlines():
        kind, *rest = line.split("\t")
        if kind == "skipped":
            print(line)
        elif kind == "refused":
            with pytest.raises(libweir.LimitError):
                libweir.Limiter(rest[0])
        elif kind == "limit":
            limiter, name = libweir.Limiter(rest[0], clock="manual"), rest[1]
        else:
            check(limiter, rest, name)
            steps += 1
    print(f"{steps} steps, 0 mismatches")
    assert steps > 2500
