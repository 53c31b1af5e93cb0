# SPDX-License-Identifier: MIT
"""A requests adapter that waits for a permit before each request.

    session.mount("https://api.example.com/", libweir.requests.Adapter(table.limiter("10/s", "api")))
"""

from __future__ import annotations

from typing import Any

import requests
from requests.adapters import HTTPAdapter

from libweir import Waits, limiter_of


class Adapter(HTTPAdapter):
    """limit: a limiter, or a text for one of this process; the rest is HTTPAdapter's."""

    def __init__(self, limit: Waits | str, **options: Any) -> None:
        self.limiter = limiter_of(limit)
        super().__init__(**options)

    def send(self, request: requests.PreparedRequest, *args: Any, **options: Any) -> requests.Response:
        with self.limiter._turn():
            return super().send(request, *args, **options)
