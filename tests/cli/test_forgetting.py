"""What goes with a run, and what stays."""

import pytest

from tests.cli.kept import Kept, run
from tests.cli.treadle import treadle

pytestmark = pytest.mark.usefixtures("kept")


def test_refs_go_with_their_run_and_the_result_stays_unless_it_is_to_go(kept: Kept) -> None:
    told = run().out
    branch = "treadle/sweep-1/root/int"
    assert f"git merge --squash {branch}" in told
    said = f"  kept: the branch {branch} (--branches removes it too)"
    assert said in treadle("gc", "--run", "sweep-1", "--dry-run").out
    assert said in treadle("gc", "--run", "sweep-1").out
    refs = kept.git("for-each-ref", "--format=%(refname)").splitlines()
    assert refs == ["refs/heads/main", f"refs/heads/{branch}"], "what was told to be merged can still be merged"
    assert kept.git("show", f"{branch}:swept/floor.txt") == "clean"
    run("--name", "mine")
    dry = treadle("gc", "--run", "mine", "--branches", "--dry-run").out
    assert "kept" not in dry
    assert "treadle/mine/root/int" in kept.git("branch", "--format=%(refname:short)")
    assert treadle("gc", "--run", "mine", "--branches").code == 0
    assert "mine" not in kept.git("for-each-ref", "--format=%(refname)")
    assert run("--name", "mine").code == 0, "its name is free again"


def test_a_branch_that_somebody_stands_on_stays(kept: Kept) -> None:
    run()
    kept.git("checkout", "-q", "treadle/sweep-1/root/int")
    assert "kept: the branch treadle/sweep-1/root/int" in treadle("gc", "--run", "sweep-1", "--branches").out
    assert kept.git("rev-parse", "HEAD")


def test_what_your_branch_has_goes_with_the_run(kept: Kept) -> None:
    run()
    assert treadle("deliver", "sweep-1").code == 0
    assert "kept" not in treadle("gc", "--run", "sweep-1").out
    assert kept.git("for-each-ref", "--format=%(refname)") == "refs/heads/main"
