# SPDX-License-Identifier: MIT
"""Real servers with worker processes, and a client that counts what passes."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping

DEADLINE_S = 240


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


@contextlib.contextmanager
def server(of: str, app: str, workers: int, folder: pathlib.Path, environment: Mapping[str, str]) -> Iterator[str]:
    """gunicorn or uvicorn, with an app of the folder; yields its URL."""
    port = str(free_port())
    command = {
        "gunicorn": ["gunicorn", "--no-control-socket", "-w", str(workers), "-b", f"127.0.0.1:{port}", app],
        "uvicorn": ["uvicorn", "--workers", str(workers), "--port", port, "--log-level", "error", app],
    }[of]
    process = subprocess.Popen(
        [sys.executable, "-m", *command],
        cwd=folder,
        env=os.environ | environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield f"http://127.0.0.1:{port}/"
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


class Load:
    """Requests from many threads; what came of them, from which process: in the header X-Worker, or the JSON body."""

    def __init__(self, url: str, within_s: float = DEADLINE_S) -> None:
        self.url = url
        self.passed = self.refused = self.lost = 0
        self.passing: set[int] = set()
        self.refusing: set[int] = set()
        self.lock = threading.Lock()
        self.deadline = time.monotonic() + within_s

    def one(self) -> None:
        """Until an answer comes; a request whose connection broke after it was sent may have taken a permit."""
        while time.monotonic() < self.deadline:
            try:
                with urllib.request.urlopen(self.url, timeout=60) as answer:
                    worker = answer.headers["X-Worker"] or json.load(answer)["worker"]
                    return self.count(int(worker), True)
            except urllib.error.HTTPError as error:
                assert error.code == 429, error
                return self.count(int(error.headers.get("X-Worker", 0)), False)
            except urllib.error.URLError as error:
                if isinstance(error.reason, ConnectionRefusedError):
                    time.sleep(0.05)
                else:
                    self.lose()
            except (OSError, ValueError, http.client.HTTPException):
                self.lose()

    def count(self, worker: int, passed: bool) -> None:
        with self.lock:
            (self.passing if passed else self.refusing).add(worker)
            self.passed += passed
            self.refused += not passed

    def lose(self) -> None:
        with self.lock:
            self.lost += 1

    def until_all_refuse(self, workers: int) -> None:
        while len(self.refusing) < workers and time.monotonic() < self.deadline:
            self.one()
