# SPDX-License-Identifier: MIT
"""One limit for all workers: real servers, a real client, workers killed; fork and subinterpreters."""

from __future__ import annotations

import concurrent.futures
import contextlib
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import threading
import time

import passes
import pytest
from servers import DEADLINE_S, Load, server

import libweir

EXAMPLES = pathlib.Path(os.environ["WEIR_TREE"]) / "bindings/python/examples"
PERMITS = 300
KILLS = 4


def kill_some(load: Load, over: threading.Event) -> int:
    """SIGKILL for workers that have answered, while requests are on their way."""
    killed = 0
    while killed < KILLS and not over.is_set():
        with load.lock:
            known = sorted(load.passing)
        if load.passed >= (killed + 1) * 40 and known:
            worker = random.choice(known)
            with contextlib.suppress(ProcessLookupError):
                os.kill(worker, signal.SIGKILL)
                killed += 1
            with load.lock:
                load.passing.discard(worker)
        time.sleep(0.002)
    return killed


@pytest.mark.parametrize("of", ["gunicorn", "uvicorn"])
def test_exactly_n_pass(of: str, tmp_path: pathlib.Path) -> None:
    app = {"gunicorn": "wsgi_server:app", "uvicorn": "asgi_server:app"}[of]
    environment = {"LIMIT": f"{PERMITS}/30d", "TABLE": str(tmp_path / "table")}
    with server(of, app, 4, EXAMPLES, environment) as url:
        load, over = Load(url), threading.Event()
        with concurrent.futures.ThreadPoolExecutor(9) as pool:
            killing = pool.submit(kill_some, load, over)
            try:
                list(pool.map(lambda _: load.one(), range(PERMITS + 100)))
            finally:
                over.set()
            killed = killing.result()
        while load.refused == 0:
            load.one()
    left = libweir.Table(tmp_path / "table").peek(f"{PERMITS}/30d", "127.0.0.1", 0).remaining
    print(f"{of}: {load.passed} of {PERMITS} passed, {killed} workers killed, {load.lost} requests lost with them")
    assert killed > 0 and left == 0
    assert load.passed <= PERMITS <= load.passed + load.lost


@pytest.mark.parametrize("door", [*passes.SERVERS, *passes.CALLERS])
def test_front_doors(door: str, tmp_path: pathlib.Path) -> None:
    """Eight processes behind each front door; a rate holds as an upper bound, whatever else the machine does."""
    passed = passes.passed(door, passes.OURS, str(tmp_path))
    assert passed == passes.LIMIT if door != "LangChain" else 0 < passed <= passes.limit_of(door)


def test_killed_takers(tmp_path: pathlib.Path) -> None:
    """Each process writes down a permit that it has; of those that are killed the last may be unwritten."""
    table, log, takers, permits = tmp_path / "table", tmp_path / "log", 6, 20_000
    program = (
        "import libweir, os, sys\n"
        "table = libweir.Table(sys.argv[1], keys=100)\n"
        "log = os.open(sys.argv[2], os.O_WRONLY | os.O_APPEND | os.O_CREAT)\n"
        f"while table.take('{permits}/30d', 'key'): os.write(log, b'.')\n"
    )
    command = [sys.executable, "-c", program, str(table), str(log)]
    processes = [subprocess.Popen(command) for _ in range(takers)]
    killed = processes[:2]
    deadline = time.monotonic() + DEADLINE_S
    while (not log.exists() or log.stat().st_size < 100) and time.monotonic() < deadline:
        time.sleep(0.001)
    for process in killed:
        process.kill()
    for process in processes:
        process.wait()
    assert permits - len(killed) <= log.stat().st_size <= permits


def test_fork() -> None:
    """A table without a path is shared with children; a limiter is each process's own."""
    table, limiter = libweir.Table(keys=100), libweir.Limiter("100/d")
    readers = []
    for _ in range(4):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            passed = sum(table.take("1000/d", "key").allowed for _ in range(600))
            passed_alone = sum(limiter.take().allowed for _ in range(200))
            os.write(writer, json.dumps([passed, passed_alone]).encode())
            os._exit(0)
        os.close(writer)
        readers.append((child, reader))
    answers = []
    for child, reader in readers:
        answers.append(json.loads(os.read(reader, 100)))
        os.close(reader)
        assert os.waitpid(child, 0)[1] == 0
    assert sum(passed for passed, _ in answers) == 1000
    assert [alone for _, alone in answers] == [100] * 4


def test_fork_while_threads_take() -> None:
    limiter, stop = libweir.Limiter("1000000/s; 1000000/min"), threading.Event()

    def take() -> None:
        while not stop.is_set():
            limiter.take()

    threads = [threading.Thread(target=take) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(30):
            child = os.fork()
            if child == 0:
                limiter.take()
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        stop.set()
        for thread in threads:
            thread.join()


SUBINTERPRETERS = """
import sys
try:
    import _xxsubinterpreters as interpreters
except ImportError:
    import _interpreters as interpreters
import libweir
program = '''
import libweir
limiter = libweir.Limiter("3/h")
assert [bool(limiter.take()) for _ in range(4)] == [True] * 3 + [False]
assert libweir.Table(keys=10).take("1/s", "key").allowed
try: libweir.Limiter("10/M")
except libweir.LimitError: pass
'''
for _ in range(20):
    one = interpreters.create()
    failed = interpreters.run_string(one, program)
    assert not failed, failed
    interpreters.destroy(one)
assert libweir.Limiter("3/h").take()
"""


def test_subinterpreters() -> None:
    subprocess.run([sys.executable, "-W", "ignore", "-c", SUBINTERPRETERS], check=True, timeout=DEADLINE_S)


def test_free_threaded_is_refused(tmp_path: pathlib.Path) -> None:
    """As its setup.py would find it: there is none on this machine."""
    setup = EXAMPLES.parent / "setup.py"
    program = (
        "import sysconfig, runpy; sysconfig.get_config_vars()['Py_GIL_DISABLED'] = 1; "
        f"runpy.run_path({str(setup)!r})"
    )
    refused = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=DEADLINE_S)
    assert refused.returncode != 0 and "free-threaded" in refused.stderr
