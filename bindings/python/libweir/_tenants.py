# SPDX-License-Identifier: MIT
"""Tenants of one limit: each is guaranteed its own rate, and borrows what the others leave."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from libweir._errors import LimitError
from libweir._weir import Decision, Plan, check_tenants

if TYPE_CHECKING:
    from libweir import Table

Asks = tuple[tuple[Plan, str, int], ...]


class Taken(NamedTuple):
    """What a tenant's call was told: by its own limits and by its parent's."""

    parts: tuple[Decision, ...]
    asks: Asks

    @property
    def allowed(self) -> bool:
        return all(part.allowed for part in self.parts)

    def __bool__(self) -> bool:
        return self.allowed

    @property
    def decision(self) -> Decision:
        """That of the tenant's own limits; refused: that which refuses for longest."""
        refused = [part for part in self.parts if not part.allowed]
        return max(refused, key=lambda part: part.retry_ns) if refused else self.parts[0]

    @property
    def borrowed(self) -> bool:
        """It passed, but not by the tenant's guarantee."""
        return self.allowed and (len(self.parts) == 1 or self.parts[0].borrowed or not _guarantees(self.asks[0][0]))

    @property
    def retry(self) -> float:
        return self.decision.retry

    @property
    def remaining(self) -> int:
        return self.decision.remaining


def _guarantees(plan: Plan) -> bool:
    return " guaranteed" in plan.text


class Tenants:
    """Tenants(table, "100/s", {"acme": "20/s guaranteed; 80/s", "*": "50/s"}): by name, their limits.

    A guaranteed limit is what a tenant has whatever others do; the limits behind it are its ceiling, up to which it
    borrows what is idle.  "*" is everybody else's, who only borrow; without it they have no ceiling but the parent's.
    Guarantees that are more than the parent's rate in total raise LimitError.  Give each a weight, "*" too, or none:
    "20/s guaranteed weight=3", "unlimited weight=1"; what is idle is then theirs by weight.

    The state is in the table, by `key` and the tenant's name: another Tenants of the same key changes the limits, and
    what was taken stays taken.
    """

    def __init__(
        self, table: Table, parent: str | Plan, tenants: Mapping[str, str | Plan], key: str = "tenants"
    ) -> None:
        self.table, self.key = table, key
        self.parent = Plan(parent) if isinstance(parent, str) else parent
        self.tenants = {name: Plan(text) if isinstance(text, str) else text for name, text in tenants.items()}
        if "}" in key:
            raise ValueError(f"key: {key!r} has a brace, which ends it")
        if "*" in self.tenants and _guarantees(self.tenants["*"]):
            raise LimitError('"*" guarantees nothing: nobody knows how many they are')
        if "*" not in self.tenants and any(" weight=" in plan.text for plan in self.tenants.values()):
            raise LimitError('"*" has no weight and others have one; for example "*": "unlimited weight=1"')
        names = tuple(self.tenants)
        try:
            check_tenants(self.parent, tuple(self.tenants.values()))
        except LimitError as error:
            message = re.sub(r"tenants\[(\d+)\]", lambda index: repr(names[int(index[1])]), str(error))
            raise LimitError(message) from None
        for plan in (self.parent, *self.tenants.values()):
            table.peek(plan, "")  # what does not fit is told now

    def take(self, tenant: str, cost: int = 1) -> Taken:
        """Takes the permits from the tenant and its parent if they are available now, and else none."""
        plan = self.tenants.get(tenant) or self.tenants.get("*")
        own: Asks = () if plan is None else ((plan, f"{{{self.key}}}:{tenant}", cost),)
        asks = (*own, (self.parent, f"{{{self.key}}}", cost))
        return Taken(self.table.take_all(asks), asks)

    def settle(self, taken: Taken, actual: int) -> None:
        """Charge or refund the difference; once."""
        for part, (plan, key, _) in zip(taken.parts, taken.asks):
            self.table.settle(plan, key, part, actual)

    def cancel(self, taken: Taken) -> None:
        """The operation never ran: settle to 0."""
        self.settle(taken, 0)
