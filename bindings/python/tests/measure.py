# SPDX-License-Identifier: MIT
"""What a call costs, ours beside the peers', in one run; bindings/python/bench runs it.

    cost      SETTING  WHO  NS     wall time of a call, the least of 9 rounds
    lateness  WHAT     MS          of 10,000 asyncio waiters, after their start

Rounds take turns over all contenders of a setting, so that a busy machine slows all of them; a round is 10 ms or one
call.  A call is made through a Python function, whose own cost is the floor.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from typing import Any

import aiolimiter
import limits
import pyrate_limiter as pyrate
from servers import free_port

import libweir
import libweir.limits

ROUNDS, ROUND_NS, WAITERS = 9, 10_000_000, 10_000
Call = Callable[[], Any]
Row = tuple[str, Call]
MANY, ONE = 1_000_000_000, 1  # a second, which always passes; a day, which is used up


def ours(amount: int) -> str:
    return f"{MANY}/s" if amount == MANY else "1/d"


def hits(uri: str, amount: int) -> Call:
    strategy = limits.strategies.FixedWindowRateLimiter(limits.storage.storage_from_string(uri))
    item = limits.parse(f"{amount}/second" if amount == MANY else f"{amount}/day")
    return lambda: strategy.hit(item, "user:42")


def rates(amount: int) -> list[pyrate.Rate]:
    return [pyrate.Rate(10**6, 1000) if amount == MANY else pyrate.Rate(1, pyrate.Duration.DAY)]


def pyrate_of(store: Any, amount: int) -> Call:
    limiter = pyrate.Limiter(pyrate.StateBucket(rates(amount), pyrate.GCRA(), store))
    return lambda: limiter.try_acquire("user:42", blocking=False)


def sqlite(path: str) -> Call:
    """With its lock for processes, it always waits: there is no refusal."""
    bucket = pyrate.SQLiteBucket.init_from_file(rates(MANY), db_path=path, use_file_lock=True)
    limiter = pyrate.Limiter(bucket)
    return lambda: limiter.try_acquire("user:42")


def alone(amount: int) -> list[Row]:
    limiter = libweir.Limiter(ours(amount))
    return [
        ("libweir.Limiter.take", lambda: limiter.take()),
        ("limits memory://", hits("memory://", amount)),
        ("pyrate-limiter in memory", pyrate_of(pyrate.InMemoryStateStore(), amount)),
    ]


def shared(folder: str, redis: str | None, amount: int) -> list[Row]:
    table, limit = libweir.Table(f"{folder}/table{amount}"), ours(amount)
    rows: list[Row] = [
        ("libweir.Table.take", lambda: table.take(limit, "user:42")),
        ("limits weir://", hits(f"weir://{folder}/limits", amount)),
        ("pyrate-limiter multiprocess", pyrate_of(pyrate.MultiprocessStateStore.init(), amount)),
    ]
    rows += [("pyrate-limiter SQLite", sqlite(f"{folder}/sqlite"))] if amount == MANY else []
    return rows + ([("limits redis://", hits(redis, amount))] if redis else [])


def count_for(call: Call) -> int:
    """Calls of a round."""
    call()
    begun = time.perf_counter_ns()
    call()
    return min(max(ROUND_NS // (time.perf_counter_ns() - begun), 1), 20_000)


def nanoseconds(call: Call, count: int) -> float:
    begun = time.perf_counter_ns()
    for _ in range(count):
        call()
    return (time.perf_counter_ns() - begun) / count


def say(setting: str, least: dict[str, float]) -> None:
    for who, ns in least.items():
        print("cost", setting, who, f"{ns:.0f}", sep="\t", flush=True)


def compare(setting: str, rows: list[Row]) -> None:
    least = {who: float("inf") for who, _ in rows}
    counts = [count_for(call) for _, call in rows]
    for _ in range(ROUNDS):
        for (who, call), count in zip(rows, counts):
            least[who] = min(least[who], nanoseconds(call, count))
    say(setting, least)


async def compare_async(setting: str) -> None:
    limiter, theirs = libweir.Limiter(ours(MANY)), aiolimiter.AsyncLimiter(MANY, 1)
    rows: dict[str, Callable[[], Awaitable[Any]]] = {
        "libweir.Limiter.wait_async": limiter.wait_async,
        "aiolimiter": theirs.acquire,
        "floor: awaiting an empty coroutine": empty_async,
    }
    least = {who: float("inf") for who in rows}
    for _ in range(ROUNDS):
        for who, call in rows.items():
            begun = time.perf_counter_ns()
            for _ in range(10_000):
                await call()
            least[who] = min(least[who], (time.perf_counter_ns() - begun) / 10_000)
    say(setting, least)


async def empty_async() -> None:
    pass


async def lateness() -> None:
    limiter = libweir.Limiter(f"{WAITERS}/s burst=1")
    late: list[float] = []

    async def one() -> None:
        decision = await limiter.wait_async()
        late.append((libweir.now_ns() - decision.start_ns) / 1e6)

    await asyncio.gather(*(one() for _ in range(WAITERS)))
    late.sort()
    shown = {"earliest": late[0], "p50": late[WAITERS // 2], "p99": late[WAITERS * 99 // 100], "latest": late[-1]}
    for what, ms in shown.items():
        print("lateness", f"{WAITERS} asyncio waiters, {what}", f"{ms:.3f}", sep="\t")


def redis_server() -> tuple[subprocess.Popen[bytes], str] | None:
    program, port = shutil.which("redis-server"), free_port()
    if program is None:
        print("redis-server is not here", file=sys.stderr)
        return None
    process = subprocess.Popen([program, "--port", str(port), "--save", ""], stdout=subprocess.DEVNULL)
    time.sleep(1)
    return process, f"redis://127.0.0.1:{port}"


def main() -> None:
    version, load = sys.version.split()[0], os.getloadavg()[0]
    print(f"Python {version}, {os.cpu_count()} processors, load {load:.1f}", file=sys.stderr)
    redis = redis_server()
    try:
        with tempfile.TemporaryDirectory(prefix="weir-bench-", dir="/dev/shm") as folder:
            url = redis[1] if redis else None
            compare("one process", [*alone(MANY), ("floor: an empty Python function", lambda: None)])
            compare("one process, refused", alone(ONE))
            asyncio.run(compare_async("asyncio, a permit is there"))
            compare("shared by processes", shared(folder, url, MANY))
            compare("shared by processes, refused", shared(folder, url, ONE))
            asyncio.run(lateness())
    finally:
        if redis:
            redis[0].kill()
            redis[0].wait()


if __name__ == "__main__":
    main()
