# SPDX-License-Identifier: MIT
"""ASGI middleware: 429 with headers above a limit for each client.

    app = libweir.asgi.Limit(app, "10/s burst=20", libweir.Table("/run/app.weir"))
    app.add_middleware(libweir.asgi.Limit, limit="10/s burst=20", table=table)       # Starlette, FastAPI
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from libweir import Plan, Table, headers
from libweir._clients import REFUSED, address_key, answer

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


def client(scope: Scope) -> str | None:
    """The network of the connection's other end: behind a proxy pass a key of your own."""
    return address_key(scope["client"][0]) if scope.get("client") else "unix"


class Limit:
    """key(scope) names who is limited, None lets the request pass.  told: headers on allowed responses too."""

    def __init__(
        self,
        app: App,
        limit: str | Plan,
        table: Table,
        key: Callable[[Scope], str | bytes | None] = client,
        cost: int = 1,
        told: bool = True,
    ) -> None:
        table.peek(limit, "")  # a limit that is wrong is told now
        self.app, self.limit, self.table, self.key, self.cost, self.told = app, limit, table, key, cost, told

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        key = self.key(scope) if scope["type"] == "http" else None
        if key is None:
            return await self.app(scope, receive, send)
        decision = self.table.take(self.limit, key, self.cost)
        told = [(name.lower().encode(), value.encode()) for name, value in headers(decision).items()]
        if not decision.allowed:
            body = answer(decision)
            plain = [(b"content-type", b"text/plain"), (b"content-length", str(len(body)).encode())]
            await send({"type": "http.response.start", "status": REFUSED, "headers": plain + told})
            return await send({"type": "http.response.body", "body": body})

        async def send_told(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), *told]
            await send(message)

        try:
            await self.app(scope, receive, send_told if self.told else send)
        finally:
            if decision.id:
                self.table.release(self.limit, key, decision)
