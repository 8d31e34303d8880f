from pathlib import Path

import pytest

from tests.kernel.protocols import TREE
from tests.recorded import record
from tests.views.logs import NOW, played, read, written
from treadle.kernel.events import Envelope, Exited, Signalled, Usage
from treadle.protocol.load import load
from treadle.testing.scenario import Scenario, items
from treadle.views.chronicle import ActivityRecord, Chronicle
from treadle.views.questions import Yours
from treadle.views.run_status import run_status
from treadle.views.status import Status, StatusInputs
from treadle.views.tree import Branch

WORK = "root:work#1.1"


def now_of(chronicle: Chronicle, now: int = NOW + 10_000, yours: tuple[Yours, ...] = ()) -> Status:
    return run_status(chronicle, StatusInputs(run="r", name="my run", driver="process 1", strays=2, yours=yours), now)


def test_an_agent_at_work() -> None:
    now = now_of(written())
    assert (now.status, now.outcome, now.events, now.elapsed, now.driver, now.strays) == (
        "works", "", 1, 10.0, "process 1", 2,
    )  # fmt: skip
    (busy,) = now.activities
    assert (busy.id, busy.instance, busy.step, busy.who, busy.phase) == (WORK, "root", "work", "worker", "running")
    assert (busy.attempt, busy.elapsed, busy.claim) == (1, 10.0, "")
    (root,) = now.instances
    (place,) = root.positions
    assert (place.step, place.status, place.id, place.attempt, place.attempts) == ("work", "works", WORK, 1, 3)
    assert [timer.id for timer in now.timers] == [WORK]


def test_a_claim_that_is_being_checked() -> None:
    now = now_of(written(Exited(id="c", ts=NOW, act=WORK, envelope=Envelope("Ready"), usage=Usage(1, 2, 3.0))))
    assert [(busy.phase, busy.claim) for busy in now.activities] == [("verifying", "Ready")]
    assert (now.usage.tokens_in, now.usage.tokens_out, now.usage.cost) == (1, 2, 3.0)


def test_a_question_waits_with_its_choices() -> None:
    now = now_of(written(Exited(id="c", ts=NOW + 4000, act=WORK, envelope=Envelope("Stuck"))))
    assert now.status == "asks"
    (asked,) = now.questions
    assert (asked.id, asked.instance, asked.elapsed) == ("root:human#1.1", "root", 6.0)
    assert [choice.name for choice in asked.choices] == ["retry", "abort"]
    assert now.instances[0].positions[0].text == "asks a person: retry, abort"


def test_a_question_to_the_parent_has_its_time() -> None:
    run = Scenario(TREE).says("Plan", parts=items("a")).says("Ask", at="root/a:plan")
    asked = run.log[-1].ts
    run.is_silent("root:explain")
    (place,) = now_of(played(run), asked + 7000).instances[0].children[0].positions
    assert ("its parent's" in place.text, place.elapsed) == (True, 7.0)


def test_the_time_of_an_ended_run_stands_still() -> None:
    chronicle = written(Signalled(id="s", ts=NOW + 3000, inst="root", name="abort"))
    early, late = now_of(chronicle), now_of(chronicle, NOW + 99_000)
    assert early == late
    assert (early.status, early.outcome, early.elapsed) == ("ended", "Aborted", 3.0)
    assert (early.instances[0].status, early.instances[0].positions, early.timers) == ("failed", (), ())


def test_a_run_without_events_is_new() -> None:
    now = now_of(Chronicle(lambda _: pytest.fail("there is nothing to find")))
    assert (now.status, now.protocol, now.instances, now.limits, now.began) == ("new", None, (), None, "")


def test_a_pause_is_shown() -> None:
    now = now_of(written(Signalled(id="s", ts=NOW, inst="root", name="pause")))
    assert (now.status, now.instances[0].paused) == ("paused", True)


def test_work_in_a_persons_hands_asks_and_has_no_deadline() -> None:
    mine = Yours(id=WORK, instance="root", step="work", attempt=1, prompt="prompt.md", lane="lane", exits=())
    now = now_of(written(), yours=(mine,))
    assert (now.status, now.yours, now.activities[0].due, [timer.id for timer in now.timers]) == (
        "asks",
        (mine,),
        "",
        [],
    )
    (place,) = now.instances[0].positions
    assert (place.status, place.text) == ("asks", "yours, as worker")


def test_a_step_that_waits_for_a_go_is_listed(tmp_path: Path) -> None:
    record(tmp_path, of="riper", stops=0)
    now = now_of(read(tmp_path))
    assert (now.status, [(start.instance, start.step) for start in now.starts]) == ("asks", [("root", "O1P")])


def test_instances_are_a_tree_of_the_same_shape_as_the_run(tmp_path: Path) -> None:
    state = record(tmp_path, of="riper", refuses=1)
    now = now_of(read(tmp_path))
    found = [one for branch in now.instances for one in _walk(branch)]
    assert sorted(branch.id for branch in found) == sorted(state.insts)
    for branch in found:
        born = [state.insts[child.id].n for child in branch.children]
        assert born == sorted(born)
        assert all(state.insts[child.id].parent == branch.id for child in branch.children)


def test_an_interrupted_step_lies_below_its_handler() -> None:
    run = Scenario(load("v3")).says("InitWork", childSpecs=items("a", "b")).signals("ContextShift", to="root/a")
    run.says("InitWork", at="root/a:scaffold")
    chronicle = Chronicle(lambda _: run.protocol)
    chronicle.protocol, chronicle.state = run.protocol, run.state
    chronicle.born = dict.fromkeys(run.state.insts, NOW)
    chronicle.deeds = {id_: _deed(run, id_) for id_ in run.state.acts}
    first = now_of(chronicle).instances[0].children[0]
    assert [(at.step, at.signal, at.text) for at in first.positions] == [
        ("rebase", "ContextShift", "Rebase"),
        ("tests", "", "held until rebase is done"),
    ]


def _deed(run: Scenario, act: str) -> ActivityRecord:
    return ActivityRecord(command=run.state.acts[act].command, began=NOW)


def _walk(branch: Branch) -> list[Branch]:
    return [branch, *(one for child in branch.children for one in _walk(child))]
