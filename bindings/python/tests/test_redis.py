# SPDX-License-Identifier: MIT
"""redis-py as the client of a real `weir serve`, and of a real Redis with weir's functions."""

from __future__ import annotations

import asyncio
import os
import pathlib
import shutil
import subprocess
import time
from collections.abc import Iterator

import pytest
import redis
import redis.asyncio
from servers import free_port

import libweir.redis

TREE = pathlib.Path(os.environ["WEIR_TREE"])
WEIR = os.environ.get("WEIR", str(TREE / "build/weir"))


def started(command: list[str], url: str) -> tuple[subprocess.Popen[bytes], redis.Redis]:
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    client = libweir.redis.connect(url, timeout=10)
    for _ in range(300):
        try:
            client.ping()
            return process, client
        except redis.ConnectionError:
            time.sleep(0.1)
    process.kill()
    raise AssertionError(f"{command[0]} does not answer")


def hold_and_release(weir: libweir.redis.Client, key: str, limit: str) -> None:
    held, refused = weir.take(limit, key), weir.take(limit, key)
    assert held.allowed and held.id and refused.verdict == "deny" and not refused.id and refused.retry <= 3600
    assert weir.renew(limit, key, held) and weir.renew(limit, key, held.id)
    assert not weir.release(limit, key, held.id + 1000) and not weir.release(limit, key, refused)
    assert weir.release(limit, key, held) and not weir.release(limit, key, held) and not weir.renew(limit, key, held)
    assert weir.take(limit, key).allowed


@pytest.fixture
def served() -> Iterator[tuple[subprocess.Popen[bytes], redis.Redis, str]]:
    if not os.access(WEIR, os.X_OK):
        pytest.skip(f"{WEIR} is not built")
    url = f"redis://127.0.0.1:{free_port()}"
    process, client = started([WEIR, "serve", "--resp", url[8:], "--http", "none"], url)
    yield process, client, url
    process.kill()
    process.wait()


def test_serve(served: tuple[subprocess.Popen[bytes], redis.Redis, str]) -> None:
    process, client, url = served
    closed, open_ = libweir.redis.Client(client), libweir.redis.Client(client, away="open")
    first = closed.take("3/h", "user:42")
    assert first.allowed and first.remaining == 2 and not first.away and 0 < first.reset <= 1200
    assert closed.take("3/h", "user:42", 2) and not closed.take("3/h", "user:42")
    assert 0 < closed.take("3/h", "user:42").retry <= 1200
    assert open_.take("3/h", "user:42", 4).verdict == "never" and not open_.take("3/h", "user:42", 4)
    estimate = closed.take("5 requests/h; 1000 tokens/h", "model", (1, 800))
    assert closed.settle("5 requests/h; 1000 tokens/h", "model", first, 0)
    assert not closed.settle("5 requests/h; 1000 tokens/h", "model", first, 0)
    assert estimate.receipt and closed.settle("5 requests/h; 1000 tokens/h", "model", estimate, {"tokens": 300})
    assert closed.take("5 requests/h; 1000 tokens/h", "model", (1, 700)).allowed
    assert closed.take("5 requests/h; 1000 tokens/h", "units", {"tokens": 800})
    assert not closed.take("5 requests/h; 1000 tokens/h", "units", {"tokens": 300})
    with pytest.raises(redis.ResponseError, match="limits count requests and tokens: write COST tokens 5"):
        closed.take("5 requests/h; 1000 tokens/h", "units", 5)
    hold_and_release(closed, "jobs", "1 concurrent lease=1h; 100/h")
    assert first.id is None and not closed.release("3/h", "user:42", first)
    with pytest.raises(redis.ResponseError, match="BADLIMIT"):
        closed.take("10/M", "user:42")

    async def main() -> None:
        waiting = libweir.redis.AsyncClient(redis.asyncio.Redis.from_url(url, retry=None))
        answer = await waiting.take("3/h", "user:43")
        assert answer.allowed and await waiting.settle("3/h", "user:43", answer, 0)
        held = await waiting.take("1 concurrent lease=1h", "async")
        assert await waiting.renew("1 concurrent lease=1h", "async", held)
        assert await waiting.release("1 concurrent lease=1h", "async", held)
        assert not await waiting.release("1 concurrent lease=1h", "async", held)

    asyncio.run(main())
    process.kill()
    process.wait()
    away = closed.take("3/h", "user:42")
    assert (away.allowed, away.away, bool(away)) == (False, True, False)
    assert open_.take("3/h", "user:42") == libweir.redis.Answer("allow", away=True)
    assert not closed.settle("3/h", "user:42", first, 0)


def test_functions() -> None:
    server = shutil.which("redis-server")
    if server is None:
        pytest.skip("redis-server is not here")
    port = free_port()
    process, client = started([server, "--port", str(port), "--save", ""], f"redis://127.0.0.1:{port}")
    try:
        client.function_load((TREE / "src/redis/script/weir.lua").read_text(), replace=True)
        weir = libweir.redis.Client(client, of="functions")
        first = weir.take("3/h", "{weir:acme}", 2)
        assert first.allowed and first.remaining == 1 and 0 < first.reset <= 2400
        assert 0 < weir.take("3/h", "{weir:acme}", 2).retry <= 1200
        assert weir.settle("3/h", "{weir:acme}", first, 0)
        assert weir.take("3/h", "{weir:acme}", 3).allowed
        assert weir.take("3/h", "{weir:acme}", 4).verdict == "never"
        hold_and_release(weir, "{weir:jobs}", "1 concurrent lease=1h")
        model = "5 requests/h; 1000 tokens/h"
        estimate = weir.take(model, "{weir:model}", {"tokens": 800})
        assert estimate.allowed and not weir.take(model, "{weir:model}", {"tokens": 300})
        assert weir.settle(model, "{weir:model}", estimate, 0) and weir.take(model, "{weir:model}", {"tokens": 1000})
    finally:
        process.kill()
        process.wait()


def test_switches_are_named() -> None:
    with pytest.raises(ValueError, match="closed"):
        libweir.redis.Client(redis.Redis(), away="shut")  # type: ignore[arg-type]
