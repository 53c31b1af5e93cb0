# SPDX-License-Identifier: MIT
"""A pytest plugin: the storage and strategy tests of `limits`, as they are in its sdist, against weir's storage.

    pytest --noconftest -p limits_suite tests/test_storage.py tests/test_strategy.py

Of each test the case "in-memory" runs, with weir's storage instead; the others need servers.
"""

from __future__ import annotations

import itertools
import tempfile
from typing import Any

import pytest

from libweir.limits import WeirStorage

NOT_OFFERED = {
    "test_storage_reset": "reset: other processes use the file; memcached's storage has none either",
    "sliding_window": "the strategy sliding-window-counter is not offered",
}
_numbers = itertools.count()
_folder = tempfile.TemporaryDirectory(prefix="weir-limits-")


def pytest_collection_modifyitems(config: pytest.Config, items: list[Any]) -> None:
    kept = [item for item in items if getattr(item, "callspec", None) and item.callspec.id == "in-memory"]
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = kept
    for item in kept:
        item.callspec.params["uri"] = f"weir://{_folder.name}/{next(_numbers)}"
        if "expected_instance" in item.callspec.params:
            item.callspec.params["expected_instance"] = WeirStorage
        for name, reason in NOT_OFFERED.items():
            if name in item.name:
                item.add_marker(pytest.mark.skip(reason=reason))


def pytest_configure(config: pytest.Config) -> None:
    for name in ("memory", "flaky", "redis", "memcached", "redis_cluster", "redis_sentinel", "mongodb", "valkey"):
        config.addinivalue_line("markers", f"{name}: of limits' own suite")
    config.addinivalue_line("markers", "valkey_cluster: of limits' own suite")
