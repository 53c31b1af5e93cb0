# SPDX-License-Identifier: MIT
"""Holding slots of a concurrent limit: until the end of a block, in the order of the calls; and costs by unit."""

from __future__ import annotations

import asyncio
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
from typing import Any

import pytest
import trio

import libweir

HOUR = "2 concurrent lease=1h"


def two(limits: str = HOUR) -> list[libweir.Waits]:
    table = libweir.Table(keys=100, plan=limits, sharing="private")
    return [libweir.Limiter(limits), table.limiter(limits, "a")]


def test_a_block_holds_until_its_end_however_that_comes() -> None:
    for limiter in two():
        with limiter.hold() as first, limiter.hold(timeout=0) as second:
            assert first.id != second.id and first.renew() and not first.lost
            with pytest.raises(libweir.Refused, match=r"passes in 3600 s, or 3599|passes in 3") as refused:
                with limiter.hold(timeout=0):
                    raise AssertionError
            assert 3590 < refused.value.retry <= 3600
        with pytest.raises(KeyError):
            with limiter.hold(2):
                raise KeyError
        with limiter.hold(2) as both:
            assert both.release() and not both.release() and not both.renew() and not both.lost
            with pytest.raises(RuntimeError, match="one block"):
                both.__enter__()
        assert limiter.reserve(2).id


def test_a_stale_id_does_nothing() -> None:
    limiter = libweir.Limiter("1 concurrent lease=5s", clock="manual")
    limiter.set_time(1)
    with limiter.hold() as late:
        limiter.set_time(5 * 10**9 + 1)
        with limiter.hold() as next_one:
            assert not late.renew() and late.lost and not limiter.release(late.id) and not limiter.renew(late.decision)
            assert limiter.renew(next_one.id) and limiter.take().verdict == "deny"
    assert late.lost and not next_one.lost
    with limiter.hold() as forgotten:
        limiter.set_time(20 * 10**9)
    assert forgotten.lost and limiter.take().allowed


def test_only_a_concurrent_limit_is_held() -> None:
    for limiter in two("10/s"):
        with pytest.raises(libweir.LimitError, match=r'no limit of "10/s.* is concurrent; for example 20 concurrent'):
            limiter.hold()
        assert not limiter.reserve().id
    for limiter in two():
        with pytest.raises(libweir.LimitError, match="with limiter.hold"):
            with limiter:
                raise AssertionError
    assert libweir.Plan("5/s; 2 concurrent lease=30s").lease == 30


def test_a_list_is_all_or_nothing() -> None:
    for limiter in two("1 concurrent lease=1h; 2/h"):
        for _ in range(2):
            with limiter.hold(timeout=0):
                assert limiter.reserve(1, 0).verdict == "deny"
        with pytest.raises(libweir.Refused):
            with limiter.hold(timeout=0):
                raise AssertionError
        assert limiter.reserve(0, 0).allowed


@pytest.mark.parametrize("which", [0, 1])
def test_threads_wait_in_order(which: int) -> None:
    """Each is woken by the release before it: the lease is an hour."""
    limiter = two("1 concurrent lease=1h")[which]
    order: list[int] = []
    waiting = []
    with limiter.hold():
        for number in range(5):
            before = len(limiter._waiting)

            def work(number: int = number) -> None:
                with limiter.hold():
                    order.append(number)

            waiting.append(threading.Thread(target=work))
            waiting[-1].start()
            while len(limiter._waiting) == before:
                time.sleep(0.001)
        assert not order
    for thread in waiting:
        thread.join(30)
    assert order == list(range(5)) and not limiter._waiting


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("run", [asyncio.run, lambda coroutine: trio.run(lambda: coroutine)], ids=["asyncio", "trio"])
def test_tasks_wait_in_order(which: int, run: Any) -> None:
    limiter = two("1 concurrent lease=1h")[which]
    order: list[int] = []
    most = running = 0

    async def one(number: int) -> None:
        nonlocal most, running
        async with limiter.hold():
            running += 1
            most = max(most, running)
            await (trio.sleep(0.001) if run is not asyncio.run else asyncio.sleep(0.001))
            order.append(number)
            running -= 1

    async def main() -> None:
        if run is asyncio.run:
            await asyncio.gather(*(one(number) for number in range(20)))
            return
        async with trio.open_nursery() as nursery:
            for number in range(20):
                nursery.start_soon(one, number)

    run(main())
    assert len(order) == 20 and most == 1 and not limiter._waiting
    assert run is not asyncio.run or order == list(range(20))


