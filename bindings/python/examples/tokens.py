# SPDX-License-Identifier: MIT
"""A model's tokens, a budget that all processes share: take an estimate, and settle to what the answer had.

    python tokens.py & python tokens.py
"""

import asyncio
import os
import random

import libweir

TABLE = os.environ.get("TABLE", "/dev/shm/tokens.weir")

budget = libweir.Table(TABLE, keys=1000).limiter("60000 tokens/min burst=10000", "acme")


async def ask(question: int) -> None:
    estimate = await budget.wait_async(800)
    used = random.randrange(200, 1200)  # here the model would answer
    budget.settle(estimate, used)
    print(f"question {question}: {used} tokens, {budget.peek(0).remaining} left")


async def main() -> None:
    await asyncio.gather(*(ask(question) for question in range(15)))


if __name__ == "__main__":
    asyncio.run(main())
