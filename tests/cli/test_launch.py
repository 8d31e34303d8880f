"""What is looked at before a run begins."""

import pytest

from tests.cli.kept import Kept, run
from tests.cli.treadle import treadle

pytestmark = pytest.mark.usefixtures("kept")


@pytest.mark.parametrize("agent", ["command:/does/not/exist x", "worker=command:nowhere-at-all"])
def test_a_missing_program_is_refused_before_the_store_exists(kept: Kept, agent: str) -> None:
    result = run(agent=agent)
    assert (result.code, result.error) == (2, "agent.missing")
    assert not (kept.root / ".treadle/local/store.db").exists()


def test_changes_that_agents_will_not_see_are_mentioned(kept: Kept) -> None:
    (kept.root / "chore.yaml").write_text("id: OTHER\nwhat: wash\n")
    assert run("--level", "0").err == "treadle: run other begins\n", "the input itself is read as it is"
    (kept.root / "swept").mkdir()
    (kept.root / "swept/dust.txt").write_text("dust")
    err = run("--level", "0").err
    assert ": swept/\n" in err


def test_a_branch_in_the_way_is_refused_before_the_store_exists(kept: Kept) -> None:
    kept.git("branch", "treadle")
    result = run()
    assert (result.code, result.error) == (2, "git.ref_taken")
    assert result.lacks("the branch treadle ", "`git.branch_prefix`") == []
    assert not (kept.root / ".treadle/local/store.db").exists()
    assert run("--set", "git.branch_prefix=bots").code == 0


def test_only_tools_that_the_protocols_checks_run_are_tried(kept: Kept) -> None:
    tool = kept.root / "ruff"
    tool.write_text(f"#!/bin/sh\ntouch {kept.root}/asked\nexit 1\n")
    tool.chmod(0o755)
    (kept.root / "treadle.toml").write_text(f'[toolchain]\nlint = "{tool} check"\n')
    assert run().code == 0
    assert not (kept.root / "asked").exists()
    treadle("doctor")
    assert (kept.root / "asked").exists(), "who looks at everything asks it"
