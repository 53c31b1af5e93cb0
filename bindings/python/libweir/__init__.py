# SPDX-License-Identifier: MIT
"""weir, a rate limiter: may this operation start now, and if not, when?

    limiter = libweir.Limiter("10/s burst=20")           # for the threads and tasks of this process
    table = libweir.Table("/run/app.weir")               # a limit for each key, for all processes
    if limiter.take().allowed and table.take("10/min", "user:42"): ...

Times are seconds as float, and ns as int where a name ends in _ns.  weir_limiter(3), weir_table(3) and weir-limit(7)
have the whole story.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import inspect
import math
import os
import sys
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypeVar, overload

from libweir import _weir
from libweir._errors import Error, LimitError, Refused, TableError
from libweir._hold import AGAIN, Hold, Line
from libweir._tenants import Taken, Tenants
from libweir._weir import Decision, Plan, headers, now_ns, sleep_until
from libweir._weir import version as __version__

__all__ = [
    "Decision", "Error", "Hold", "Keyed", "LimitError", "Limiter", "Operation", "Plan", "Refused", "Table", "TableError",
    "Taken", "Tenants",
    "Waits", "headers", "now_ns", "pace", "sleep_until",
]  # fmt: skip

if TYPE_CHECKING:
    from typing_extensions import Self

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
Cost = int | dict[str, int]  # of each limit, or by unit: {"tokens": 812}


async def _sleep_until(when_ns: int) -> None:
    """One timer of the event loop, of asyncio's or, through anyio, of trio's; no thread."""
    sleep: Callable[[float], Any] = asyncio.sleep
    if "trio" in sys.modules:
        with contextlib.suppress(ImportError):
            import anyio

            sleep = anyio.sleep
    while (left_ns := when_ns - now_ns()) > 0:  # an event loop's clock is a float, and may be early by its rounding
        await sleep(left_ns / 1e9)


class Waits:
    """What waits for a start, by `reserve`, which is a subclass's: one sleep for each call, no polling.

    A limit that cannot be taken ahead of time (fixed-window, sliding-window, those that count refused calls) is tried
    again when it would pass.
    """

    def reserve(
        self, cost: Cost = 1, delay_max: float | None = None, delay_max_ns: int | None = None
    ) -> Decision:
        raise NotImplementedError

    def peek(self, cost: int = 1) -> Decision:
        raise NotImplementedError

    def cancel(self, decision: Decision) -> None:
        raise NotImplementedError

    def renew(self, held: Decision | int, /) -> bool:
        raise NotImplementedError

    def release(self, held: Decision | int, /) -> bool:
        raise NotImplementedError

    def _limit(self) -> Plan:
        raise NotImplementedError

    _waiting: Line  # those who wait for a slot of a concurrent limit, if somebody does

    def _line(self) -> Line:
        """To wait there, too."""
        return self._waiting

    def hold(self, cost: Cost = 1, timeout: float | None = None, *, renew: bool = False) -> Hold:
        """`with limiter.hold():` holds a slot of a concurrent limit until the end of the block; `async with`, too.

        It waits in the order of the calls, and raises Refused after timeout seconds: 0 does not wait.  A block that
        takes longer than a lease calls `renew()` of the hold; renew=True has a thread do it for each third of a lease,
        as long as the process lives, whatever the block does.
        """
        return Hold(self, cost, timeout, renew)

    def _turn(self) -> Hold | Waits:
        """Its start and, under a concurrent limit, its end."""
        return self.hold() if self._limit().lease else self

    def _no_lease(self) -> Waits:
        if self._limit().lease:
            raise LimitError("a concurrent limit is held: with limiter.hold(): ...")
        return self

    def _until(self, decision: Decision, deadline_ns: int | None) -> int:
        """Until when to sleep: for its start, or for another try."""
        if decision.allowed:
            return decision.start_ns
        again_ns = now_ns() + decision.retry_ns
        if decision.retry == math.inf or (deadline_ns is not None and again_ns > deadline_ns):
            raise Refused(decision)
        return again_ns

    def _again(self, cost: Cost, deadline_ns: int | None) -> Decision:
        return self.reserve(cost, None, None if deadline_ns is None else max(deadline_ns - now_ns(), 0))

    def wait(self, cost: Cost = 1, timeout: float | None = None) -> Decision:
        """Sleep until the permits' start, never less.  Raise Refused, at once, if that is more than timeout away.

        A signal's handler runs meanwhile; if it raises (KeyboardInterrupt), the permits are given back.
        """
        if self._waiting:
            return self._line().wait(self, cost, timeout)
        decision = self.reserve(cost, timeout)
        if decision.allowed and not decision.delay_ns:
            return decision
        if decision.plan.lease and not decision.allowed:
            return self._line().wait(self, cost, timeout)
        deadline_ns = None if timeout is None else now_ns() + int(timeout * 1e9)
        while True:
            try:
                sleep_until(self._until(decision, deadline_ns))
            except BaseException:
                self.cancel(decision)
                raise
            if decision.allowed:
                return decision
            decision = self._again(cost, deadline_ns)

    async def wait_async(self, cost: Cost = 1, timeout: float | None = None) -> Decision:
        """`wait` for asyncio and trio.  A task that is cancelled meanwhile gives its permits back."""
        if self._waiting:
            return await self._line().wait_async(self, cost, timeout)
        decision = self.reserve(cost, timeout)
        if decision.allowed and not decision.delay_ns:
            return decision
        if decision.plan.lease and not decision.allowed:
            return await self._line().wait_async(self, cost, timeout)
        deadline_ns = None if timeout is None else now_ns() + int(timeout * 1e9)
        while True:
            try:
                await _sleep_until(self._until(decision, deadline_ns))
            except BaseException:
                self.cancel(decision)
                raise
            if decision.allowed:
                return decision
            decision = self._again(cost, deadline_ns)

    def __enter__(self) -> Decision:
        return self._no_lease().wait()

    def __exit__(self, *_: object) -> None:
        pass

    async def __aenter__(self) -> Decision:
        return await self._no_lease().wait_async()

    async def __aexit__(self, *_: object) -> None:
        pass

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        """As a decorator, of a function or of an async one: each call waits for a permit, or holds a slot."""
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def wait_first(*args: P.args, **kwargs: P.kwargs) -> Any:
                async with self._turn():
                    return await function(*args, **kwargs)

            return wait_first  # type: ignore[return-value]
        if inspect.isasyncgenfunction(function):
            raise TypeError("an async generator: `async with` the limiter in it, or libweir.pace what it yields")

        @functools.wraps(function)
        def waiting(*args: P.args, **kwargs: P.kwargs) -> R:
            with self._turn():
                return function(*args, **kwargs)

        return waiting


class Limiter(_weir.Limiter, Waits):
    """Limiter(limits, use="admit", clock="system"): one limit, for the threads and tasks of this process."""

    def __new__(
        cls,
        limits: str,
        use: Literal["admit", "pace"] = "admit",
        clock: Literal["system", "coarse", "ticker", "manual", "tsc"] = "system",
    ) -> Self:
        self = super().__new__(cls, limits, use, clock)
        self._waiting = Line()
        return self

    def __repr__(self) -> str:
        return f"<Limiter {self.plan.text}>"

    def _limit(self) -> Plan:
        return self.plan

    def release(self, held: Decision | int, /) -> bool:
        released = super().release(held)
        self._waiting.ring()
        return released

    def cancel(self, decision: Decision, /) -> None:
        super().cancel(decision)
        self._waiting.ring()

    def settle(self, decision: Decision, actual: Cost) -> None:
        super().settle(decision, actual)
        self._waiting.ring()

    def set_limit(self, limits: str, carry: Literal["keep", "scale", "reset"] = "keep") -> None:
        super().set_limit(limits, carry)
        self._waiting.ring()

    def stop(self) -> None:
        super().stop()
        self._waiting.ring()

    def operation(self, cost: Cost = 1, timeout: float | None = None) -> Operation:
        """`with limiter.operation():` waits for a start; the end of the block is `done`.  `async with`, too."""
        return Operation(self, cost, timeout)


class Operation:
    """Of a limiter's `operation`: what fails has taken its time, too."""

    def __init__(self, limiter: Limiter, cost: Cost, timeout: float | None) -> None:
        self._limiter, self._cost, self._timeout = limiter, cost, timeout

    def __enter__(self) -> Decision:
        self._decision = self._limiter.wait(self._cost, self._timeout)
        return self._decision

    def __exit__(self, *_: object) -> None:
        self._end()

    async def __aenter__(self) -> Decision:
        self._decision = await self._limiter.wait_async(self._cost, self._timeout)
        return self._decision

    async def __aexit__(self, *_: object) -> None:
        self._end()

    def _end(self) -> None:
        self._limiter.done(self._decision)
        if self._decision.id:
            self._limiter.release(self._decision)


