"""What is shown of runs while they are driven."""

import json

import pytest
from rich.console import Console

from tests.cli.kept import TURN, Kept, run
from tests.kernel.protocols import WORK_AND_REVIEW
from tests.prompts.stage import Memory
from tests.views.trial import approved
from treadle.cli.progress_board import Lines, Picture
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
    assert capsys.readouterr().out == "root: rebase on ContextShift · Rebase\n"


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
    assert said[0] == "root: merge · MergeRejected (ContractViolation): test_adds: fails"
    assert [line for line in said if "MergeRejected" in line] == said[:1]


def test_what_people_should_know_is_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    lines = Lines(Memory())
    for act in ("root/a:tests#1.1", "root/a:impl#1.1"):
        lines.hear("r1", act, Progress(note="1 test failed before this run, too"))
    assert capsys.readouterr().out == "root/a: 1 test failed before this run, too\n"


@pytest.mark.parametrize("width", [38, 80])
def test_a_tree_that_moves_has_one_line_for_each_instance_however_narrow_the_screen(width: int) -> None:
    scenario, picture = Scenario(load("v3")), Picture()
    scenario.says("InitWork", childSpecs=items("a", "b")).claims("TestsReady", at="root:tests")
    picture.show("r1", scenario.protocol, scenario.state)
    picture.hear("r1", "root/a:scaffold#1.1", Progress("I read the spec, and the interface of my parent. " * 3))
    screen = Console(width=width, height=24, color_system=None)
    with screen.capture() as capture:
        screen.print(picture._drawn())
    top, *inside, bottom = capture.get().splitlines()
    assert [line.split()[2] for line in inside] == ["root", "a", "b"]
    assert len(top) == len(bottom) == width
