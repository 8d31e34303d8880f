"""What goes with a run, and what stays."""

import pytest

from tests.cli.kept import Kept, run
from tests.cli.treadle import treadle

pytestmark = pytest.mark.usefixtures("kept")


def test_refs_go_with_their_run_and_the_result_stays_unless_it_is_to_go(kept: Kept) -> None:
    run()
    first = treadle("gc", "--run", "sweep-1")
    assert "  kept: the branch treadle/sweep-1/result (--branches removes it too)" in first.out
    refs = kept.git("for-each-ref", "--format=%(refname)").splitlines()
    assert refs == ["refs/heads/main", "refs/heads/treadle/sweep-1/result"]
    assert kept.git("show", "treadle/sweep-1/result:swept/floor.txt") == "clean"
    run("--name", "mine")
    dry = treadle("gc", "--run", "mine", "--branches", "--dry-run").out
    assert "kept" not in dry
    assert "treadle/mine/root/int" in kept.git("branch", "--format=%(refname:short)")
    assert treadle("gc", "--run", "mine", "--branches").code == 0
    assert "mine" not in kept.git("for-each-ref", "--format=%(refname)")
    assert run("--name", "mine").code == 0, "its name is free again"
