"""What is shown of runs while they are driven."""

import json

import pytest

from tests.cli.kept import TURN, Kept, run
from tests.kernel.protocols import WORK_AND_REVIEW
from tests.prompts.stage import Memory
from tests.views.trial import approved
from treadle.cli.progress_board import Lines
from treadle.ports import Progress
from treadle.protocol.load import load
from treadle.testing.scenario import Scenario, items


def test_a_line_is_printed_for_each_change_and_only_then(capsys: pytest.CaptureFixture[str]) -> None:
    scenario, lines = Scenario(WORK_AND_REVIEW), Lines(Memory(), names_runs=True)
    lines.show("r1", WORK_AND_REVIEW, scenario.state)
    first = capsys.readouterr().out
    assert first.startswith("r1 root: ")
    lines.show("r1", WORK_AND_REVIEW, scenario.state)
    assert capsys.readouterr().out == ""


def test_what_a_handler_holds_up_is_not_said_again(capsys: pytest.CaptureFixture[str]) -> None:
    scenario, lines = Scenario(load("v3")), Lines(Memory())
    scenario.says("InitWork", childSpecs=items("a")).says("TestsReady", at="root:tests")
    lines.show("r1", scenario.protocol, scenario.state)
    assert "root: impl · held, 1 of children open\n" in capsys.readouterr().out
    scenario.signals("ContextShift", to="root")
    lines.show("r1", scenario.protocol, scenario.state)
    assert capsys.readouterr().out == "root: rebase on ContextShift · effect rebase\n"


@pytest.mark.usefixtures("kept")
def test_an_attempt_that_came_to_nothing_is_told_with_its_reason(kept: Kept) -> None:
    bad = {"write": {"elsewhere.txt": "x\n"}, "exit": {"type": "Did", "summary": "swept"}}
    (kept.root / "bad.yaml").write_text(json.dumps({"agents": [{"turns": [bad, TURN]}]}))
    said = run(agent="scripted:bad.yaml").out.splitlines()
    at = next(number for number, line in enumerate(said) if line.startswith("root: refused by scope: "))
    assert "elsewhere.txt" in said[at]
    assert said[at + 1] == "root: work · worker, attempt 2 of 3"
    assert len([line for line in said if "refused by" in line]) == 1


def test_a_merge_that_was_rejected_is_told_with_its_reason(capsys: pytest.CaptureFixture[str]) -> None:
    trial = approved()
    lines = Lines(trial.payloads)
    lines.show("r1", trial.protocol, trial.chronicle.state)
    trial.happens(trial.rejected("test_adds: fails\nmore of it"))
    capsys.readouterr()
    lines.show("r1", trial.protocol, trial.chronicle.state)
    lines.show("r1", trial.protocol, trial.chronicle.state)
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "root: merge · MergeRejected.ContractViolation: test_adds: fails"
    assert [line for line in said if "MergeRejected" in line] == said[:1]


def test_what_people_should_know_is_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    lines = Lines(Memory())
    for act in ("root/a:tests#1.1", "root/a:impl#1.1"):
        lines.hear("r1", act, Progress(note="1 test failed before this run, too"))
    assert capsys.readouterr().out == "root/a: 1 test failed before this run, too\n"
