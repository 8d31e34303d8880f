"""Runs that an older version began: they are driven on, and their branches move out of the user's way."""

from pathlib import Path

import pytest

from tests.cli.chores import ASKING, DECIDING
from tests.cli.kept import KEPT, Kept, run
from tests.cli.treadle import treadle


def make_older(kept: Kept, name: str) -> None:
    """Name refs of a run as versions before refs/treadle did."""
    here, there = f"refs/treadle/{name}/root", f"refs/heads/treadle/{name}/root"
    for what in ("int", "main"):
        kept.git("update-ref", f"{there}/{what}", f"{here}/int")
    kept.git("update-ref", "-d", f"{here}/int")
    kept.git("update-ref", "-d", f"refs/treadle/{name}/inst/root/result")


def heads(kept: Kept) -> list[str]:
    return kept.git("branch", "--format=%(refname:lstrip=2)").splitlines()


@pytest.fixture
def asked(kept: Kept) -> str:
    """A run that waits for a person after its agent's work, as an older version left it; its accepted commit."""
    kept.add("asks", KEPT.replace("protocol: kept", "protocol: asks").replace(DECIDING, ASKING))
    asked = treadle("run", "chore.yaml", "-p", "asks", "--agent", "scripted:sweeper.yaml", "--name", "it")
    assert asked.code == 3, asked.err
    make_older(kept, "it")
    return kept.git("rev-parse", "treadle/it/root/int")


def test_a_run_of_an_older_version_is_resumed(kept: Kept, asked: str) -> None:
    kept.git("branch", "treadle/foo")
    assert treadle("status", "it").code == 0
    assert treadle("answer", "it", "accept").code == 0
    assert heads(kept) == ["main", "treadle/foo", "treadle/it/result"]
    assert kept.git("merge-base", "--is-ancestor", asked, "treadle/it/result") == ""
    assert kept.git("show", "treadle/it/result:swept/floor.txt") == "clean"


def test_the_next_run_moves_the_older_branches_of_earlier_ones(kept: Kept, asked: str) -> None:
    run("--name", "first")
    make_older(kept, "first")
    run("--name", "second")
    assert heads(kept) == ["main", "treadle/first/result", "treadle/second/result"]
    assert kept.git("rev-parse", "treadle/it/root/int") == asked
    assert treadle("status", "first").code == 0


def test_an_older_result_is_delivered_before_its_branches_move(kept: Kept, tmp_path: Path) -> None:
    run("--name", "first")
    make_older(kept, "first")
    kept.git("branch", "-q", "-D", "treadle/first/result")
    found = treadle("status", "first", "--json").json()["result"]
    assert (found["branch"], found["taken"]) == ("treadle/first/root/int", False)
    assert treadle("deliver", "first").code == 0
    assert (tmp_path / "swept" / "floor.txt").exists()
