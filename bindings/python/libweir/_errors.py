# SPDX-License-Identifier: MIT
"""What is raised, with the words of weir's own messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from libweir import Decision


class Error(Exception):
    """What libweir raises."""


class LimitError(Error, ValueError):
    """A limit's text is wrong (`column` says where, from 1; 0: not in one place), or is not possible here."""

    def __init__(self, message: str, column: int = 0) -> None:
        super().__init__(message)
        self.column = column


class TableError(Error, OSError):
    """A table's file does not fit, is another version's, or the system refused."""


class Refused(Error):
    """`wait` and its like do not let an operation start: not within the timeout, or never.  `decision` says why."""

    def __init__(self, decision: Decision) -> None:
        never = {"never": "this cost can never pass", "stopped": "the limiter was stopped"}
        super().__init__(never.get(decision.verdict, f"passes in {decision.retry:.3g} s, which is too late"))
        self.decision = decision
        self.retry = decision.retry


_UNSUPPORTED, _NO_MEMORY, _INVALID = -6, -2, -1  # as in weir.h


def error(code: int, column: int, message: str) -> Exception:
    """weir_error as an exception."""
    if code == _NO_MEMORY:
        return MemoryError(message)
    if code in (_INVALID, _UNSUPPORTED):
        return LimitError(f"column {column}: {message}" if column else message, column)
    return TableError(message)