def limiter_of(limit: str | Waits, use: Literal["admit", "pace"] = "admit") -> Waits:
    """The limiter, or one of this process for a text: what `pace` and the front doors take."""
    if isinstance(limit, Waits):
        return limit
    if isinstance(limit, str):
        return Limiter(limit, use)
    raise TypeError(f"limit: expected a str such as \"10/s\", a Limiter or table.limiter(...), not {type(limit)}")


_NOBODY = Line()


@functools.lru_cache(1000)
def _plan_of(text: str) -> Plan:
    return Plan(text)


class Keyed(Waits):
    """One key of a table under one limit: what a Limiter is, for all processes that share the table."""

    def __init__(self, table: Table, limit: str | Plan, key: str | bytes) -> None:
        self.table, self.limit, self.key = table, limit, key

    def __repr__(self) -> str:
        return f"<Keyed {self.limit} {self.key!r}>"

    def take(self, cost: Cost = 1) -> Decision:
        return self.table.take(self.limit, self.key, cost)

    def reserve(
        self, cost: Cost = 1, delay_max: float | None = None, delay_max_ns: int | None = None
    ) -> Decision:
        return self.table.reserve(self.limit, self.key, cost, delay_max, delay_max_ns)

    def peek(self, cost: int = 1) -> Decision:
        return self.table.peek(self.limit, self.key, cost)

    def charge(self, cost: Cost) -> Decision:
        return self.table.charge(self.limit, self.key, cost)

    def settle(self, decision: Decision, actual: Cost) -> None:
        self.table.settle(self.limit, self.key, decision, actual)

    def cancel(self, decision: Decision) -> None:
        self.table.settle(self.limit, self.key, decision, 0)

    def renew(self, held: Decision | int, /) -> bool:
        return self.table.renew(self.limit, self.key, held)

    def release(self, held: Decision | int, /) -> bool:
        return self.table.release(self.limit, self.key, held)

    def _limit(self) -> Plan:
        return self.limit if isinstance(self.limit, Plan) else _plan_of(self.limit)

    @property
    def _waiting(self) -> Line:  # type: ignore[override]
        return self._line() if self.table._lines else _NOBODY

    def _line(self) -> Line:
        return self.table._line_of(self.key)


