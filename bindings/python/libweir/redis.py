# SPDX-License-Identifier: MIT
"""redis-py as the client of `weir serve`, and of a Redis or Valkey that has weir's module or its functions.

    weir = libweir.redis.Client(libweir.redis.connect("redis://localhost:9347"), away="closed")
    answer = weir.take("10/s burst=20", "user:42")
    if not answer.allowed: raise TooMany(retry_after=answer.retry)

"never" is a refusal.  When the other side is away (no connection, no reply in time, still loading), the one switch
`away` decides: "closed" refuses, "open" allows; `answer.away` tells.  An error that it replies, such as BADLIMIT, is
raised.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import redis
import redis.asyncio
from redis.backoff import NoBackoff
from redis.retry import Retry

Of = Literal["serve", "module", "functions"]  # who answers; an engine's module or its functions
Away = Literal["closed", "open"]
_AWAY = (redis.ConnectionError, redis.TimeoutError, OSError)


class Answer(NamedTuple):
    verdict: str  # "allow", "deny", "never"
    remaining: int = 0
    delay: float = 0  # seconds: allowed, to start only then
    retry: float = 0  # seconds; inf: never
    reset: float = 0
    receipt: str | None = None  # to settle with
    away: bool = False  # decided by the switch

    @property
    def allowed(self) -> bool:
        return self.verdict == "allow"

    def __bool__(self) -> bool:  # else a refusal, a tuple that is not empty, were true
        return self.allowed


def connect(url: str, timeout: float = 0.02, **options: Any) -> redis.Redis:
    """A connection that fails fast and asks once: a question that is sent twice is counted twice."""
    retry = Retry(NoBackoff(), 0)
    return redis.Redis.from_url(
        url, socket_timeout=timeout, socket_connect_timeout=timeout, retry=retry, **options
    )


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


class _Words:
    """What is asked of whom, and what the reply means."""

    def __init__(self, of: Of, away: Away) -> None:
        if of not in ("serve", "module", "functions") or away not in ("closed", "open"):
            raise ValueError('of is "serve", "module" or "functions"; away is "closed" or "open"')
        self.of, self.when_away = of, away

    def take(self, limit: str, key: str | bytes, cost: int | Sequence[int]) -> list[Any]:
        costs = [cost] if isinstance(cost, int) else list(cost)
        if self.of == "functions":
            return ["FCALL", "weir_take", 1, key, limit, *costs]
        return ["WEIR.TAKE", limit, key, "COST", *costs]

    def settle(self, limit: str, key: str | bytes, receipt: str, actual: int) -> list[Any]:
        if self.of == "functions":
            return ["FCALL", "weir_settle", 1, key, limit, receipt, actual]
        return ["WEIR.SETTLE", *([limit, key] if self.of == "module" else []), receipt, actual]

    def answer(self, reply: Sequence[Any], cost: int | Sequence[int]) -> Answer:
        unit = 1e6 if self.of == "functions" else 1e9
        verdict, _, remaining, delay, retry, full, taken = reply[:7]
        receipt = _text(taken) if taken else None
        if receipt and self.of == "functions":
            receipt += "".join(f":{n}" for n in ([cost] if isinstance(cost, int) else cost))
        verdict = _text(verdict)
        waits = math.inf if verdict == "never" else retry / unit
        return Answer(verdict, remaining, delay / unit, waits, full / unit, receipt)

    def away(self) -> Answer:
        if self.when_away == "open":
            return Answer("allow", away=True)
        return Answer("deny", retry=1, away=True)


class Client:
    """take and settle, through redis-py."""

    def __init__(self, client: redis.Redis, of: Of = "serve", away: Away = "closed") -> None:
        self.client, self._words = client, _Words(of, away)

    def take(self, limit: str, key: str | bytes, cost: int | Sequence[int] = 1) -> Answer:
        """cost: one for all limits of the text, or a list with one for each."""
        words = self._words.take(limit, key, cost)
        try:
            reply = self.client.execute_command(*words)  # type: ignore[no-untyped-call]
        except _AWAY:
            return self._words.away()
        return self._words.answer(reply, cost)

    def settle(self, limit: str, key: str | bytes, answer: Answer, actual: int) -> bool:
        """Charge or refund the difference; False if it was settled before, took nothing, or weir is away."""
        if answer.receipt is None:
            return False
        try:
            words = self._words.settle(limit, key, answer.receipt, actual)
            return bool(self.client.execute_command(*words))  # type: ignore[no-untyped-call]
        except _AWAY:
            return False


class AsyncClient:
    """The same over redis.asyncio."""

    def __init__(self, client: redis.asyncio.Redis, of: Of = "serve", away: Away = "closed") -> None:
        self.client, self._words = client, _Words(of, away)

    async def take(self, limit: str, key: str | bytes, cost: int | Sequence[int] = 1) -> Answer:
        words = self._words.take(limit, key, cost)
        try:
            reply = await self.client.execute_command(*words)  # type: ignore[no-untyped-call]
        except _AWAY:
            return self._words.away()
        return self._words.answer(reply, cost)

    async def settle(self, limit: str, key: str | bytes, answer: Answer, actual: int) -> bool:
        if answer.receipt is None:
            return False
        try:
            words = self._words.settle(limit, key, answer.receipt, actual)
            return bool(await self.client.execute_command(*words))  # type: ignore[no-untyped-call]
        except _AWAY:
            return False
