"""What goes with a run, and what stays."""

from typing import Any

import pytest

from tests.cli.kept import Kept, run
from tests.cli.treadle import treadle

pytestmark = pytest.mark.usefixtures("kept")
BRANCH = "treadle/sweep-1/result"


def forget(*words: str) -> dict[str, Any]:
    found: dict[str, Any] = treadle("gc", "--json", *words).json()["forgotten"]["forgotten"]
    return found


def refs(kept: Kept) -> list[str]:
    return kept.git("for-each-ref", "--format=%(refname)").splitlines()


def test_refs_go_with_their_run_and_the_result_branch_only_with_branches(kept: Kept) -> None:
    assert f"git merge --squash {BRANCH}" in run().out
    assert forget("--run", "sweep-1", "--dry-run")["kept"] == [BRANCH]
    assert forget("--run", "sweep-1")["kept"] == [BRANCH]
    assert refs(kept) == ["refs/heads/main", f"refs/heads/{BRANCH}"], "what was told to be merged can still be merged"
    assert kept.git("show", f"{BRANCH}:swept/floor.txt") == "clean"
    run("--name", "mine")
    assert forget("--run", "mine", "--branches", "--dry-run")["kept"] == []
    assert "refs/heads/treadle/mine/result" in refs(kept)
    assert treadle("gc", "--run", "mine", "--branches").code == 0
    assert not any("mine" in ref for ref in refs(kept))
    assert run("--name", "mine").code == 0, "its name is free again"


def test_a_checked_out_branch_stays(kept: Kept) -> None:
    run()
    kept.git("checkout", "-q", BRANCH)
    assert forget("--run", "sweep-1", "--branches")["kept"] == [BRANCH]
    assert kept.git("rev-parse", "HEAD")


def test_a_delivered_result_goes_with_its_run(kept: Kept) -> None:
    run()
    assert treadle("deliver", "sweep-1").code == 0
    assert forget("--run", "sweep-1")["kept"] == []
    assert refs(kept) == ["refs/heads/main"]


def test_branches_without_runs_are_refused() -> None:
    run()
    assert treadle("gc", "--branches").code == 2


def test_a_run_is_forgotten_by_its_whole_name_only(kept: Kept) -> None:
    run("--name", "change-2")
    said = treadle("gc", "--run", "change", "--branches")
    assert (said.code, said.error) == (2, "run.unknown")
    assert "refs/heads/treadle/change-2/result" in refs(kept)


def test_a_verified_result_stays_that_the_result_branch_has_left(kept: Kept) -> None:
    run()
    verified = kept.git("rev-parse", BRANCH)
    amended = kept.git("commit-tree", f"{BRANCH}^{{tree}}", "-p", f"{BRANCH}^", "-m", "amended")
    kept.git("branch", "-f", BRANCH, amended)
    assert forget("--run", "sweep-1")["kept"] == [BRANCH, "treadle/sweep-1/root/int"]
    assert kept.git("rev-parse", "treadle/sweep-1/root/int") == verified
