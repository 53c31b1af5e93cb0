# SPDX-License-Identifier: MIT
"""The README's examples run, and no document says to install somebody else's package."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys

import pytest

HERE = pathlib.Path(os.environ["WEIR_TREE"]) / "bindings/python"


def test_examples(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```", (HERE / "README.md").read_text(), re.M | re.S)
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), names)
    printed = capsys.readouterr().out.splitlines()
    assert len(blocks) == 5
    waited = ["one at its time", "0", "1", "2", "one at a time for all processes"]
    held = ["one of twenty", "one of three", "guaranteed 19 left"]
    assert printed == ["200 OK", *waited, *held, "10 operations"]


def test_example_of_tokens(tmp_path: pathlib.Path) -> None:
    """The servers are in test_processes."""
    told = subprocess.run(
        [sys.executable, HERE / "examples/tokens.py"],
        env=os.environ | {"TABLE": str(tmp_path / "tokens")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert len(told.stdout.splitlines()) == 15


def test_nobody_is_sent_to_another_package() -> None:
    """`weir` on PyPI is not ours."""
    wrong = re.compile(r"(pip|uv|poetry|pipx) (install|add) (-\S+ )*weir\b")
    texts = [path for path in HERE.rglob("*") if path.suffix in (".md", ".py", ".toml", ".pyi", ".in")]
    assert texts and not [str(path) for path in texts if wrong.search(path.read_text())]
