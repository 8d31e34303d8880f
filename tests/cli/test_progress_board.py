"""What is shown of runs while they are driven."""

import json

import pytest

from tests.cli.kept import TURN, Kept, run
from tests.kernel.protocols import WORK_AND_REVIEW
from tests.prompts.stage import Memory
from treadle.cli.progress_board import Lines
from treadle.testing.scenario import Scenario


def test_a_line_is_printed_for_each_change_and_only_then(capsys: pytest.CaptureFixture[str]) -> None:
    scenario, lines = Scenario(WORK_AND_REVIEW), Lines(Memory(), names_runs=True)
    lines.show("r1", WORK_AND_REVIEW, scenario.state)
    first = capsys.readouterr().out
    assert first.startswith("r1 root: ")
    lines.show("r1", WORK_AND_REVIEW, scenario.state)
    assert capsys.readouterr().out == ""


@pytest.mark.usefixtures("kept")
def test_an_attempt_that_came_to_nothing_is_told_with_its_reason(kept: Kept) -> None:
    bad = {"write": {"elsewhere.txt": "x\n"}, "exit": {"type": "Did", "summary": "swept"}}
    (kept.root / "bad.yaml").write_text(json.dumps({"agents": [{"turns": [bad, TURN]}]}))
    said = run(agent="scripted:bad.yaml").out.splitlines()
    at = next(number for number, line in enumerate(said) if line.startswith("root: refused by scope: "))
    assert "elsewhere.txt" in said[at]
    assert said[at + 1] == "root: work · worker, attempt 2 of 3"
    assert len([line for line in said if "refused by" in line]) == 1
