"""What is shown of runs while they are driven."""

import asyncio
import json
from typing import Literal

import pytest
from rich.console import Console

from tests.cli.kept import TURN, Kept, run
from tests.kernel.protocols import WORK_AND_REVIEW
from tests.prompts.stage import Memory
from tests.protocols.test_riper import planned
from tests.views.trial import approved
from treadle.cli.progress_board import ProgressLines, ProgressPicture
from treadle.ports import CheckProgress, Progress
from treadle.prompts.outcomes import failure_report
from treadle.protocol.load import load
from treadle.testing.scenario import Scenario, items


def test_a_line_is_printed_for_each_change_and_only_then(capsys: pytest.CaptureFixture[str]) -> None:
    scenario, lines = Scenario(WORK_AND_REVIEW), ProgressLines(Memory(), names_runs=True)
    lines.show("r1", WORK_AND_REVIEW, scenario.state)
    first = capsys.readouterr().out
    assert first.startswith("r1 root: ")
    lines.show("r1", WORK_AND_REVIEW, scenario.state)
    assert capsys.readouterr().out == ""


def test_a_step_that_a_handler_holds_up_is_not_printed_again(capsys: pytest.CaptureFixture[str]) -> None:
    scenario, lines = Scenario(load("v3")), ProgressLines(Memory())
    scenario.says("InitWork", childSpecs=items("a")).says("TestsReady", at="root:tests")
    lines.show("r1", scenario.protocol, scenario.state)
    assert "root: impl · waits for " in capsys.readouterr().out
    scenario.signals("ContextShift", to="root")
    lines.show("r1", scenario.protocol, scenario.state)
    assert capsys.readouterr().out == "root: rebase on ContextShift · Rebase\n"


@pytest.mark.usefixtures("kept")
def test_a_refused_attempt_is_printed_with_its_reason(kept: Kept) -> None:
    bad = {"write": {"elsewhere.txt": "x\n"}, "exit": {"type": "Did", "summary": "swept"}}
    (kept.root / "bad.yaml").write_text(json.dumps({"agents": [{"turns": [bad, TURN]}]}))
    said = run(agent="scripted:bad.yaml").out.splitlines()
    at = next(number for number, line in enumerate(said) if line.startswith("root: refused by scope: "))
    assert "elsewhere.txt" in said[at]
    assert said[at + 1].startswith("root: work · worker, attempt 2 ")
    assert len([line for line in said if "refused by" in line]) == 1


def test_a_rejected_merge_is_printed_with_its_reason(capsys: pytest.CaptureFixture[str]) -> None:
    trial = approved()
    lines = ProgressLines(trial.payloads)
    lines.show("r1", trial.protocol, trial.log.state)
    trial.happens(trial.rejected("test_adds: fails\nmore of it"))
    capsys.readouterr()
    lines.show("r1", trial.protocol, trial.log.state)
    lines.show("r1", trial.protocol, trial.log.state)
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "root: merge · MergeRejected (ContractViolation): test_adds: fails"
    assert [line for line in said if "MergeRejected" in line] == said[:1]


def test_an_instance_that_ends_by_a_refused_claim_shows_the_reason_once(capsys: pytest.CaptureFixture[str]) -> None:
    scenario, payloads = planned("c1"), Memory()
    lines = ProgressLines(payloads)
    lines.show("r1", scenario.protocol, scenario.state)
    report = payloads.put(failure_report("", "### red\n- test_a.py: passes already [red.vacuous]"))
    scenario.claims("RC").checked(fails=["red"], report=report)
    capsys.readouterr()
    for _ in range(2):
        lines.show("r1", scenario.protocol, scenario.state)
    printed = [line for line in capsys.readouterr().out.splitlines() if line.startswith("root/c1: ")]
    assert [("red.vacuous" in line, line.endswith("Failed")) for line in printed] == [(True, False), (False, True)]


def test_a_note_of_an_activity_is_printed_once(capsys: pytest.CaptureFixture[str]) -> None:
    lines = ProgressLines(Memory())
    note = "1 test failed before this run, too"
    for act in ("root/a:tests#1.1", "root/a:impl#1.1"):
        lines.hear("r1", act, Progress(note=note))
    assert capsys.readouterr().out == f"root/a: {note}\n"


def checking(state: Literal["running", "passed"] = "running", number: int = 1, tests: int = 0) -> Progress:
    return Progress(check=CheckProgress(check="green", number=number, of=2, state=state, tests_done=tests))


async def timers() -> None:
    """Let the timers run that are due."""
    done = asyncio.Event()
    asyncio.get_running_loop().call_later(0, done.set)
    await done.wait()


def test_a_slow_check_is_printed_while_it_runs_and_when_it_ends(capsys: pytest.CaptureFixture[str]) -> None:
    async def story() -> None:
        lines = ProgressLines(Memory(), slow=0)
        lines.hear("r1", "root/a:impl#1.1", checking())
        lines.hear("r1", "root/a:impl#1.1", checking(tests=7))
        await timers()
        lines.hear("r1", "root/a:impl#1.1", checking("passed"))

    asyncio.run(story())
    running, passed = capsys.readouterr().out.splitlines()
    assert running.startswith("root/a: check 1 of 2 · green: running, 7 tests")
    assert passed.startswith("root/a: check 1 of 2 · green: passed")


def test_a_quick_check_is_printed_only_if_all_checks_are(capsys: pytest.CaptureFixture[str]) -> None:
    for shows in (False, True):
        lines = ProgressLines(Memory(), shows_checks=shows)
        lines.hear("r1", "root:impl#1.1", checking())
        lines.hear("r1", "root:impl#1.1", checking("passed"))
    assert len(capsys.readouterr().out.splitlines()) == 1


def test_checks_of_an_ended_activity_are_not_printed(capsys: pytest.CaptureFixture[str]) -> None:
    async def story() -> None:
        scenario, lines = Scenario(WORK_AND_REVIEW), ProgressLines(Memory(), slow=0)
        lines.show("r1", WORK_AND_REVIEW, scenario.state)
        lines.hear("r1", "root:gone#1.1", checking())
        lines.show("r1", WORK_AND_REVIEW, scenario.state)
        capsys.readouterr()
        await timers()

    asyncio.run(story())
    assert capsys.readouterr().out == ""


@pytest.mark.usefixtures("kept")
def test_a_broken_attempt_is_printed_with_its_code(kept: Kept) -> None:
    turns = [{"exit": {"type": "Nonsense"}}, TURN]
    (kept.root / "bad.yaml").write_text(json.dumps({"agents": [{"turns": turns}]}))
    said = run(agent="scripted:bad.yaml").out.splitlines()
    assert any(line.startswith("root: no valid answer") and line.endswith("[activity.invalid]") for line in said), said


@pytest.mark.parametrize("width", [38, 80])
def test_a_tree_that_moves_has_one_line_for_each_instance_however_narrow_the_screen(width: int) -> None:
    scenario, picture = Scenario(load("v3")), ProgressPicture()
    scenario.says("InitWork", childSpecs=items("a", "b")).claims("TestsReady", at="root:tests")
    picture.show("r1", scenario.protocol, scenario.state)
    picture.hear("r1", "root/a:scaffold#1.1", Progress("I read the spec, and the interface of my parent. " * 3))
    screen = Console(width=width, height=24, color_system=None)
    with screen.capture() as capture:
        screen.print(picture._drawn())
    top, *inside, bottom = capture.get().splitlines()
    assert [line.split()[2] for line in inside] == ["root", "a", "b"]
    assert len(top) == len(bottom) == width
