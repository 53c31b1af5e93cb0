# SPDX-License-Identifier: MIT
"""Limiter, Table, Decision: what is Python about them.  What they decide is the vectors' business."""

from __future__ import annotations

import concurrent.futures
import itertools
import math
import pathlib
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

import libweir


def manual(limits: str) -> libweir.Limiter:
    return libweir.Limiter(limits, clock="manual")


def test_take_and_refuse() -> None:
    limiter = manual("10/s burst=2")
    assert limiter.take().allowed and limiter.take(cost=1)
    refused = limiter.take()
    assert not refused.allowed and not refused
    assert (refused.verdict, refused.retry_ns, refused.retry, refused.reset) == ("deny", 10**8, 0.1, 0.2)
    assert repr(refused) == "<Decision deny retry=0.1 remaining=0>"
    limiter.set_time(10**8)
    assert limiter.take().start_ns == 10**8


def test_never() -> None:
    never = manual("10/s").take(11)
    assert (never.verdict, never.retry, never.retry_ns, never.allowed) == ("never", math.inf, 2**64 - 1, False)


def test_reserve_settle_cancel_charge_peek() -> None:
    limiter = manual("1000 tokens/min")
    assert limiter.plan.units == ("tokens",)
    call = limiter.take(800)
    limiter.settle(call, actual=300)
    assert limiter.peek(0).remaining == 700 and call.charged == 0
    limiter.cancel(limiter.take(100))
    assert limiter.peek().remaining == 699
    assert limiter.reserve(1000, 1).verdict == "deny"
    ahead = limiter.reserve(1000)
    assert (ahead.allowed, ahead.delay) == (True, 18.0)
    limiter.cancel(ahead)
    assert limiter.charge(900).allowed and limiter.take().verdict == "deny"
    assert limiter.take_some(5).charged == 0


def test_set_limit_and_stop() -> None:
    limiter = manual("10/s")
    limiter.set_limit("20/s", carry="scale")
    assert limiter.plan.text.startswith("20/s") and limiter.stats()["calls"] == 0
    limiter.set_limit("pause")
    assert limiter.take().retry == math.inf
    limiter.stop()
    assert limiter.take().verdict == "stopped"
    with pytest.raises(libweir.Refused, match="stopped"):
        limiter.wait()


def test_errors_say_what_weir_says() -> None:
    with pytest.raises(libweir.LimitError, match="M is a million; a minute is min; for example 10/min") as error:
        libweir.Limiter("10/M")
    assert error.value.column == 4 and isinstance(error.value, ValueError)
    with pytest.raises(libweir.TableError, match="no such file or directory"):
        libweir.Table("/nowhere/at/all")
    with pytest.raises(libweir.LimitError, match="only gcra"):
        libweir.Table(keys=100).take("5/s algorithm=sliding-log", "key")
    with pytest.raises(ValueError, match="clock is not"):
        libweir.Limiter("10/s", clock="sundial")  # type: ignore[arg-type]


@pytest.mark.parametrize("arguments", [("x",), (-1,), (2**64,), (1, 2), (1.5,)])
def test_bad_arguments(arguments: Any) -> None:
    with pytest.raises((TypeError, OverflowError)):
        libweir.Limiter("10/s").take(*arguments)


def test_a_nul_cuts_nothing(tmp_path: pathlib.Path) -> None:
    for call in (
        lambda: libweir.Limiter("10/s\0"),
        lambda: libweir.Table(keys=100).take("10/s\0", "key"),
        lambda: libweir.Table(f"{tmp_path}/table\0"),
    ):
        with pytest.raises(ValueError, match="NUL|null"):
            call()
    table = libweir.Table(keys=100)
    assert table.take("1/h", "a\0b") and table.take("1/h", "a\0c") and not table.take("1/h", b"a\0b")


