from pathlib import Path

import msgspec
import pytest

from tests.kernel.protocols import agent, graph, protocol, to
from tests.recorded import record
from tests.views.logs import NOW, START, read, written
from tests.views.trial import approved
from treadle.errors import PortError
from treadle.kernel.events import (
    Checked,
    CheckResult,
    Envelope,
    Event,
    Exited,
    Failed,
    Idle,
    Replied,
    Signalled,
    TimerFired,
    Unavailable,
)
from treadle.kernel.replay import Move, encode_event
from treadle.protocol.items import Json
from treadle.protocol.load import load
from treadle.store.sqlite import Store
from treadle.testing.scenario import Scenario
from treadle.views.chronicle import Chronicle
from treadle.views.timeline import describe_move, event_line

WORK = "root:work#1.1"
CLAIM = Exited(id="claim", ts=NOW, act=WORK, envelope=Envelope("Ready"), channel="emit")
STUCK = Exited(id="stuck", ts=NOW, act=WORK, envelope=Envelope("Stuck"))
FAILED = Checked(id="checked", ts=NOW, act=WORK, results=(CheckResult("scope", True), CheckResult("green", False)))
PASSED = (CheckResult("scope", True), CheckResult("green", True))
NOTED = (CheckResult("minimal", False),)
TOLD: list[tuple[list[Event], str]] = [
    ([CLAIM], f"{WORK} claims Ready (emit) → checking scope green minimal"),
    ([CLAIM, FAILED], f"{WORK} is checked: green failed → root:work#1.2 starts as worker"),
    (
        [CLAIM, msgspec.structs.replace(FAILED, results=(*FAILED.results, *NOTED))],
        f"{WORK} is checked: green failed; noted: minimal → root:work#1.2 starts as worker",
    ),
    (
        [CLAIM, msgspec.structs.replace(FAILED, results=(*PASSED, *NOTED))],
        f"{WORK} is checked: passed; noted: minimal → root:review#1.1 starts as worker",
    ),
    (
        [CLAIM, msgspec.structs.replace(FAILED, results=PASSED[1:])],
        f"{WORK} is checked: scope did not run → root:work#1.2 starts as worker",
    ),
    ([Failed(id="f", ts=NOW, act=WORK, why="crash")], f"{WORK} crashed → {WORK} starts again (1) as worker"),
    (
        [Failed(id="f", ts=NOW, act=WORK, why="invalid")],
        f"{WORK} gave no valid answer → root:work#1.2 starts as worker",
    ),
    ([Idle(id="i", ts=NOW, act=WORK, idle_s=60)], f"{WORK} has been silent for 60 s → {WORK} gets a reminder"),
    ([STUCK], f"{WORK} claims Stuck → root:human#1.1 asks: retry, abort"),
    (
        [STUCK, Replied(id="r", ts=NOW, ask="root:human#1.1", choice="abort", actor="ada")],
        "a person (ada) answers root:human#1.1: abort → the run ends: Failed",
    ),
    (
        [Signalled(id="s", ts=NOW, inst="root", name="abort")],
        f"a person sends abort to root → {WORK} is stopped (ended), the run ends: Aborted",
    ),
    (
        [TimerFired(id="t", ts=NOW, timer=WORK)],
        f"{WORK} has timed out → {WORK} is stopped (timeout), the run ends: Failed",
    ),
]


def unreadable(ref: str) -> Json:
    raise PortError(f"{ref} is gone")


@pytest.mark.parametrize(("events", "text"), TOLD, ids=[text.partition(" →")[0] for _, text in TOLD])
def test_an_event_is_described_with_its_consequences(events: list[Event], text: str) -> None:
    chronicle = written(*events[:-1])
    assert describe_move(chronicle.take(encode_event(events[-1])), unreadable).text == text


def test_a_stronger_model_is_shown_by_its_tier() -> None:
    run = Scenario(load("fractal")).says("InitLeaf").says("EmitChallenge").says("Stuck.SkillCeiling")
    made = Move(run.log[-1], run.protocol, run.state, run.state, run.commands)
    assert describe_move(made, unreadable).text.endswith(" as implementer:Challenge on tier strong")


