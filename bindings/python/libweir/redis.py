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

from libweir._weir import Plan

Cost = int | Sequence[int] | dict[str, int]  # of all limits; of each; by unit: {"tokens": 812}
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
    id: int | None = None  # of what it holds under a concurrent limit, to renew and release

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


_ID = 8  # in a reply, where the limit is concurrent


def _words_of(cost: Cost) -> list[Any]:
    """As COST takes them."""
    if isinstance(cost, dict):
        return [word for pair in cost.items() for word in pair]
    return [cost] if isinstance(cost, int) else list(cost)


def _costs(limit: str, cost: Cost) -> list[int]:
    """A number for each limit, as a receipt has them."""
    if isinstance(cost, dict):
        return [cost[unit] if unit != "requests" else cost.get(unit, 1) for unit in Plan(limit).units]
    return [cost] if isinstance(cost, int) else list(cost)


class _Words:
    """What is asked of whom, and what the reply means."""

    def __init__(self, of: Of, away: Away) -> None:
        if of not in ("serve", "module", "functions") or away not in ("closed", "open"):
            raise ValueError('of is "serve", "module" or "functions"; away is "closed" or "open"')
        self.of, self.when_away = of, away

    def take(self, limit: str, key: str | bytes, cost: Cost) -> list[Any]:
        costs = _costs(limit, cost) if self.of == "functions" else _words_of(cost)
        if self.of == "functions":
            return ["FCALL", "weir_take", 1, key, limit, *costs]
        return ["WEIR.TAKE", limit, key, "COST", *costs]

    def settle(self, limit: str, key: str | bytes, receipt: str, actual: Cost) -> list[Any]:
        if actual == 0 and self.of != "serve":
            actual = [0] * len(Plan(limit).units)
        numbers = _costs(limit, actual)
        if self.of == "functions":
            return ["FCALL", "weir_settle", 1, key, limit, receipt, *numbers]
        return ["WEIR.SETTLE", *([limit, key] if self.of == "module" else []), receipt, *numbers]

    def hold(self, verb: Literal["renew", "release"], limit: str, key: str | bytes, id: int) -> list[Any]:
        if self.of == "functions":
            return ["FCALL", f"weir_{verb}", 1, key, limit, id]
        return [f"WEIR.{verb.upper()}", limit, key, id]

    def answer(self, reply: Sequence[Any], limit: str, cost: Cost) -> Answer:
        unit = 1e6 if self.of == "functions" else 1e9
        verdict, _, remaining, delay, retry, full, taken = reply[:7]
        receipt = _text(taken) if taken else None
        if receipt and self.of == "functions":
            receipt += "".join(f":{n}" for n in _costs(limit, cost))
        verdict = _text(verdict)
        waits = math.inf if verdict == "never" else retry / unit
        held = int(reply[_ID]) if len(reply) > _ID and reply[_ID] else None
        return Answer(verdict, remaining, delay / unit, waits, full / unit, receipt, id=held)

    def away(self) -> Answer:
        if self.when_away == "open":
            return Answer("allow", away=True)
        return Answer("deny", retry=1, away=True)


class Client:
    """take and settle, through redis-py."""

    def __init__(self, client: redis.Redis, of: Of = "serve", away: Away = "closed") -> None:
        self.client, self._words = client, _Words(of, away)

    def take(self, limit: str, key: str | bytes, cost: Cost = 1) -> Answer:
        """cost: one for all limits of the text, a list with one for each, or by unit: {"tokens": 812}."""
        words = self._words.take(limit, key, cost)
        try:
            reply = self.client.execute_command(*words)  # type: ignore[no-untyped-call]
        except _AWAY:
            return self._words.away()
        return self._words.answer(reply, limit, cost)

    def settle(self, limit: str, key: str | bytes, answer: Answer, actual: Cost) -> bool:
        """Charge or refund the difference; False if it was settled before, took nothing, or weir is away."""
        if answer.receipt is None:
            return False
        try:
            words = self._words.settle(limit, key, answer.receipt, actual)
            return bool(self.client.execute_command(*words))  # type: ignore[no-untyped-call]
        except _AWAY:
            return False

    def renew(self, limit: str, key: str | bytes, held: Answer | int) -> bool:
        """What it holds under a concurrent limit is held for a whole lease from now on; False: not any more, or weir
        is away."""
        return self._hold("renew", limit, key, held)

    def release(self, limit: str, key: str | bytes, held: Answer | int) -> bool:
        """It ends now; False: it was not held any more, or weir is away."""
        return self._hold("release", limit, key, held)

    def _hold(self, verb: Literal["renew", "release"], limit: str, key: str | bytes, held: Answer | int) -> bool:
        id = held.id if isinstance(held, Answer) else held
        if id is None:
            return False
        try:
            words = self._words.hold(verb, limit, key, id)
            return bool(self.client.execute_command(*words))  # type: ignore[no-untyped-call]
        except _AWAY:
            return False


class AsyncClient:
    """The same over redis.asyncio."""

    def __init__(self, client: redis.asyncio.Redis, of: Of = "serve", away: Away = "closed") -> None:
        self.client, self._words = client, _Words(of, away)

    async def take(self, limit: str, key: str | bytes, cost: Cost = 1) -> Answer:
        words = self._words.take(limit, key, cost)
        try:
            reply = await self.client.execute_command(*words)  # type: ignore[no-untyped-call]
        except _AWAY:
            return self._words.away()
        return self._words.answer(reply, limit, cost)

    async def settle(self, limit: str, key: str | bytes, answer: Answer, actual: Cost) -> bool:
        if answer.receipt is None:
            return False
        try:
            words = self._words.settle(limit, key, answer.receipt, actual)
            return bool(await self.client.execute_command(*words))  # type: ignore[no-untyped-call]
        except _AWAY:
            return False

    async def renew(self, limit: str, key: str | bytes, held: Answer | int) -> bool:
        """What it holds under a concurrent limit is held for a whole lease from now on; False: not any more, or weir
        is away."""
        return await self._hold("renew", limit, key, held)

    async def release(self, limit: str, key: str | bytes, held: Answer | int) -> bool:
        """It ends now; False: it was not held any more, or weir is away."""
        return await self._hold("release", limit, key, held)

    async def _hold(self, verb: Literal["renew", "release"], limit: str, key: str | bytes, held: Answer | int) -> bool:
        id = held.id if isinstance(held, Answer) else held
        if id is None:
            return False
        try:
            words = self._words.hold(verb, limit, key, id)
            return bool(await self.client.execute_command(*words))  # type: ignore[no-untyped-call]
        except _AWAY:
            return False
