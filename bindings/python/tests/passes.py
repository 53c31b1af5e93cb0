# SPDX-License-Identifier: MIT
# mypy: ignore-errors
"""How many operations pass one limit in 8 worker processes: each front door beside its peer as it is by default.

    passed  DOOR  WHO  LIMIT  PASSED       bindings/python/passes prints it; WHO is the peer's name or libweir

A server's workers are hit by a client until each of them has refused a request.  What waits instead of refusing, on its
way to another service, is counted by that service, until nothing has come for a while.  LangChain's limiter lets none
pass before a time has gone by; so its limit is a rate, and what passes within a time is counted.
"""

from __future__ import annotations

import asyncio
import collections
import concurrent.futures
import functools
import http.server
import multiprocessing
import os
import pathlib
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable
from typing import Any

from servers import Load, server

WORKERS, LIMIT = 8, 100
RATE, WINDOW_S = 10, 5  # LangChain's
QUIET_S, READY_S = 2.0, 60
OURS = "libweir"
IMPORTS = ["httpx_limiter.aiolimiter", "langchain_core.language_models", "requests_ratelimiter"]  # once, not 8 times


def named(app: Any) -> Any:
    """An ASGI app whose answers, also the refusals, say which process answers."""

    async def run(scope: Any, receive: Any, send: Any) -> None:
        async def send_named(message: Any) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), (b"x-worker", b"%d" % os.getpid())]
            await send(message)

        await app(scope, receive, send_named)

    return run


def named_wsgi(app: Any) -> Any:
    def run(environ: Any, start: Any) -> Any:
        worker = ("X-Worker", str(os.getpid()))
        return app(environ, lambda status, headers, *more: start(status, [*headers, worker], *more))

    return run


def slowapi_app(state: str, who: str) -> Any:
    import slowapi
    import slowapi.util
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import PlainTextResponse

    import libweir.limits

    storage = {"storage_uri": f"weir://{state}"} if who == OURS else {}
    limiter = slowapi.Limiter(key_func=slowapi.util.get_remote_address, **storage)

    async def index(request: Request) -> Any:
        return PlainTextResponse("well")

    app = Starlette()
    app.state.limiter = limiter
    app.add_route("/", limiter.limit(f"{LIMIT}/day")(index))
    app.add_exception_handler(slowapi.errors.RateLimitExceeded, slowapi._rate_limit_exceeded_handler)
    return named(app)


def flask_limiter_app(state: str, who: str) -> Any:
    import flask
    import flask_limiter
    import flask_limiter.util

    import libweir.limits

    app = flask.Flask("app")
    storage = f"weir://{state}" if who == OURS else None
    limiter = flask_limiter.Limiter(flask_limiter.util.get_remote_address, app=app, storage_uri=storage)
    app.route("/")(limiter.limit(f"{LIMIT}/day")(lambda: "well"))
    return named_wsgi(app)


def asgi_app(state: str, who: str) -> Any:
    import ratelimit
    import ratelimit.backends.simple
    from starlette.applications import Starlette
    from starlette.responses import PlainTextResponse

    import libweir.asgi

    async def index(request: Any) -> Any:
        return PlainTextResponse("well")

    app = Starlette()
    app.add_route("/", index)
    if who == OURS:
        return named(libweir.asgi.Limit(app, f"{LIMIT}/d", libweir.Table(state)))
    async def client(scope: Any) -> tuple[str, str]:  # its own takes no private address
        return scope["client"][0], "default"

    rules = {"^/": [ratelimit.Rule(day=LIMIT)]}
    backend = ratelimit.backends.simple.MemoryBackend()
    return named(ratelimit.RateLimitMiddleware(app, client, backend, rules))


def wsgi_app(state: str, who: str) -> Any:
    import django
    from django.conf import settings

    peer = {
        "DEFAULT_THROTTLE_CLASSES": ["rest_framework.throttling.AnonRateThrottle"],
        "DEFAULT_THROTTLE_RATES": {"anon": f"{LIMIT}/day"},
    }
    common = {"DEFAULT_AUTHENTICATION_CLASSES": [], "UNAUTHENTICATED_USER": None}
    settings.configure(
        ALLOWED_HOSTS=["*"], ROOT_URLCONF=__name__, REST_FRAMEWORK=common | ({} if who == OURS else peer)
    )
    django.setup()
    from django.core.wsgi import get_wsgi_application
    from django.urls import path
    from rest_framework.response import Response
    from rest_framework.views import APIView

    import libweir.wsgi

    class Index(APIView):
        def get(self, request: Any) -> Any:
            return Response("well")

    globals()["urlpatterns"] = [path("", Index.as_view())]
    app = get_wsgi_application()
    return named_wsgi(libweir.wsgi.Limit(app, f"{LIMIT}/d", libweir.Table(state)) if who == OURS else app)


SERVERS = {  # door: server, app, peer
    "slowapi": ("uvicorn", slowapi_app, "slowapi"),
    "Flask-Limiter": ("gunicorn", flask_limiter_app, "Flask-Limiter"),
    "ASGI middleware": ("uvicorn", asgi_app, "asgi-ratelimit"),
    "WSGI middleware": ("gunicorn", wsgi_app, "Django REST framework"),
}


def __getattr__(name: str) -> Any:
    """passes:app, in a worker."""
    if name != "app":
        raise AttributeError(name)
    _, make, _ = SERVERS[os.environ["DOOR"]]
    return make(os.environ["STATE"], os.environ["WHO"])