def test_advice_beside_a_check_of_the_same_name_is_noted_and_a_refusal_is_not() -> None:
    steps = {"work": agent({"Ready": to("@end:Done")}, gates="post_check:duty post_check:advice?")}
    told = []
    for bad in ("duty", "advice"):
        run = Scenario(protocol(graph(steps))).claims("Ready")
        before, act = run.state, run.activity()
        results = tuple(CheckResult("post_check", one != bad, arg=one) for one in ("duty", "advice"))
        run.happens(Checked(id="c", ts=NOW, act=act, results=results))
        made = Move(run.log[-1], run.protocol, before, run.state, run.commands)
        told.append(describe_move(made, unreadable).text.partition(" → ")[0])
    assert told == [f"{WORK} is checked: post_check failed", f"{WORK} is checked: passed; noted: post_check"]


def test_a_line_has_number_and_time() -> None:
    chronicle = Chronicle(lambda _: written().protocol)  # type: ignore[arg-type,return-value]
    one = describe_move(chronicle.take(encode_event(START)), unreadable)
    assert event_line(one) == "    1  2023-11-14 22:13:20  the run starts → root:work#1.1 starts as worker"
    assert (one.schema, one.run, one.seq, one.type, one.event) == (1, "r", 1, "RunStarted", START)
    assert [(order.type, order.id) for order in one.orders] == [("SetTimer", WORK), ("RunAgent", WORK)]


def test_a_whole_run_has_one_line_for_each_event(tmp_path: Path) -> None:
    state = record(tmp_path, of="riper", refuses=1)
    store = Store(tmp_path / ".treadle" / "local" / "store.db", reading=True)
    chronicle = Chronicle(store.protocol)
    told_ = [describe_move(chronicle.take(body), unreadable) for body, _ in store.tail("r")[1]]
    store.close()
    assert [one.seq for one in told_] == list(range(1, state.seq + 1))
    assert told_[-1].text.endswith(f"the run ends: {state.outcome}")
    assert all("\n" not in event_line(one) for one in told_)
    assert all(msgspec.json.decode(msgspec.json.encode(one.event)) for one in told_)
    assert read(tmp_path).state == state


def test_a_merge_that_was_rejected_says_why_where_that_can_be_looked_up() -> None:
    trial = approved()
    made = trial.log.take(encode_event(trial.rejected("test_adds: fails\nmore of it")))
    claim = "root:merge#1.1 ends with MergeRejected.ContractViolation"
    assert describe_move(made, trial.payloads.get).text.startswith(f"{claim}: test_adds: fails → root:impl#2.1 starts")
    assert describe_move(made, unreadable).text.startswith(f"{claim} → root:impl#2.1 starts")


def test_a_crash_is_described_with_its_report() -> None:
    made = written().take(encode_event(Failed(id="f", ts=NOW, act=WORK, why="crash", detail_ref="text:no such tool")))
    said = describe_move(made, lambda ref: {"report": ref.removeprefix("text:")}).text
    assert said.startswith(f"{WORK} crashed: no such tool → ")


@pytest.mark.parametrize(
    ("event", "details", "code"),
    [
        (
            Failed(id="f", ts=NOW, act=WORK, why="crash", detail_ref="r"),
            {"report": "", "error": "git.failed"},
            "git.failed",
        ),
        (Failed(id="f", ts=NOW, act=WORK, why="crash", detail_ref="r"), {"report": "", "code": 3}, "activity.crash"),
        (Failed(id="f", ts=NOW, act=WORK, why="invalid"), {}, "activity.invalid"),
        (Unavailable(id="u", ts=NOW, act=WORK, why="quota", detail_ref="r"), {"report": ""}, "outage.quota"),
    ],
)
def test_a_failure_has_a_code_in_older_logs_too(event: Event, details: Json, code: str) -> None:
    one = describe_move(written().take(encode_event(event)), lambda _: details)
    assert (one.code, event_line(one).endswith(f" [{code}]")) == (code, True)