def test_what_is_wrong_is_named() -> None:
    table: Any = libweir.Table(keys=100)
    limiter: Any = libweir.Limiter("10/s")
    pace: Any = libweir.pace
    assert repr(limiter) == "<Limiter 10/s burst=10 algorithm=gcra>"
    assert repr(limiter.plan) == "<Plan 10/s burst=10 algorithm=gcra>"
    assert repr(table.limiter("10/s", "a")) == "<Keyed 10/s 'a'>"
    for call, what in (
        (lambda: limiter.take("1"), r"cost: expected an int, not <class 'str'>"),
        (lambda: limiter.take(-1), r"cost: expected 0 to 2\*\*64 - 1"),
        (lambda: table.take(b"10/s", "a"), 'limit: expected a str such as "10/s" or a Plan'),
        (lambda: table.take("10/s", 42), "key: expected a str or bytes, not <class 'int'>"),
        (lambda: table.take("1/s algorithm=sliding-log", "a"), "open the table with plan for this one"),
        (lambda: libweir.Table(keys=10**15), "^keys: expected up to"),
        (lambda: libweir.Table("/tmp/a", sharing="private"), '^path: a "private" table has no file'),
        (lambda: table.limiter("10/M", "a"), "M is a million"),
        (lambda: pace(range(3), 100), "limit: expected a str"),
    ):
        with pytest.raises((TypeError, ValueError, OverflowError), match=what):
            call()
    empty = manual("1/h")
    empty.take()
    with pytest.raises(libweir.Refused, match=r"passes in 3600 s"):
        empty.wait(timeout=0)


def test_a_decision_is_settled_by_its_owner() -> None:
    """Else 3 permits of one limiter would become 3 of another."""
    limiter, other, table = libweir.Limiter("10/d"), libweir.Limiter("10/d"), libweir.Table(keys=100)
    call = limiter.take(3)
    wrong: tuple[Callable[[], None], ...] = (
        lambda: other.settle(call, 0),
        lambda: other.cancel(call),
        lambda: table.settle("10/d", "key", call, 0),
        lambda: limiter.settle(table.take("10/d", "key", 3), 0),
    )
    for settle in wrong:
        with pytest.raises(ValueError, match="another"):
            settle()
    limiter.cancel(call)
    assert limiter.peek(0).remaining == 10


def test_bad_names() -> None:
    table: Any = libweir.Table(keys=100)
    for call in (
        lambda: table.take("10/s"),
        lambda: table.take("10/s", "a", price=1),
        lambda: table.take("10/s", "a", limit="10/s"),
        lambda: table.take("10/s", 5),
        lambda: table.take(5, "a"),
        lambda: libweir.Decision(),
        lambda: libweir.Limiter("10/s").cancel(5),  # type: ignore[arg-type]
    ):
        with pytest.raises(TypeError):
            call()


def test_table(tmp_path: pathlib.Path) -> None:
    table = libweir.Table(tmp_path / "table", keys=1000, top=8)
    same = libweir.Table(path=tmp_path / "table")
    assert table.take("3/h", "user:42").remaining == 2
    assert same.take("3/h", b"user:42").remaining == 1
    call = same.take(limit="3/h", key="user:42", cost=1)
    assert table.take(libweir.Plan("3/h"), "user:42").verdict == "deny"
    assert table.take("3/h", "user:43").allowed and table.take("3/h", "").allowed
    long = "k" * 10**6
    assert table.take("1/h", long) and not table.take("1/h", long) and table.take("1/h", long + "k")
    assert table.take("3/h", "huge", 2**64 - 1).verdict == "never" and table.peek("3/h", "huge", 0).remaining == 3
    same.cancel("3/h", "user:42", call)
    assert table.peek("3/h", "user:42").allowed
    table.forget("3/h", "user:42")
    assert table.peek("3/h", "user:42", 0).remaining == 3
    assert table.top()[0][0] == b"user:42"
    table.grow(5000)
    assert table.stats()["keys_max"] >= 5000


def test_table_at_a_time() -> None:
    table = libweir.Table(keys=100)
    now = libweir.now_ns()
    allowed = [table.take_at("2/s burst=1", "key", now + n * 10**8).allowed for n in (0, 4, 5, 6)]
    assert allowed == [True, False, True, False]


