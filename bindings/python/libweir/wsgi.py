# SPDX-License-Identifier: MIT
"""WSGI middleware: 429 with headers above a limit for each client.

    app.wsgi_app = libweir.wsgi.Limit(app.wsgi_app, "10/s burst=20", libweir.Table("/run/app.weir"))
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from libweir import Plan, Table, headers
from libweir._clients import REFUSED, address_key, answer

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment


def client(environ: WSGIEnvironment) -> str | None:
    """The network of the connection's other end: behind a proxy pass a key of your own."""
    return address_key(environ["REMOTE_ADDR"]) if environ.get("REMOTE_ADDR") else "unix"


class _Held:
    """An answer that holds a slot of a concurrent limit until it is closed, as a server has to."""

    def __init__(self, answer: Iterable[bytes], release: Callable[[], object]) -> None:
        self._answer, self._release = answer, release

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._answer)

    def close(self) -> None:
        try:
            getattr(self._answer, "close", lambda: None)()
        finally:
            self._release()


class Limit:
    """key(environ) names who is limited, None lets the request pass.  told: headers on allowed responses too."""

    def __init__(
        self,
        app: WSGIApplication,
        limit: str | Plan,
        table: Table,
        key: Callable[[WSGIEnvironment], str | bytes | None] = client,
        cost: int = 1,
        told: bool = True,
    ) -> None:
        table.peek(limit, "")  # a limit that is wrong is told now
        self.app, self.limit, self.table, self.key, self.cost, self.told = app, limit, table, key, cost, told

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        key = self.key(environ)
        if key is None:
            return self.app(environ, start_response)
        decision = self.table.take(self.limit, key, self.cost)
        told = list(headers(decision).items())
        if not decision.allowed:
            body = answer(decision)
            plain = [("Content-Type", "text/plain"), ("Content-Length", str(len(body)))]
            start_response(f"{REFUSED} Too Many Requests", plain + told)
            return [body]

        def start_told(status: str, of_app: list[tuple[str, str]], *exc_info: Any) -> Callable[[bytes], object]:
            return start_response(status, of_app + told, *exc_info)

        try:
            answered = self.app(environ, start_told if self.told else start_response)
        except BaseException:
            self.table.release(self.limit, key, decision)
            raise
        if not decision.id:
            return answered
        return _Held(answered, lambda: self.table.release(self.limit, key, decision))