@pytest.mark.parametrize("which", [0, 1])
def test_who_wants_less_does_not_overtake_and_all_that_is_free_is_taken(which: int) -> None:
    limiter = two()[which]

    inside = 0

    async def keep(cost: int, together: int) -> None:
        nonlocal inside
        async with limiter.hold(cost):
            inside += 1
            begun = time.monotonic()
            while inside < together:
                assert time.monotonic() - begun < 30, "the other one is not let in"
                await asyncio.sleep(0.001)

    async def main() -> None:
        async with limiter.hold():
            large = asyncio.ensure_future(keep(2, 1))
            await asyncio.sleep(0)
            with pytest.raises(libweir.Refused):
                await limiter.wait_async(timeout=0.05)
        await large
        async with limiter.hold(2):
            small = [asyncio.ensure_future(keep(1, 3)) for _ in range(2)]
            await asyncio.sleep(0.01)
        await asyncio.gather(*small)

    asyncio.run(main())


def test_who_gives_up_leaves_the_line() -> None:
    limiter = libweir.Limiter("1 concurrent lease=1h")

    async def main() -> None:
        async with limiter.hold():
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(limiter.wait_async(), 0.02)
            with pytest.raises(libweir.Refused):
                await limiter.wait_async(timeout=0.02)
            assert not limiter._waiting
            waits = asyncio.ensure_future(limiter.wait_async())
            await asyncio.sleep(0.01)
        limiter.release(await waits)

    asyncio.run(main())
    assert limiter.take().allowed
    limiter.set_limit("2 concurrent lease=1h")
    assert limiter.take().allowed


def test_a_signal_ends_a_wait() -> None:
    limiter = libweir.Limiter("1 concurrent lease=1h")
    with limiter.hold():
        threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            limiter.wait()
    assert limiter.take().allowed and not limiter._waiting


def test_a_lease_that_is_over_lets_the_next_one_in() -> None:
    limiter = libweir.Limiter("1 concurrent lease=50ms")
    with limiter.hold() as late, limiter.hold(timeout=30):
        assert not late.renew() and late.lost


def test_renew_keeps_it() -> None:
    limiter = libweir.Limiter("1 concurrent lease=150ms")
    with limiter.hold(renew=True) as hold:
        with pytest.raises(libweir.Refused):
            limiter.wait(timeout=0.5)
        assert not hold.lost
    with limiter.hold(timeout=0):
        pass
    deadline = time.monotonic() + 30
    while any(thread.name == "libweir-renew" for thread in threading.enumerate()):
        assert time.monotonic() < deadline, "the thread ends with the block"


def test_functions_and_operations_hold() -> None:
    limiter = libweir.Limiter("1 concurrent lease=1h", use="pace")

    @limiter
    def call() -> str:
        return limiter.take().verdict

    @limiter
    async def call_async() -> str:
        return limiter.take().verdict

    assert call() == "deny" and asyncio.run(call_async()) == "deny"
    with limiter.operation():
        assert limiter.take().verdict == "deny"
    assert [limiter.take().verdict for _ in libweir.pace(range(2), limiter)] == ["deny", "deny"]
    assert limiter.latency()["service"]["count"] == 3 and limiter.take().allowed


HOLDER = """
import libweir, sys, time
table = libweir.Table(sys.argv[1], keys=100, plan="1 concurrent lease=1h")
hold = table.hold("1 concurrent lease=1h", "backup", renew=True)
hold.__enter__()
print("held", flush=True)
time.sleep(3600)
"""