def test_wide_slots(tmp_path: pathlib.Path) -> None:
    table = libweir.Table(tmp_path / "logs", 100, plan="5/min algorithm=sliding-log")
    assert [table.take("5/min algorithm=sliding-log", "key").allowed for _ in range(6)] == [True] * 5 + [False]
    other = libweir.Table(keys=100, plan="5/min algorithm=fixed-window", sharing="private")
    with pytest.raises(libweir.Refused):
        other.wait("5/min algorithm=fixed-window", "key", cost=5, timeout=1) and other.wait(
            "5/min algorithm=fixed-window", "key", timeout=1
        )


def test_plan() -> None:
    plan = libweir.Plan("10/s burst=20; 1000 tokens/h")
    assert plan.units == ("requests", "tokens") and "at once" in plan.explain()
    assert libweir.Plan(plan.text).text == plan.text


def test_wait_is_never_early() -> None:
    limiter = libweir.Limiter("200/s burst=1")
    for _ in range(20):
        decision = limiter.wait()
        assert time.monotonic_ns() >= decision.start_ns


def test_wait_refuses_at_once() -> None:
    limiter = libweir.Limiter("1/h")
    limiter.wait()
    with pytest.raises(libweir.Refused, match="too late") as refused:
        limiter.wait(timeout=10)
    assert refused.value.retry > 10
    with pytest.raises(libweir.Refused, match="never pass"):
        limiter.wait(2)


def test_wait_lets_others_run_and_signals_in() -> None:
    limiter = libweir.Limiter("1/h")
    limiter.take()

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGUSR1, interrupt)
    main = threading.get_ident()
    timer = threading.Timer(0.1, lambda: signal.pthread_kill(main, signal.SIGUSR1))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            limiter.wait()
    finally:
        timer.join()
        signal.signal(signal.SIGUSR1, before)
    assert limiter.reserve().delay <= 3600, "the interrupted wait has given its permit back"


def test_window_is_tried_again() -> None:
    limiter = libweir.Limiter("1/200ms algorithm=fixed-window")
    first = limiter.wait()
    assert limiter.wait(timeout=600).start_ns - first.start_ns >= 200 * 10**6


def test_decorator_and_context() -> None:
    limiter = libweir.Limiter("2/h")

    @limiter
    def call(number: int, /, *, more: int = 0) -> int:
        """Of mine."""
        return number + more

    assert call(1, more=2) == 3 and call.__doc__ == "Of mine."
    with limiter as decision:
        assert decision.allowed
    assert not limiter.take()


def test_pace() -> None:
    begun = time.monotonic()
    assert list(libweir.pace(range(11), "100/s burst=1")) == list(range(11))
    assert time.monotonic() - begun >= 0.1


def test_due_and_latency() -> None:
    limiter = libweir.Limiter("1000/s", use="pace", clock="manual")
    limiter.set_time(10**9)
    limiter.take()
    limiter.set_time(10**9 + 5 * 10**6)
    late = limiter.take(cost=3)
    assert late.start_ns - late.due_ns == 4 * 10**6 == 5 * 10**6 - 10**6
    assert [limiter.due_ns(late, nth) - late.due_ns for nth in (1, 2, 3)] == [0, 10**6, 2 * 10**6]
    assert limiter.due_ns(late) == late.due_ns
    limiter.set_time(10**9 + 7 * 10**6)
    limiter.done(late)
    limiter.done_at(due_ns=limiter.due_ns(late, nth=3), start_ns=late.start_ns, now_ns=10**9 + 8 * 10**6)
    latency = limiter.latency()
    assert list(latency) == ["response", "service"]
    assert (latency["response"]["count"], latency["response"]["max_ns"]) == (2, 6 * 10**6)
    assert (latency["service"]["min_ns"], latency["service"]["total_ns"]) == (2 * 10**6, 5 * 10**6)
    buckets = limiter.latency_buckets("service")
    assert [count for _, count in buckets] == [1, 1] and 2 * 10**6 <= buckets[0][0] < 2 * 10**6 * 1.001
    assert limiter.latency_buckets()[-1][1] == 1
    with pytest.raises(ValueError, match="measure is not"):
        limiter.latency_buckets("wait")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="another"):
        limiter.done(libweir.Limiter("1/s").take())