class Table(_weir.Table):
    """A limit for each of millions of keys, in memory of a fixed size, for all processes that open the path.

    Without a path it is shared with children made by fork; with sharing="private" not even with them.  keys: how many
    may be in use at once; default a million.  plan: for algorithms other than gcra, the limit with the largest state
    that the table shall hold.  when_full: what a new key gets then; with "inherit" no key gets too much.  mode: of a
    new file.  top: how many of the most refused keys to track.  refill_max, lock_wait: seconds; see weir_table(3).
    """

    _lines: dict[bytes, Line]
    _again: float

    def __new__(
        cls,
        path: str | os.PathLike[str] | None = None,
        keys: int | None = None,
        plan: str | Plan | None = None,
        *,
        when_full: Literal["inherit", "evict", "deny", "allow"] = "inherit",
        sharing: Literal["join_or_create", "join", "create", "private"] = "join_or_create",
        mode: int = 0o600,
        refill_max: float | None = None,
        top: int = 0,
        lock_wait: float | None = None,
    ) -> Self:
        self = super().__new__(
            cls,
            None if path is None else os.fsencode(path),
            keys,
            Plan(plan) if isinstance(plan, str) else plan,
            when_full=when_full,
            sharing=sharing,
            mode=mode,
            refill_max=refill_max,
            top=top,
            lock_wait=lock_wait,
        )
        self._lines = {}
        self._again = math.inf if sharing == "private" else AGAIN
        return self

    def _line_of(self, key: str | bytes) -> Line:
        """Kept while somebody waits: that this one is not there any more costs at most its place and AGAIN seconds."""
        as_bytes = key if isinstance(key, bytes) else key.encode()
        for empty in [key for key, line in self._lines.items() if not line]:
            self._lines.pop(empty, None)
        return self._lines.setdefault(as_bytes, Line(self._again))

    def _ring(self, key: str | bytes) -> None:
        if self._lines:
            self._line_of(key).ring()

    def release(self, limit: str | Plan, key: str | bytes, held: Decision | int) -> bool:
        released = super().release(limit, key, held)
        self._ring(key)
        return released

    def settle(self, limit: str | Plan, key: str | bytes, decision: Decision, actual: Cost) -> None:
        super().settle(limit, key, decision, actual)
        self._ring(key)

    def hold(
        self,
        limit: str | Plan,
        key: str | bytes,
        cost: Cost = 1,
        timeout: float | None = None,
        *,
        renew: bool = False,
    ) -> Hold:
        """`with table.hold(limit, key):` holds a slot of the key for all processes; see Limiter.hold."""
        return Hold(Keyed(self, limit, key), cost, timeout, renew)

    def limiter(self, limit: str | Plan, key: str | bytes) -> Keyed:
        """One key of the table as a limiter: a decorator, a context manager, what the front doors take."""
        self.peek(limit, key)  # what is wrong is told now
        return Keyed(self, limit, key)

    def cancel(self, limit: str | Plan, key: str | bytes, decision: Decision) -> None:
        """The operation never ran: settle to 0."""
        self.settle(limit, key, decision, 0)

    def wait(self, limit: str | Plan, key: str | bytes, cost: Cost = 1, timeout: float | None = None) -> Decision:
        """Sleep until the permits' start; raise Refused, at once, if that is more than timeout away."""
        return Keyed(self, limit, key).wait(cost, timeout)

    async def wait_async(
        self, limit: str | Plan, key: str | bytes, cost: Cost = 1, timeout: float | None = None
    ) -> Decision:
        """`wait` for asyncio and trio."""
        return await Keyed(self, limit, key).wait_async(cost, timeout)


