# SPDX-License-Identifier: MIT
"""What a call costs, ours beside the peers', in one run; bindings/python/bench runs it.

Rounds go in turns over all, so that a busy machine slows all of them; the least of each counts.  Then how late 10,000
asyncio waiters start, and how many of 8 processes' calls pass a limit of 1,000.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

import aiolimiter
import limits
import pyrate_limiter as pyrate

import libweir
import libweir.limits

ROUNDS, WAITERS, PROCESSES, PERMITS = 9, 10_000, 8, 1000
FOLDER = os.environ.get("WEIR_BENCH_FOLDER") or tempfile.mkdtemp(prefix="weir-bench-", dir="/dev/shm")
os.environ["WEIR_BENCH_FOLDER"] = FOLDER  # of the processes that are started, too
Call = Callable[[], Any]
ITEM = limits.parse("1000000000/second")
RATES = [pyrate.Rate(10**6, 1000)]


def hits(uri: str) -> Call:
    strategy = limits.strategies.FixedWindowRateLimiter(limits.storage.storage_from_string(uri))
    return lambda: strategy.hit(ITEM, "user:42")


def pyrate_of(store: Any) -> Call:
    bucket = pyrate.StateBucket(RATES, pyrate.GCRA(), store)
    limiter = pyrate.Limiter(bucket)
    return lambda: limiter.try_acquire("user:42", blocking=False)


def sqlite() -> Call:
    limiter = pyrate.Limiter(pyrate.SQLiteBucket.init_from_file(RATES, db_path=f"{FOLDER}/sqlite", use_file_lock=True))
    return lambda: limiter.try_acquire("user:42")


def redis_server() -> tuple[subprocess.Popen[bytes], str] | None:
    program = shutil.which("redis-server")
    if program is None:
        return None
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port = listening.getsockname()[1]
    process = subprocess.Popen([program, "--port", str(port), "--save", ""], stdout=subprocess.DEVNULL)
    time.sleep(1)
    return process, f"redis://127.0.0.1:{port}"


def alone() -> Iterator[tuple[str, Call, int]]:
    """In one process: name, call, calls a round."""
    ours = libweir.Limiter("1000000000/s")
    yield "libweir.Limiter.take", lambda: ours.take(), 20_000
    yield "limits, memory://", hits("memory://"), 5_000
    yield "pyrate-limiter, in memory, GCRA", pyrate_of(pyrate.InMemoryStateStore()), 5_000


def shared(redis: str | None) -> Iterator[tuple[str, Call, int]]:
    """State that processes share."""
    table = libweir.Table(f"{FOLDER}/table")
    yield "libweir.Table.take, a file", lambda: table.take("1000000000/s", "user:42"), 20_000
    yield "limits, weir:///path", hits(f"weir://{FOLDER}/limits"), 5_000
    yield "pyrate-limiter, multiprocess, GCRA", pyrate_of(pyrate.MultiprocessStateStore.init()), 1_000
    yield "pyrate-limiter, SQLite", sqlite(), 200
    if redis is not None:
        yield "limits, redis://", hits(redis), 1_000


def nanoseconds(call: Call, count: int) -> float:
    begun = time.perf_counter_ns()
    for _ in range(count):
        call()
    return (time.perf_counter_ns() - begun) / count


def compare(title: str, rows: list[tuple[str, Call, int]]) -> None:
    least = [float("inf")] * len(rows)
    for _ in range(ROUNDS):
        for i, (_, call, count) in enumerate(rows):
            least[i] = min(least[i], nanoseconds(call, count))
    print(f"\n| {title} | ns a call | of ours |\n|---|---|---|")
    for (name, _, _), ns in zip(rows, least):
        print(f"| {name} | {ns:.0f} | {ns / least[0]:.1f} |")


async def async_calls() -> list[tuple[str, float]]:
    ours, theirs = libweir.Limiter("1000000000/s"), aiolimiter.AsyncLimiter(10**9, 1)

    async def cost(acquire: Callable[[], Any]) -> float:
        begun = time.perf_counter_ns()
        for _ in range(5_000):
            await acquire()
        return (time.perf_counter_ns() - begun) / 5_000

    least = [float("inf")] * 2
    for _ in range(ROUNDS):
        least = [min(least[0], await cost(ours.wait_async)), min(least[1], await cost(theirs.acquire))]
    return list(zip(("libweir.Limiter.wait_async, at once", "aiolimiter.acquire, at once"), least))


async def lateness() -> list[float]:
    """Milliseconds, sorted."""
    limiter = libweir.Limiter("10000/s burst=1")
    late: list[float] = []

    async def one() -> None:
        decision = await limiter.wait_async()
        late.append((libweir.now_ns() - decision.start_ns) / 1e6)

    await asyncio.gather(*(one() for _ in range(WAITERS)))
    return sorted(late)


def process(uri: str, passed: Any) -> None:
    strategy = limits.strategies.FixedWindowRateLimiter(limits.storage.storage_from_string(uri))
    item = limits.parse(f"{PERMITS}/day")
    mine = sum(strategy.hit(item, "user:42") for _ in range(PERMITS + 200))
    with passed.get_lock():
        passed.value += mine


def passes(uri: str) -> int:
    context = multiprocessing.get_context("spawn")
    passed = context.Value("q", 0)
    workers = [context.Process(target=process, args=(uri, passed)) for _ in range(PROCESSES)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return int(passed.value)


def main() -> None:
    redis = redis_server()
    try:
        version, load = sys.version.split()[0], os.getloadavg()[0]
        print(f"Python {version}, {os.cpu_count()} processors, load {load:.1f}, least of {ROUNDS}")
        compare("one process", list(alone()))
        rows = asyncio.run(async_calls())
        print("\n| asyncio | ns a call | of ours |\n|---|---|---|")
        for name, ns in rows:
            print(f"| {name} | {ns:.0f} | {ns / rows[0][1]:.1f} |")
        compare("shared by processes", list(shared(redis[1] if redis else None)))
        late = asyncio.run(lateness())
        print(f"\n{WAITERS} asyncio waiters at 10000/s: early {sum(ms < 0 for ms in late)}, ms late: median "
              f"{late[WAITERS // 2]:.2f}, 99 % {late[WAITERS * 99 // 100]:.2f}, most {late[-1]:.2f}")
        print(f"\n| {PROCESSES} processes, a limit of {PERMITS} | passed |\n|---|---|")
        for uri in ("memory://", f"weir://{FOLDER}/passes", *([redis[1]] if redis else [])):
            print(f"| limits, {uri.split(':')[0]}:// | {passes(uri)} |", flush=True)
    finally:
        if redis:
            redis[0].kill()
        shutil.rmtree(FOLDER)


if __name__ == "__main__":
    main()
