# SPDX-License-Identifier: MIT
"""The front doors, each in the program that people have: slowapi, Flask-Limiter, LangChain, httpx, requests."""

from __future__ import annotations

import asyncio
import pathlib
import time
from collections.abc import Callable, Iterator
from typing import Any

import fastapi
import flask
import flask_limiter
import flask_limiter.util
import httpx
import limits
import pytest
import requests
import slowapi
import slowapi.util
from fastapi.testclient import TestClient

import libweir
import libweir.asgi
import libweir.httpx
import libweir.langchain
import libweir.limits
import libweir.requests
import libweir.wsgi


@pytest.fixture
def table(tmp_path: pathlib.Path) -> libweir.Table:
    return libweir.Table(tmp_path / "table", keys=1000)


def test_asgi(table: libweir.Table) -> None:
    app = fastapi.FastAPI()
    app.add_middleware(libweir.asgi.Limit, limit="2/h", table=table)

    @app.get("/")
    def index() -> str:
        return "well"

    client = TestClient(app)
    first = client.get("/")
    assert (first.status_code, first.headers["ratelimit"]) == (200, '"default";r=1;t=1800')
    client.get("/")
    refused = client.get("/")
    assert refused.status_code == 429 and 0 < int(refused.headers["retry-after"]) <= 1800
    assert refused.headers["ratelimit-policy"] == '"default";q=2;w=3600'
    assert "again in 1" in refused.text and "e+" not in refused.text
    with pytest.raises(libweir.LimitError):
        libweir.asgi.Limit(app, "2/fortnight", table)


def test_asgi_key_none_passes(table: libweir.Table) -> None:
    app = fastapi.FastAPI()
    app.add_middleware(libweir.asgi.Limit, limit="none", table=table, key=lambda scope: None)
    app.get("/")(lambda: "well")
    assert TestClient(app).get("/").status_code == 200


def test_wsgi(table: libweir.Table) -> None:
    app = flask.Flask("app")
    app.wsgi_app = libweir.wsgi.Limit(app.wsgi_app, "2/h", table)  # type: ignore[method-assign]
    app.route("/")(lambda: "well")
    client = app.test_client()
    answers = [client.get("/") for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert answers[0].headers["RateLimit"] == '"default";r=1;t=1800' and "Retry-After" in answers[2].headers


ONE = "1 concurrent lease=1h"


def one_at_once(tmp_path: pathlib.Path) -> tuple[libweir.Table, Callable[[str], bool]]:
    table = libweir.Table(tmp_path / "wide", keys=100, plan=ONE)
    return table, lambda key: bool(table.peek(ONE, key))


def test_a_request_holds_a_slot_until_its_end(tmp_path: pathlib.Path) -> None:
    table, free = one_at_once(tmp_path)
    inside: list[bool] = []
    app = fastapi.FastAPI()
    app.add_middleware(libweir.asgi.Limit, limit=ONE, table=table)
    app.get("/")(lambda: inside.append(free("testclient")))
    app.get("/fails")(lambda: 1 / 0)
    client = TestClient(app, raise_server_exceptions=False)
    assert [client.get(path).status_code for path in ("/", "/fails", "/")] == [200, 500, 200]
    held = table.take(ONE, "testclient")
    assert client.get("/").status_code == 429 and table.release(ONE, "testclient", held)

    web = flask.Flask("app")
    web.wsgi_app = libweir.wsgi.Limit(web.wsgi_app, ONE, table)  # type: ignore[method-assign]

    @web.route("/")
    def stream() -> flask.Response:
        def parts() -> Iterator[str]:
            inside.append(free("127.0.0.1"))
            yield "part"

        return flask.Response(parts())

    for _ in range(2):
        with web.test_client().get("/") as answer:
            assert answer.status_code == 200 and answer.data == b"part"
    assert inside == [False] * 4 and free("127.0.0.1") and free("testclient")


def test_a_client_holds_a_slot_for_its_request(tmp_path: pathlib.Path) -> None:
    limiter = libweir.Limiter(ONE)
    inside: list[bool] = []

    def answer(request: httpx.Request) -> httpx.Response:
        inside.append(limiter.peek().allowed)
        return httpx.Response(200)

    with httpx.Client(transport=libweir.httpx.Transport(limiter, httpx.MockTransport(answer))) as client:
        assert [client.get("http://a").status_code for _ in range(2)] == [200, 200]
    assert inside == [False, False] and limiter.peek()
    with pytest.raises(libweir.LimitError, match="is held"):
        libweir.langchain.RateLimiter(ONE)


@pytest.mark.parametrize(
    ("address", "key"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
        ("fe80::1%eth0", "fe80::"),
        ("testclient", "testclient"),
    ],
)
def test_client_addresses(address: str, key: str) -> None:
    assert libweir.asgi.client({"client": (address, 1)}) == key
    assert libweir.wsgi.client({"REMOTE_ADDR": address}) == key


@pytest.mark.parametrize("strategy", ["fixed-window", "moving-window"])
def test_slowapi(tmp_path: pathlib.Path, strategy: str) -> None:
    limiter = slowapi.Limiter(
        key_func=slowapi.util.get_remote_address, storage_uri=f"weir://{tmp_path}/limits", strategy=strategy
    )
    app = fastapi.FastAPI()
    app.state.limiter = limiter
    app.add_exception_handler(slowapi.errors.RateLimitExceeded, slowapi._rate_limit_exceeded_handler)  # type: ignore

    @app.get("/")
    @limiter.limit("3/hour")
    def index(request: fastapi.Request) -> str:
        return "well"

    client = TestClient(app)
    assert [client.get("/").status_code for _ in range(5)] == [200, 200, 200, 429, 429]


@pytest.mark.parametrize("strategy", ["fixed-window", "moving-window"])
def test_flask_limiter(tmp_path: pathlib.Path, strategy: str) -> None:
    app = flask.Flask("app")
    limiter = flask_limiter.Limiter(
        flask_limiter.util.get_remote_address,
        app=app,
        storage_uri=f"weir://{tmp_path}/limits",
        strategy=strategy,
        headers_enabled=True,
    )
    app.route("/")(limiter.limit("3/hour")(lambda: "well"))
    client = app.test_client()
    answers = [client.get("/") for _ in range(5)]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429, 429]
    assert answers[0].headers["X-RateLimit-Remaining"] == "2"


