# SPDX-License-Identifier: MIT
"""Holding slots of a concurrent limit, and waiting for them.

A slot is free when its holder releases it, which nobody can foresee, or when its lease is over.  So who waits stands in
a line, in the order of the calls, of which the first one tries: when this process gives a slot back, when a lease is
over and, where other processes give back, too, each AGAIN seconds.
"""

from __future__ import annotations

import asyncio
import collections
import contextlib
import math
import threading
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

from libweir._errors import LimitError, Refused
from libweir._weir import Decision, now_ns

if TYPE_CHECKING:
    from libweir import Cost, Waits

AGAIN = 0.01


class ThreadBell:
    """What a thread that waits is woken by."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self.ring: Callable[[], None] = self._event.set

    def wait(self, seconds: float) -> None:
        self._event.wait(min(seconds, threading.TIMEOUT_MAX))
        self._event.clear()


class TaskBell:
    """The same of a task, of asyncio or trio."""

    def __init__(self) -> None:
        self._rung = False
        self._wakes: Callable[[], None] = lambda: None
        self._call_soon: Callable[[Callable[[], None]], Any]
        try:
            self._call_soon = asyncio.get_running_loop().call_soon_threadsafe
            self._asyncio = True
        except RuntimeError:
            import trio

            self._call_soon = trio.lowlevel.current_trio_token().run_sync_soon
            self._asyncio = False

    def ring(self) -> None:
        with contextlib.suppress(RuntimeError):  # its loop is closed
            self._call_soon(self._wake)

    def _wake(self) -> None:
        self._rung = True
        self._wakes()

    async def wait(self, seconds: float) -> None:
        if not self._rung:
            await (self._wait_asyncio(seconds) if self._asyncio else self._wait_trio(seconds))
        self._rung = False

    async def _wait_asyncio(self, seconds: float) -> None:
        event = asyncio.Event()
        self._wakes = event.set
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(event.wait(), None if seconds == math.inf else seconds)

    async def _wait_trio(self, seconds: float) -> None:
        import trio

        event = trio.Event()
        self._wakes = event.set
        with trio.move_on_after(seconds):
            await event.wait()


class Line(collections.deque[Callable[[], None]]):
    """The bells of those who wait.  again: after how many seconds the first one tries in any case."""

    def __init__(self, again: float = math.inf) -> None:
        super().__init__()
        self._again = again

    def ring(self) -> None:
        """A slot may be free."""
        if self:
            with contextlib.suppress(IndexError):
                self[0]()

    def _steps(
        self, ring: Callable[[], None], limiter: Waits, cost: Cost, timeout: float | None
    ) -> Generator[float, None, Decision]:
        """For how many seconds to wait for the bell, again and again; then what was taken."""
        until_ns = math.inf if timeout is None else now_ns() + timeout * 1e9
        self.append(ring)
        try:
            while True:
                left = (until_ns - now_ns()) / 1e9
                is_first = self[0] is ring
                if not is_first:
                    if left <= 0:
                        raise Refused(limiter.peek(0))
                    yield left
                    continue
                decision = limiter.reserve(cost, 0)
                if decision.allowed:
                    return decision
                if decision.retry == math.inf or left <= 0:
                    raise Refused(decision)
                yield min(left, decision.retry, self._again)
        finally:
            self.remove(ring)
            self.ring()

    def wait(self, limiter: Waits, cost: Cost, timeout: float | None) -> Decision:
        bell = ThreadBell()
        steps = self._steps(bell.ring, limiter, cost, timeout)
        with contextlib.closing(steps):
            while True:
                try:
                    seconds = next(steps)
                except StopIteration as taken:
                    return taken.value  # type: ignore[no-any-return]
                bell.wait(seconds)

    async def wait_async(self, limiter: Waits, cost: Cost, timeout: float | None) -> Decision:
        bell = TaskBell()
        steps = self._steps(bell.ring, limiter, cost, timeout)
        with contextlib.closing(steps):
            while True:
                try:
                    seconds = next(steps)
                except StopIteration as taken:
                    return taken.value  # type: ignore[no-any-return]
                await bell.wait(seconds)


class Hold:
    """`with limiter.hold() as hold:` holds slots until the end of the block, however that ends; `async with`, too.

    `lost` tells that a lease was over before it was renewed or released: others may have had the slots meanwhile.
    """

    def __init__(self, limiter: Waits, cost: Cost, timeout: float | None, renew: bool) -> None:
        if not limiter._limit().lease:
            text = limiter._limit().text
            raise LimitError(f'no limit of "{text}" is concurrent; for example 20 concurrent lease=30s')
        self._limiter, self._cost, self._timeout, self._renews = limiter, cost, timeout, renew
        self._decision: Decision | None = None
        self._over = threading.Event()
        self.lost = False

    @property
    def decision(self) -> Decision:
        if self._decision is None:
            raise RuntimeError("a hold begins with its block: with limiter.hold() as hold: ...")
        return self._decision

    @property
    def id(self) -> int:
        """What renews and releases it elsewhere, too: in another process, of a table."""
        return self.decision.id

    def renew(self) -> bool:
        """Held for a whole lease from now on.  False: it is not held any more, and nothing is done."""
        held = self._limiter.renew(self.decision)
        self.lost = self.lost or not (held or self._over.is_set())
        return held

    def release(self) -> bool:
        """Ended now.  False: it was not held any more."""
        self.decision
        if self._over.is_set():
            return False
        self._over.set()
        held = self._limiter.release(self.decision)
        self.lost = self.lost or not held
        return held

    def _begin(self) -> None:
        if self._decision is not None:
            raise RuntimeError("a hold is for one block; the next one is limiter.hold() again")

    def _keep(self) -> None:
        while not self._over.wait(self.decision.plan.lease / 3) and self.renew():
            pass

    def _begun(self, decision: Decision) -> Hold:
        self._decision = decision
        if self._renews:
            threading.Thread(target=self._keep, name="libweir-renew", daemon=True).start()
        return self

    def __enter__(self) -> Hold:
        self._begin()
        return self._begun(self._limiter.wait(self._cost, self._timeout))

    def __exit__(self, *_: object) -> None:
        self.release()

    async def __aenter__(self) -> Hold:
        self._begin()
        return self._begun(await self._limiter.wait_async(self._cost, self._timeout))

    async def __aexit__(self, *_: object) -> None:
        self.release()
