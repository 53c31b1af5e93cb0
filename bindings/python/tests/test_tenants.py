# SPDX-License-Identifier: MIT
"""Tenants by name: guarantees are kept whatever others do, and what is idle is borrowed."""

from __future__ import annotations

from typing import Any

import pytest

import libweir


def test_guaranteed_and_borrowed() -> None:
    table = libweir.Table(keys=100)
    tenants = libweir.Tenants(
        table, "6/d", {"acme": "2/d guaranteed; 5/d", "bob": "3/d guaranteed", "*": "2/d"}, key="api"
    )
    told = [tenants.take("acme") for _ in range(6)]
    assert [(each.allowed, each.borrowed) for each in told] == [
        *[(True, False)] * 2, *[(True, True)] * 3, (False, False)
    ]  # fmt: skip
    assert told[5].decision.verdict == "deny" and told[5].retry > 3600 and not told[5]
    assert [tenants.take("bob").borrowed for _ in range(3)] == [False] * 3, "its guarantee, though others borrowed"
    assert not tenants.take("bob") and not tenants.take("eve")
    tenants.cancel(told[0])
    tenants.settle(told[1], 0)
    given_back = tenants.take("acme")
    assert given_back and not given_back.borrowed
    other = libweir.Tenants(table, "6/d", {"bob": "3/d guaranteed"}, key="another")
    assert other.take("eve", 2).borrowed and other.take("bob", 2).remaining == 1


def test_those_who_are_not_defined_only_borrow() -> None:
    tenants = libweir.Tenants(libweir.Table(keys=100), "6/d", {"bob": "3/d guaranteed", "*": "2/d"})
    assert tenants.take("eve", 2).borrowed and not tenants.take("eve") and tenants.take("dan").borrowed
    assert tenants.take("bob", 3) and not tenants.take("dan")


def test_what_cannot_be_guaranteed_is_refused() -> None:
    table: Any = libweir.Table(keys=100)
    with pytest.raises(libweir.LimitError, match="110/s in total, more than the 100/s of their parent, with the 80/s of 'b'"):
        libweir.Tenants(table, "100/s", {"a": "30/s guaranteed", "b": "80/s guaranteed; 90/s"})
    with pytest.raises(libweir.LimitError, match="nobody knows how many"):
        libweir.Tenants(table, "100/s", {"*": "30/s guaranteed"})
    with pytest.raises(libweir.LimitError, match="^'b' has no weight and others have one"):
        libweir.Tenants(table, "100/s", {"a": "30/s weight=2", "b": "8/s", "*": "unlimited weight=1"})
    with pytest.raises(libweir.LimitError, match='"\\*" has no weight and others have one'):
        libweir.Tenants(table, "100/s", {"a": "30/s guaranteed weight=2"})
    with pytest.raises(ValueError, match="brace"):
        libweir.Tenants(table, "100/s", {}, key="a}")
    with pytest.raises(libweir.LimitError, match="M is a million"):
        libweir.Tenants(table, "100/s", {"a": "10/M"})
    with pytest.raises(TypeError):
        table.take_all((("1/s", "a"),))
    with pytest.raises(TypeError, match="1 to 16"):
        table.take_all(())


def test_what_is_idle_is_shared_by_weight() -> None:
    texts = {"one": "unlimited weight=1", "four": "1/d guaranteed weight=4", "*": "unlimited weight=1"}
    tenants = libweir.Tenants(libweir.Table(keys=100), "100/d", texts)
    assert not tenants.take("four").borrowed
    passed = sum(tenants.take("one").allowed for _ in range(200))
    assert 40 < passed < 80, "who is in the lead leaves half of the burst to others"
    assert tenants.take("four").borrowed and tenants.take("eve").borrowed and not tenants.take("one")


def test_take_all_takes_from_all_or_none() -> None:
    table = libweir.Table(keys=100)
    asks = (("5/d", "a", 1), ("2/d", b"b", 1))
    assert [all(table.take_all(asks)) for _ in range(3)] == [True, True, False]
    assert table.peek("5/d", "a", 0).remaining == 3