@overload
def pace(items: Iterable[T], limit: str | Waits) -> Iterator[T]: ...
@overload
def pace(items: AsyncIterable[T], limit: str | Waits) -> AsyncIterator[T]: ...
def pace(items: Iterable[T] | AsyncIterable[T], limit: str | Waits) -> Iterator[T] | AsyncIterator[T]:
    """The items, each at its time: for item in pace(items, "100/s").  A text is paced by `hybrid`, which holds the
    average; a limiter may be shared by several loops.  A Limiter records how long the loop has each item: `latency`.
    Where a profile ends, so does the loop."""
    limiter = limiter_of(limit, "pace")
    return _pace_async(items, limiter) if isinstance(items, AsyncIterable) else _pace(items, limiter)


def _done(limiter: Waits, decision: Decision) -> None:
    if decision.id:
        limiter.release(decision)
    if isinstance(limiter, Limiter):
        limiter.done(decision)


def _has_ended(limiter: Waits, refused: Refused) -> bool:
    """Whether it is a profile, of which nothing is due any more."""
    return refused.decision.verdict == "deny" and isinstance(limiter, Limiter) and not limiter.paused


def _pace(items: Iterable[T], limiter: Waits) -> Iterator[T]:
    for item in items:
        try:
            decision = limiter.wait()
        except Refused as refused:
            if _has_ended(limiter, refused):
                return
            raise
        yield item
        _done(limiter, decision)


async def _pace_async(items: AsyncIterable[T], limiter: Waits) -> AsyncIterator[T]:
    async for item in items:
        try:
            decision = await limiter.wait_async()
        except Refused as refused:
            if _has_ended(limiter, refused):
                return
            raise
        yield item
        _done(limiter, decision)
