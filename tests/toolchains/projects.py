"""Small projects, written where they are read, and run for real."""

import asyncio
import sys
from pathlib import Path
from typing import Any

from treadle.toolchains.pytest import Pytest
from treadle.toolchains.results import TestRun

PYTEST = (sys.executable, "-m", "pytest")


def project(folder: Path, **files: str) -> Path:
    """A project; `tests__test_a` is `tests/test_a.py`, other endings are written as `pytest_ini`."""
    for name, text in files.items():
        write(folder, f"{name.replace('__', '/')}.py", text)
    return folder


def write(folder: Path, name: str, text: str) -> Path:
    """One file of a project."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def pytest_of(path: Path, **settings: Any) -> Pytest:
    """pytest for a project whose checkout is the user's own; without plugins, as they take their time to load."""
    return Pytest(**{"command": PYTEST, "root": path, "timeout": 60.0, "plugins": (), **settings})


def run(path: Path, *ids: str, **settings: Any) -> TestRun:
    """Run a project's tests."""
    return asyncio.run(pytest_of(path, **settings).test(path, ids or None))


def verdicts(ran: TestRun) -> dict[str, str]:
    """By the last part of their ids, how tests ended."""
    return {id.rpartition("::")[2]: test.verdict for id, test in ran.tests.items()}