def of_server(door: str, who: str, state: str) -> int:
    of, _, _ = SERVERS[door]
    environment = {"DOOR": door, "WHO": who, "STATE": state, "GUNICORN_CMD_ARGS": "--preload"}
    with server(of, "passes:app", WORKERS, pathlib.Path(__file__).parent, environment) as url:
        load = Load(url, READY_S)
        clients = [threading.Thread(target=load.until_all_refuse, args=(WORKERS,)) for _ in range(WORKERS)]
        for client in clients:
            client.start()
        for client in clients:
            client.join()
    if len(load.refusing) < WORKERS:
        raise SystemExit(f"{door}, {who}: only {len(load.refusing)} of {WORKERS} workers have refused")
    return load.passed


def httpx_call(url: str, state: str, who: str) -> Callable[[], object]:
    import httpx
    from httpx_limiter import AsyncRateLimitedTransport, Rate
    from httpx_limiter.aiolimiter import AiolimiterAsyncLimiter

    import libweir.httpx

    if who == OURS:
        transport: Any = libweir.httpx.AsyncTransport(libweir.Table(state).limiter(f"{LIMIT}/d", "service"))
    else:
        transport = AsyncRateLimitedTransport.create(
            AiolimiterAsyncLimiter.create(Rate.create(magnitude=LIMIT, duration=86400))
        )
    client, loop = httpx.AsyncClient(transport=transport), asyncio.new_event_loop()
    return lambda: loop.run_until_complete(client.get(url))


def requests_call(url: str, state: str, who: str) -> Callable[[], object]:
    import requests
    import requests_ratelimiter

    import libweir.requests

    session = requests.Session()
    if who == OURS:
        adapter: Any = libweir.requests.Adapter(libweir.Table(state).limiter(f"{LIMIT}/d", "service"))
    else:
        adapter = requests_ratelimiter.LimiterAdapter(per_day=LIMIT)
    session.mount("http://", adapter)
    return lambda: session.get(url)


def langchain_call(url: str, state: str, who: str) -> Callable[[], object]:
    from langchain_core.language_models import FakeListChatModel
    from langchain_core.rate_limiters import InMemoryRateLimiter

    import libweir.langchain

    if who == OURS:
        table = libweir.Table(state)
        limiter: Any = libweir.langchain.RateLimiter(table.limiter(f"{RATE}/s burst=1", "model"))
    else:
        limiter = InMemoryRateLimiter(requests_per_second=RATE)
    model = FakeListChatModel(responses=["well"], rate_limiter=limiter)

    def call() -> None:
        model.invoke("hello")
        urllib.request.urlopen(url).close()  # as the model of a service would

    return call


CALLERS = {  # door: how a process makes its call, peer
    "httpx transport": (httpx_call, "httpx-limiter"),
    "requests transport": (requests_call, "requests-ratelimiter"),
    "LangChain": (langchain_call, "InMemoryRateLimiter"),
}


class Service(http.server.ThreadingHTTPServer):
    """What the processes call; when."""

    request_queue_size = 256

    def __init__(self) -> None:
        arrivals = self.arrivals = collections.deque[float]()

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                arrivals.append(time.monotonic())
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        self.begun = time.monotonic()
        self.url = f"http://127.0.0.1:{self.server_port}/"

    def is_quiet(self) -> bool:
        return time.monotonic() - (self.arrivals[-1] if self.arrivals else self.begun + READY_S) > QUIET_S


def caller(door: str, who: str, state: str, url: str, together: Any) -> None:
    call = CALLERS[door][0](url, state, who)
    together.wait(READY_S)
    together.wait(READY_S)
    while True:
        call()


def of_callers(door: str, who: str, state: str) -> int:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(IMPORTS)
    together = context.Barrier(WORKERS + 1)
    with Service() as service:
        threading.Thread(target=service.serve_forever, daemon=True).start()
        arguments = (door, who, state, service.url, together)
        processes = [context.Process(target=caller, args=arguments) for _ in range(WORKERS)]
        for process in processes:
            process.start()
        try:
            together.wait(READY_S)
            ends = time.monotonic() + (WINDOW_S if door == "LangChain" else float("inf"))
            together.wait(READY_S)
            while time.monotonic() < ends and not (door != "LangChain" and service.is_quiet()):
                time.sleep(0.1)
        finally:
            for process in processes:
                process.kill()
                process.join()
            service.shutdown()
        return sum(arrival < ends for arrival in service.arrivals)


def limit_of(door: str) -> int:
    return RATE * WINDOW_S if door == "LangChain" else LIMIT


def passed(door: str, who: str, folder: str) -> int:
    count = of_server if door in SERVERS else of_callers
    return count(door, who, f"{folder}/{door.replace(' ', '-')}")


def rows(door: str, folder: str) -> list[tuple[str, str, int, int]]:
    peer = SERVERS[door][2] if door in SERVERS else CALLERS[door][1]
    return [(door, who, limit_of(door), passed(door, who, folder)) for who in (peer, OURS)]


def main() -> None:
    doors = [*SERVERS, *CALLERS]
    with tempfile.TemporaryDirectory(prefix="weir-passes-", dir="/dev/shm") as folder:
        with concurrent.futures.ThreadPoolExecutor(len(doors)) as pool:
            for of_door in pool.map(functools.partial(rows, folder=folder), doors):
                for row in of_door:
                    print("passed", *row, sep="\t", flush=True)


if __name__ == "__main__":
    main()
