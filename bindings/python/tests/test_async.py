# SPDX-License-Identifier: MIT
"""Waiting in event loops: none early, cancelled waiters give back, asyncio and trio."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
import trio

import libweir

WAITERS = 10_000


def test_10_000_waiters_none_early() -> None:
    """Lateness is the bench's: here only that no start is early, and that starts keep the rate."""
    limiter = libweir.Limiter("5000/s burst=1")
    early = []

    async def one() -> int:
        decision = await limiter.wait_async()
        now = libweir.now_ns()
        early.extend([decision] if now < decision.start_ns else [])
        return decision.start_ns

    async def all_of_them() -> list[int]:
        return await asyncio.gather(*(one() for _ in range(WAITERS)))

    starts = sorted(asyncio.run(all_of_them()))
    assert not early
    assert len(set(starts)) == WAITERS and min(b - a for a, b in zip(starts, starts[1:])) >= 200_000 - 1
    assert starts[-1] - starts[0] <= (WAITERS - 1) * 200_000 / 0.999 + 2e9, "so long the last call came after the first"


def test_trio() -> None:
    limiter = libweir.Limiter("100/s burst=1")

    async def main() -> None:
        begun = libweir.now_ns()
        for _ in range(4):
            async with limiter as decision:
                assert libweir.now_ns() >= decision.start_ns
        assert libweir.now_ns() - begun >= 30 * 10**6

    trio.run(main)


def test_a_limiter_serves_two_loops() -> None:
    """aiolimiter's is bound to the loop that it saw first."""
    limiter = libweir.Limiter("100/s burst=1")
    for _ in range(2):
        asyncio.run(limiter.wait_async(timeout=60))


def test_cancelled_waiters_give_back() -> None:
    limiter = libweir.Limiter("1/h")

    async def main() -> None:
        await limiter.wait_async()
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(limiter.wait_async(), 0.05)
        with pytest.raises(libweir.Refused):
            await limiter.wait_async(timeout=1)

    asyncio.run(main())
    assert limiter.reserve().delay <= 3600


def test_operations_record_their_own_times() -> None:
    """Those that run together, too."""
    limiter = libweir.Limiter("1000/s", use="pace")
    starts = set()

    async def one(seconds: float) -> None:
        async with limiter.operation() as decision:
            starts.add(decision.start_ns)
            await asyncio.sleep(seconds)

    async def numbers() -> AsyncIterator[int]:
        for number in range(3):
            yield number

    async def main() -> None:
        await asyncio.gather(*(one(seconds) for seconds in (0.2, 0, 0, 0)))
        assert [number async for number in libweir.pace(numbers(), limiter)] == [0, 1, 2]
        assert [number async for number in libweir.pace(numbers(), "1000/s for 2ms")] == [0, 1]

    asyncio.run(main())
    service = limiter.latency()["service"]
    assert service["count"] == 7 and len(starts) == 4 and service["max_ns"] >= 2 * 10**8


def test_an_async_generator_is_not_decorated() -> None:
    """A call of it would have to wait in the event loop."""
    with pytest.raises(TypeError, match="async generator"):

        @libweir.Limiter("1/h")
        async def numbers() -> AsyncIterator[int]:
            yield 1


def test_decorator_pace_and_keys() -> None:
    table = libweir.Table(keys=100)

    @table.limiter("2/h", "key")
    async def call(number: int) -> int:
        return number

    async def numbers() -> AsyncIterator[int]:
        for number in range(3):
            yield number

    async def main() -> None:
        assert await call(5) == 5
        assert (await table.wait_async("2/h", "key")).allowed
        assert [number async for number in libweir.pace(numbers(), "1000/s")] == [0, 1, 2]

    asyncio.run(main())
    assert not table.take("2/h", "key")
