# SPDX-License-Identifier: MIT
"""httpx transports that wait for a permit before each request.

    httpx.Client(transport=libweir.httpx.Transport("10/s"))
    httpx.AsyncClient(transport=libweir.httpx.AsyncTransport(table.limiter("10/s", "api")))
"""

from __future__ import annotations

import httpx

from libweir import Waits, limiter_of


class Transport(httpx.BaseTransport):
    """limit: a limiter, or a text for one of this process."""

    def __init__(self, limit: Waits | str, transport: httpx.BaseTransport | None = None) -> None:
        self.limiter = limiter_of(limit)
        self.transport = transport or httpx.HTTPTransport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        with self.limiter._turn():
            return self.transport.handle_request(request)

    def close(self) -> None:
        self.transport.close()


class AsyncTransport(httpx.AsyncBaseTransport):
    """limit: a limiter, or a text for one of this process."""

    def __init__(self, limit: Waits | str, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self.limiter = limiter_of(limit)
        self.transport = transport or httpx.AsyncHTTPTransport()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        async with self.limiter._turn():
            return await self.transport.handle_async_request(request)

    async def aclose(self) -> None:
        await self.transport.aclose()