def test_a_process_that_is_killed_frees_its_slot_at_once(tmp_path: pathlib.Path) -> None:
    path = str(tmp_path / "table")
    table = libweir.Table(path, keys=100, plan="1 concurrent lease=1h")
    limiter = table.limiter("1 concurrent lease=1h", "backup")
    for _ in range(3):
        child = subprocess.Popen([sys.executable, "-c", HOLDER, path], stdout=subprocess.PIPE)
        assert child.stdout and child.stdout.readline() == b"held\n"
        with pytest.raises(libweir.Refused):
            limiter.wait(timeout=0.05)
        threading.Timer(0.1, child.kill).start()
        with limiter.hold(timeout=30):
            assert child.wait() == -signal.SIGKILL
        child.stdout.close()


# ---- costs by unit ----

LLM = "60 requests/min; 1k tokens/min"


@pytest.mark.parametrize("which", [0, 1])
def test_costs_by_unit(which: int) -> None:
    limiter: Any = two(LLM)[which] if which else libweir.Limiter(LLM)
    call = limiter.take({"tokens": 800})
    assert call.allowed and limiter.peek(0).remaining == 59 or limiter.peek(0).remaining == 200
    assert limiter.take(cost={"tokens": 300}).verdict == "deny"
    limiter.settle(call, {"tokens": 300})
    assert limiter.take({"tokens": 600, "requests": 2}).allowed
    assert limiter.take({"tokens": 90, "requests": 58}).verdict == "deny"
    limiter.cancel(limiter.take({"tokens": 90, "requests": 57}))
    assert limiter.take({"tokens": 90, "requests": 57}).allowed
    assert limiter.take({"tokens": 0, "requests": 1}).verdict == "deny"


def test_one_number_does_not_say_of_what() -> None:
    table: Any = libweir.Table(keys=100, plan=LLM, sharing="private")
    limiter: Any = libweir.Limiter(LLM)
    keyed = table.limiter(LLM, "a")
    said = r'limits count requests and tokens: write cost=\{"tokens": [15]\}'
    for each in (limiter, keyed):
        for call in (each.take, each.reserve, each.wait, lambda: each.take(5), lambda: each.charge(5)):
            with pytest.raises(ValueError, match=said):
                call()
        with pytest.raises(ValueError, match=said):
            each.take({"requests": 2})
        with pytest.raises(ValueError, match="no limit counts one of"):
            each.take({"tokens": 2, "bytes": 3})
        with pytest.raises(TypeError, match="tokens: expected an int"):
            each.take({"tokens": "2"})
        call = each.take({"tokens": 8})
        with pytest.raises(ValueError, match=said.replace("cost", "actual")):
            each.settle(call, 5)
        assert each.charge({"tokens": 2000}).allowed and each.take({"tokens": 1}).verdict == "deny"
    assert libweir.Limiter("10 tokens/s").take({"tokens": 10}).allowed


def test_costs_by_unit_are_reserved_and_waited_for() -> None:
    for limiter in [libweir.Limiter("100 requests/s; 1k tokens/s"), two("100 requests/s; 1k tokens/s")[1]]:
        assert limiter.wait({"tokens": 1000}).delay == 0
        ahead = limiter.reserve({"tokens": 50})
        assert ahead.allowed and 0.03 < ahead.delay <= 0.05
        begun = time.monotonic()
        assert asyncio.run(limiter.wait_async({"tokens": 50})).allowed
        assert 0.03 < time.monotonic() - begun


def test_a_hold_has_a_cost_of_each_unit() -> None:
    limits = "2 concurrent lease=1h; 1k tokens/h"
    for limiter in [libweir.Limiter(limits), libweir.Table(keys=9, plan=limits, sharing="private").limiter(limits, "a")]:
        with limiter.hold({"tokens": 600}) as hold:
            with pytest.raises(libweir.Refused):
                with limiter.hold({"tokens": 600}, timeout=0):
                    raise AssertionError
            with limiter.hold({"tokens": 400}, timeout=0):
                pass
            assert hold.renew()
        with limiter.hold({"tokens": 0, "requests": 2}, timeout=0):
            pass