def test_limits_storage_is_shared_and_async(tmp_path: pathlib.Path) -> None:
    uri = f"weir://{tmp_path}/limits?keys=1000"
    item = limits.parse("3/hour")
    one, other = (limits.strategies.FixedWindowRateLimiter(limits.storage.storage_from_string(uri)) for _ in range(2))
    assert one.hit(item, "user") and one.get_window_stats(item, "user").remaining == 2
    assert other.get_window_stats(item, "user").remaining == 2
    assert other.hit(item, "user", cost=2) and not one.test(item, "user")
    assert 3590 < one.get_window_stats(item, "user").reset_time - time.time() <= 3600
    moving = limits.strategies.MovingWindowRateLimiter(limits.storage.storage_from_string(uri))
    assert [moving.hit(item, "user") for _ in range(4)] == [True] * 3 + [False]
    assert 3590 < moving.get_window_stats(item, "user").reset_time - time.time() <= 3600
    moving.clear(item, "user")
    assert moving.hit(item, "user", cost=3) and one.hit(item, "user")
    later = limits.aio.strategies.MovingWindowRateLimiter(limits.storage.storage_from_string(f"async+{uri}"))
    assert not asyncio.run(later.hit(item, "user"))
    with pytest.raises(limits.errors.ConfigurationError, match="expected the path of a file"):
        limits.storage.storage_from_string("weir://limits")
    with pytest.raises(NotImplementedError):
        one.storage.reset()
    assert one.storage.check()
    for long in ("2/month", "2/2year", "2/7 day"):
        assert [one.hit(limits.parse(long), "user") for _ in range(3)] == [True, True, False], long
        assert [moving.hit(limits.parse(long), "user") for _ in range(3)] == [True, True, False], long


def test_langchain(table: libweir.Table) -> None:
    from langchain_core.language_models import FakeListChatModel

    one, other = (libweir.langchain.RateLimiter(table.limiter("3/h", "model")) for _ in range(2))
    model = FakeListChatModel(responses=["a", "b"], rate_limiter=one)
    assert model.invoke("hello").content == "a"
    assert other.acquire() and asyncio.run(other.aacquire())
    assert not one.acquire(blocking=False) and not asyncio.run(other.aacquire(blocking=False))


def test_langchain_waits() -> None:
    limiter = libweir.langchain.RateLimiter("50/s burst=1")
    begun = time.monotonic()
    assert all(limiter.acquire() for _ in range(6))
    assert time.monotonic() - begun >= 0.1


def paced(call: Callable[[], Any]) -> bool:
    begun = time.monotonic()
    for _ in range(4):
        assert call().status_code == 200
    return time.monotonic() - begun >= 0.06


def test_httpx() -> None:
    inside = httpx.MockTransport(lambda request: httpx.Response(200))
    with httpx.Client(transport=libweir.httpx.Transport("50/s burst=1", inside)) as client:
        assert paced(lambda: client.get("http://example.com/"))

    async def main() -> None:
        transport = libweir.httpx.AsyncTransport("50/s burst=1", inside)
        async with httpx.AsyncClient(transport=transport) as client:
            begun = time.monotonic()
            await asyncio.gather(*(client.get("http://example.com/") for _ in range(4)))
            assert time.monotonic() - begun >= 0.06

    asyncio.run(main())


def test_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    def send(*_: object, **__: object) -> requests.Response:
        answer = requests.Response()
        answer.status_code = 200
        return answer

    monkeypatch.setattr("requests.adapters.HTTPAdapter.send", send)
    adapter = libweir.requests.Adapter("50/s burst=1", pool_maxsize=2)
    request = requests.Request("GET", "http://example.com/").prepare()
    assert paced(lambda: adapter.send(request))
