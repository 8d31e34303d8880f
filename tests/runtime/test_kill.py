"""kill -9 at any point, start again: the same end, nothing done twice, nothing lost."""

import json
import os
import random
import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.runtime.nursery import Ended, Nursery, nursery
from treadle.store.sqlite import Store

NAMES = ("new", "v3", "fractal", "dptr", "riper", "waterfall")
WHIMS = 0.2
SAMPLE = 12
AT_LEAST = 60


class Killer:
    """Kills runs, and knows how they end if nobody does."""

    def __init__(self, victims: Nursery) -> None:
        self._victims = victims
        self._undisturbed: dict[str, dict[str, Any]] = {}

    def undisturbed(self, name: str) -> dict[str, Any]:
        """How the run ends if nobody kills it, and how many points it passes."""
        if name not in self._undisturbed:
            with tempfile.TemporaryDirectory() as root:
                self._undisturbed[name] = finished(self._victims.drive(Path(root), name, WHIMS, 0))
        return self._undisturbed[name]

    def survives(self, root: Path, name: str, kills: list[int]) -> None:
        """Kill it again and again, then let it end: all is as if nothing had happened."""
        expected = self.undisturbed(name)
        for fatal in kills:
            if self._victims.drive(root, name, WHIMS, fatal).code != -signal.SIGKILL:
                break
        after = finished(self._victims.drive(root, name, WHIMS, 0))
        assert after["result"] == expected["result"]
        nothing_twice(root)
        folded_again(root)


@pytest.fixture(scope="session")
def killer() -> Iterator[Killer]:
    with nursery() as victims:
        yield Killer(victims)


def finished(victim: Ended) -> dict[str, Any]:
    assert victim.code == 0, victim.err
    found: dict[str, Any] = json.loads(victim.out)
    return found


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
def test_a_run_survives_being_killed(killer: Killer, name: str, where: int, tmp_path: Path) -> None:
    total = killer.undisturbed(name)["points"]
    first = where % total + 1
    killer.survives(tmp_path, name, [first, (first * 7) % 40 + 1])


@pytest.mark.soak
@pytest.mark.parametrize("name", NAMES)
def test_a_run_survives_being_killed_at_every_point(killer: Killer, name: str, tmp_path: Path) -> None:
    """At every point in the time there is, in any case at sixty of each protocol, which makes more than 300."""
    deadline = time.monotonic() + 60 * float(os.environ["SOAK_MINUTES"]) / len(NAMES)
    points = list(range(1, killer.undisturbed(name)["points"] + 1))
    random.Random(1).shuffle(points)
    for tried, point in enumerate(points):
        if tried >= AT_LEAST and time.monotonic() > deadline:
            break
        root = tmp_path / str(point)
        root.mkdir()
        killer.survives(root, name, [point])
