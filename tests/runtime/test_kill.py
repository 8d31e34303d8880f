"""kill -9 at any point, start again: the same end, nothing done twice, nothing lost."""

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from treadle.store.sqlite import Store

ROOT = Path(__file__).parents[2]
NAMES = ("new", "v3", "fractal", "dptr", "riper", "waterfall")
WHIMS = "0.2"
SAMPLE = 12
AT_LEAST = 60


@cache
def undisturbed(name: str) -> dict[str, Any]:
    """How the run ends if nobody kills it, and how many points it passes."""
    with tempfile.TemporaryDirectory() as root:
        return finished(drive(Path(root), name, 0))


def drive(root: Path, name: str, fatal: int) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.runtime.victim", str(root), name, WHIMS, str(fatal)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, cwd=ROOT)


def finished(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def survives(root: Path, name: str, kills: list[int]) -> None:
    """Kill it again and again, then let it end: all is as if nothing had happened."""
    expected = undisturbed(name)
    for fatal in kills:
        done = drive(root, name, fatal)
        if done.returncode != -signal.SIGKILL:
            break
    after = finished(drive(root, name, 0))
    assert after["result"] == expected["result"]
    nothing_twice(root)
    folded_again(root)


def nothing_twice(root: Path) -> None:
    lines = (root / "journal").read_text(encoding="utf-8").splitlines()
    done = [line for line in lines if line.startswith(("agent ", "effect "))]
    assert len(done) == len(set(done)), [line for line in done if done.count(line) > 1]


def folded_again(root: Path) -> None:
    store = Store(root / "store.db")
    assert store.load("r").state.outcome
    assert store.unfinished("r") == {}
    store.close()


def points() -> list[tuple[str, int]]:
    """A different sample every day would be found by nobody; this one is spread over all protocols and fixed."""
    chosen = random.Random(7)
    return [(name, chosen.randrange(1, 400)) for name in NAMES for _ in range(SAMPLE // len(NAMES))]


@pytest.mark.parametrize(("name", "where"), points())
def test_a_run_survives_being_killed(name: str, where: int, tmp_path: Path) -> None:
    total = undisturbed(name)["points"]
    first = where % total + 1
    survives(tmp_path, name, [first, (first * 7) % 40 + 1])


@pytest.mark.soak
@pytest.mark.parametrize("name", NAMES)
def test_a_run_survives_being_killed_at_every_point(name: str, tmp_path: Path) -> None:
    """At every point in the time there is, in any case at sixty of each protocol, which makes more than 300."""
    deadline = time.monotonic() + 60 * float(os.environ["SOAK_MINUTES"]) / len(NAMES)
    points = list(range(1, undisturbed(name)["points"] + 1))
    random.Random(1).shuffle(points)
    for tried, point in enumerate(points):
        if tried >= AT_LEAST and time.monotonic() > deadline:
            break
        root = tmp_path / str(point)
        root.mkdir()
        survives(root, name, [point])
