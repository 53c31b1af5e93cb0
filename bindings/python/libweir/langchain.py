# SPDX-License-Identifier: MIT
"""A rate limiter for LangChain's models, for all processes where it is a table's.

    limiter = libweir.langchain.RateLimiter(table.limiter("60/min", "openai"))
    model = ChatOpenAI(model=..., rate_limiter=limiter)
"""

from __future__ import annotations

from langchain_core.rate_limiters import BaseRateLimiter

from libweir import Waits, limiter_of


class RateLimiter(BaseRateLimiter):
    """limit: a limiter, or a text for one of this process."""

    def __init__(self, limit: Waits | str) -> None:
        self.limiter = limiter_of(limit)._no_lease()  # it is not told when a call has ended

    def acquire(self, *, blocking: bool = True) -> bool:
        return (self.limiter.wait() if blocking else self.limiter.reserve(1, 0)).allowed

    async def aacquire(self, *, blocking: bool = True) -> bool:
        return (await self.limiter.wait_async() if blocking else self.limiter.reserve(1, 0)).allowed