@pytest.mark.parametrize(
    ("limits", "starts"),
    [
        ("100/s..1000/s for 30s", [0, 9985045, 19940358, 29866202]),
        ("1000/s arrivals=poisson seed=7", [0, 645605, 1842473, 1903288]),
    ],
)
def test_profiles_and_arrivals(limits: str, starts: list[int]) -> None:
    limiter = libweir.Limiter(limits, use="pace", clock="manual")
    assert [limiter.reserve().start_ns for _ in starts] == starts


def test_pace_ends_with_a_profile() -> None:
    assert list(libweir.pace(itertools.count(), "1000/s for 5ms then pause 5ms then 1000/s for 5ms")) == list(range(10))
    limiter = libweir.Limiter("1000/s for 5ms", use="pace")
    assert len(list(libweir.pace(itertools.count(), limiter))) == 5 == limiter.latency()["response"]["count"]
    with pytest.raises(libweir.Refused, match="its profile has ended"):
        limiter.wait()
    limiter.set_limit("pause")
    with pytest.raises(libweir.Refused, match="the limiter is paused"):
        list(libweir.pace(range(3), limiter))
    assert limiter.paused


def test_operations_and_items_are_recorded() -> None:
    limiter = libweir.Limiter("1000/s", use="pace")
    with limiter.operation() as decision:
        assert decision.allowed and libweir.now_ns() >= decision.start_ns
        time.sleep(0.01)
    with pytest.raises(OSError), limiter.operation():
        raise OSError
    assert list(libweir.pace(range(3), limiter)) == [0, 1, 2]
    latency = limiter.latency()
    assert latency["response"]["count"] == 5 and latency["service"]["max_ns"] >= 10**7
    limiter.stop()
    with pytest.raises(libweir.Refused), limiter.operation():
        pass
    assert limiter.latency()["response"]["count"] == 5, "what was refused has not run"


def test_keyed(tmp_path: pathlib.Path) -> None:
    table = libweir.Table(tmp_path / "table", keys=100)
    keyed = table.limiter("3/h", "key")
    with keyed:
        pass
    call = keyed.take()
    keyed.settle(call, 0)
    keyed.cancel(keyed.reserve())
    assert table.peek("3/h", "key", 0).remaining == 2 == keyed.peek(0).remaining
    keyed.charge(5)
    assert not keyed.take()


def test_threads_take_exactly_n() -> None:
    limiter = libweir.Limiter("1000/d")
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(lambda _: sum(limiter.take().allowed for _ in range(500)), range(8))) == 1000


@pytest.mark.parametrize(
    ("limits", "cost", "expected"),
    [
        ("60/min", 1, {"RateLimit-Policy": '"default";q=60;w=60', "RateLimit": '"default";r=59;t=1'}),
        ("10/s burst=20", 0, {"RateLimit-Policy": '"default";q=10;w=1;weir-burst=20', "RateLimit": '"default";r=20'}),
        (
            "100k tokens/5h burst=1h",
            20000,
            {
                "RateLimit-Policy": '"default";q=100000;w=18000;qu="tokens"',
                "RateLimit": '"default";r=0;t=1',
            },
        ),
        (
            "5/s; 60/min",
            1,
            {"RateLimit-Policy": '"default-1";q=5;w=1', "RateLimit": '"default-1";r=4;t=1'},
        ),
        ("3/500ms", 1, {"RateLimit-Policy": '"default";q=6;w=1;weir-burst=3', "RateLimit": '"default";r=2;t=1'}),
        ("unlimited", 1, {}),
        ("none", 1, {}),
    ],
)
def test_headers(limits: str, cost: int, expected: dict[str, str]) -> None:
    assert libweir.headers(manual(limits).take(cost)) == expected


def test_headers_of_a_refusal() -> None:
    limiter = manual("2/h burst=2")
    limiter.take(2)
    assert libweir.headers(limiter.take())["Retry-After"] == "1800"
    assert libweir.headers(limiter.take())["RateLimit"] == '"default";r=0;t=1800'
    assert "Retry-After" not in libweir.headers(limiter.take(3))
