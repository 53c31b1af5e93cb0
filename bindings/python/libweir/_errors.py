# SPDX-License-Identifier: MIT
"""What is raised, with the words of weir's own messages."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from libweir import Decision


def seconds(time: float) -> str:
    """As a reader wants them: to the ms, rounded up."""
    return "%.10g" % (math.ceil(time * 1000) / 1000) if math.isfinite(time) else "for ever"


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
        late = f"passes in {seconds(decision.retry)} s, which is too late"
        if decision.retry == math.inf:
            late = "nothing is due any more: the limiter is paused, or its profile has ended"
        if decision.allowed:
            late = "the time is over, and others are ahead of it"
        super().__init__(never.get(decision.verdict, late))
        self.decision = decision
        self.retry = decision.retry


_UNSUPPORTED, _NO_MEMORY, _INVALID = -6, -2, -1  # as in weir.h


def error(code: int, column: int, message: str) -> Exception:
    """weir_error as an exception, its options named as here, not as in C."""
    message = re.sub(r"(?<!\S)(?:options\.)?(keys)_max\b|(?<!\S)options\.(\w+?)(?:_ns)?\b", r"\1\2", message)
    message = re.sub(r"(?<!\S)WEIR_([A-Z_]+)", lambda name: f'"{name[1].lower()}"', message)
    if code == _NO_MEMORY:
        return MemoryError(message)
    if code in (_INVALID, _UNSUPPORTED):
        return LimitError(f"column {column}: {message}" if column else message, column)
    return TableError(message)
