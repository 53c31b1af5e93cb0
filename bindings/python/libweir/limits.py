# SPDX-License-Identifier: MIT
"""A storage for `limits`, so for slowapi and Flask-Limiter as they are: one limit for all worker processes.

    import libweir.limits                                # makes the scheme known
    Limiter(key_func=..., storage_uri="weir:///run/app/limits")

The path is a table's file; `?keys=` how many keys may be in use (100,000).  The strategies are fixed-window and
moving-window; the logs of the latter are in files beside it, one for each power of two of a limit's amount.  The
scheme async+weir is the same for limits.aio.
"""

from __future__ import annotations

import os
import threading
import time
import urllib.parse

from limits.aio.storage import MovingWindowSupport as AsyncMovingWindowSupport
from limits.aio.storage import Storage as AsyncStorage
from limits.errors import ConfigurationError
from limits.limits import GRANULARITIES
from limits.storage import MovingWindowSupport, Storage

from libweir import Error, Plan, Table

_COUNT = 1_000_000_000  # `limits` counts refused calls too, and compares itself: a window that never fills
_KEYS = 100_000
_REMEMBERED = 10_000  # expiries of keys that do not say theirs


def _counter(expiry: float) -> str:
    return f"{_COUNT}/{round(expiry * 1000)}ms algorithm=fixed-window"


def _log(limit: int, expiry: float) -> str:
    return f"{limit}/{round(expiry * 1000)}ms algorithm=sliding-log edge=closed"


def _expiry_in(key: str) -> int | None:
    """What a RateLimitItem's key says at its end: .../10/1/minute."""
    parts = key.rsplit("/", 2)
    if len(parts) == 3 and parts[1].isdigit() and parts[2] in GRANULARITIES:
        return int(parts[1]) * GRANULARITIES[parts[2]].GRANULARITY.seconds
    return None


class _Windows:
    """Counters and logs of one path."""

    def __init__(self, path: str, keys: int) -> None:
        self.path, self.keys = path, keys
        self.counters = Table(path, keys, Plan(_counter(60)))
        self.logs: dict[int, Table] = {}
        self.expiries: dict[str, float] = {}
        self.lock = threading.Lock()

    def log_of(self, limit: int) -> Table:
        """The logs that this amount fits in, opened when first needed: large ones for fewer keys."""
        size = max(1 << (limit - 1).bit_length(), 8)
        with self.lock:
            if size not in self.logs:
                keys = min(max(self.keys * 32 // size, 16), self.keys)
                self.logs[size] = Table(f"{self.path}.log{size}", keys, Plan(_log(size, 60)))
            return self.logs[size]

    def expiry_of(self, key: str) -> float:
        return _expiry_in(key) or self.expiries.get(key, 60)

    def count(self, key: str, expiry: float, amount: int) -> int:
        if _expiry_in(key) is None:
            if len(self.expiries) >= _REMEMBERED:
                self.expiries.clear()
            self.expiries[key] = expiry
        decision = self.counters.take(_counter(expiry), key, amount)
        return _COUNT - decision.remaining if decision.allowed else _COUNT

    def counted(self, key: str) -> int:
        return _COUNT - self.counters.peek(_counter(self.expiry_of(key)), key, 0).remaining

    def ends(self, key: str) -> float:
        return time.time() + self.counters.peek(_counter(self.expiry_of(key)), key, 0).reset

    def enter(self, key: str, limit: int, expiry: float, amount: int) -> bool:
        return amount <= limit and self.log_of(limit).take(_log(limit, expiry), key, amount).allowed

    def window(self, key: str, limit: int, expiry: float) -> tuple[float, int]:
        """When the oldest entry was made, and how many count."""
        table, plan, now = self.log_of(limit), _log(limit, expiry), time.time()
        left = table.peek(plan, key, 0).remaining
        if left >= limit:
            return now, 0
        return now + table.peek(plan, key, left + 1).retry - expiry, limit - left

    def forget(self, key: str) -> None:
        self.counters.forget(_counter(self.expiry_of(key)), key)
        for table in list(self.logs.values()):
            table.forget(_log(1, 60), key)


def _open(uri: str | None, keys: float | str | bool) -> _Windows:
    parsed = urllib.parse.urlparse(uri or "")
    if not parsed.path or parsed.netloc:
        raise ConfigurationError(f"{uri}: expected the path of a file; for example weir:///run/app/limits")
    return _Windows(parsed.path, int(dict(urllib.parse.parse_qsl(parsed.query)).get("keys", keys)))


class WeirStorage(Storage, MovingWindowSupport):
    STORAGE_SCHEME = ["weir"]

    def __init__(
        self, uri: str | None = None, wrap_exceptions: bool = False, keys: int = _KEYS, **options: float | str | bool
    ) -> None:
        super().__init__(uri, wrap_exceptions=wrap_exceptions, **options)
        self._windows = _open(uri, keys)

    @property
    def base_exceptions(self) -> type[Exception] | tuple[type[Exception], ...]:
        return Error

    def incr(self, key: str, expiry: int, amount: int = 1) -> int:
        return self._windows.count(key, expiry, amount)

    def get(self, key: str) -> int:
        return self._windows.counted(key)

    def get_expiry(self, key: str) -> float:
        return self._windows.ends(key)

    def acquire_entry(self, key: str, limit: int, expiry: int, amount: int = 1) -> bool:
        return self._windows.enter(key, limit, expiry, amount)

    def get_moving_window(self, key: str, limit: int, expiry: int) -> tuple[float, int]:
        return self._windows.window(key, limit, expiry)

    def check(self) -> bool:
        return os.path.exists(self._windows.path)

    def reset(self) -> int | None:
        """Not offered, as by memcached's storage: other processes use the file.  Remove it while none does."""
        raise NotImplementedError

    def clear(self, key: str) -> None:
        self._windows.forget(key)


class AsyncWeirStorage(AsyncStorage, AsyncMovingWindowSupport):
    """The same; no call waits for more than another process's lock."""

    STORAGE_SCHEME = ["async+weir"]

    def __init__(
        self, uri: str | None = None, wrap_exceptions: bool = False, keys: int = _KEYS, **options: float | str | bool
    ) -> None:
        super().__init__(uri, wrap_exceptions=wrap_exceptions, **options)
        self._windows = _open(uri, keys)

    @property
    def base_exceptions(self) -> type[Exception] | tuple[type[Exception], ...]:
        return Error

    async def incr(self, key: str, expiry: int, amount: int = 1) -> int:
        return self._windows.count(key, expiry, amount)

    async def get(self, key: str) -> int:
        return self._windows.counted(key)

    async def get_expiry(self, key: str) -> float:
        return self._windows.ends(key)

    async def acquire_entry(self, key: str, limit: int, expiry: int, amount: int = 1) -> bool:
        return self._windows.enter(key, limit, expiry, amount)

    async def get_moving_window(self, key: str, limit: int, expiry: int) -> tuple[float, int]:
        return self._windows.window(key, limit, expiry)

    async def check(self) -> bool:
        return os.path.exists(self._windows.path)

    async def reset(self) -> int | None:
        raise NotImplementedError

    async def clear(self, key: str) -> None:
        self._windows.forget(key)
