"""The simulator finds what is wrong, and says the same thing again for the same seed."""

import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kernel.protocols import WORK_AND_REVIEW, agent, graph, protocol, to
from treadle.kernel.events import (
    Checked,
    CheckResult,
    Envelope,
    Event,
    Exited,
    Failed,
    Idle,
    Replied,
    RunStarted,
    SessionStarted,
    Signalled,
    TimerFired,
    Upgraded,
)
from treadle.protocol.items import Item
from treadle.protocol.model import Exit, Field, Handler, Protocol, Record, Route, Send, Spawn, Step, Wait
from treadle.simulate.run import Summary, describe_event, judge, shrink, simulate_run, summary_of
from treadle.testing.scenario import Scenario, items

PARTS = {"Part": Record(fields={"id": Field(type="text")})}


def simulated(protocol: Protocol, runs: int, faults: float, seed: int = 0, *, odd: bool = False) -> Summary:
    return summary_of(protocol, [simulate_run(protocol, seed + n, faults, odd=odd) for n in range(runs)])


def test_the_same_seed_gives_the_same_run() -> None:
    first, second = (simulate_run(WORK_AND_REVIEW, seed=7, faults=0.4) for _ in range(2))
    assert first == second
    assert simulate_run(WORK_AND_REVIEW, seed=8, faults=0.4) != first


def test_the_same_seed_gives_the_same_finding_in_another_process() -> None:
    """Whatever order that process keeps its maps in."""
    code = (
        "from tests.simulate.test_run import lonely_join, simulate_run\n"
        "from treadle.protocol.load import load\n"
        "print([simulate_run(lonely_join(), seed, 0.5) for seed in range(8)], simulate_run(load('dptr'), 1, 0.3))"
    )
    seen = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(seen) == 1
    assert "stuck: root" in seen.pop()


def test_a_sound_protocol_has_no_findings() -> None:
    summary = simulated(WORK_AND_REVIEW, runs=60, faults=0.4)
    assert summary.findings == ()
    assert set(summary.outcomes) == {"Done", "Failed"}
    assert summary.kills > 0


def livelock() -> Protocol:
    """Two steps that send each other back for ever, and no person to end it."""
    return protocol(graph({"a": agent({"Next": to("b"), "!*": to("b")}), "b": agent({"Next": to("a"), "!*": to("a")})}))


def test_a_run_that_never_ends_is_a_finding() -> None:
    found = [
        finding.what
        for seed in range(5)
        for finding in simulate_run(livelock(), seed, faults=0.0, patience=20).findings
    ]
    assert any("livelock" in what for what in found)


def lonely_join() -> Protocol:
    """A join on a child whose failure nobody handles."""
    steps = {
        "plan": agent({"Plan": to("work", do=(Spawn(group="kids", graph="kid", over="parts"),))}),
        "work": agent({"Ready": to("@end:Done")}, wait=(Wait(kind="group", group="kids"),)),
    }
    kid = {"work": agent({"Ok": to("@end:Done"), "No": to("@end:Failed")})}
    exits = {"Plan": Exit(fields={"parts": Field(type="[Part]", route="items")})}
    return protocol(graph(steps, ok={"kids": ("Done",)}), ("kid", graph(kid)), exits=exits, types=PARTS)


def test_a_join_that_never_ends_is_a_finding() -> None:
    found = [finding for seed in range(40) for finding in simulate_run(lonely_join(), seed, faults=0.2).findings]
    assert any(finding.what.startswith("stuck") for finding in found)
    assert all(finding.trace for finding in found)


def embrace() -> Protocol:
    """A handler that waits for the very child that waits for its answer."""
    wait = (Wait(kind="group", group="kids"),)
    steps = {
        "plan": agent({"Plan": to("work", do=(Spawn(group="kids", graph="kid", over="parts"),))}),
        "work": agent({"Ready": to("@end:Done")}, wait=wait),
        "judge": agent({"Yes": to("@resume", do=(Send(signal="Accept", to="sender"),))}, wait=wait),
    }
    kid = {
        "work": agent({"Ok": to("verdict")}),
        "verdict": Step(kind="ask", asks="parent", signal="Judge", routes={"Accept": to("@end:Done")}),
    }
    exits = {"Plan": Exit(fields={"parts": Field(type="[Part]", route="items")})}
    parent = graph(steps, ok={"kids": ("Done",)}, handlers={"Judge": Handler(step="judge", reply=True)})
    return protocol(parent, ("kid", graph(kid)), exits=exits, types=PARTS)


def test_two_that_wait_for_each_other_are_a_finding() -> None:
    found = [finding for seed in range(40) for finding in simulate_run(embrace(), seed, faults=0.0).findings]
    stuck = next(finding for finding in found if "root/k0" in finding.what)
    assert stuck.what.startswith("stuck: root/k0 stands at verdict")
    assert len(stuck.trace) <= 6


def test_a_trace_is_short_and_can_be_followed() -> None:
    """However late the fault shows, what does not matter for it is left out."""
    found = [finding for seed in range(30) for finding in simulate_run(lonely_join(), seed, faults=0.5).findings]
    assert found
    for finding in found:
        assert finding.trace[0].startswith("the run starts")
        assert len(finding.trace) <= 12


def test_rows_that_no_run_took_are_listed() -> None:
    summary = simulated(WORK_AND_REVIEW, runs=1, faults=0.0, seed=3)
    assert "main !*" in summary.never
    more = simulated(WORK_AND_REVIEW, runs=80, faults=0.3)
    assert more.never == ()
    assert more.exits["main.review Good"] > 0


def test_a_missing_row_is_a_finding() -> None:
    guarded = protocol(graph({"work": agent({"Ready": (Route(to="@end:Done", when="attempt > 5"),)})}))
    found = [finding.what for seed in range(3) for finding in simulate_run(guarded, seed, faults=0.0).findings]
    assert any("no row for Ready" in what for what in found)


def test_a_history_can_be_judged_again() -> None:
    good = Scenario(WORK_AND_REVIEW).says("Ready").says("Good")
    assert judge(good.protocol, good.log) == []
    [refusal] = judge(good.protocol, good.log[1:])
    assert refusal.startswith("refused: IllegalEvent(")


# Shorter histories that still fail.


@given(st.lists(st.integers(0, 9), max_size=40), st.sets(st.integers(0, 9), max_size=3))
def test_shrinking_keeps_the_needed_events_in_order(history: list[int], needed: set[int]) -> None:
    def fails(some: list[int]) -> bool:
        return needed <= set(some)

    if not fails(history) or not needed:
        return
    short = shrink(history, fails, tries=1000)
    assert sorted(short) == sorted(needed)
    places = iter(history)
    assert all(any(one == other for other in places) for one in short)


def test_effort_is_limited() -> None:
    calls: list[int] = []

    def fails(some: list[int]) -> bool:
        calls.append(len(some))
        return False

    assert shrink(list(range(100)), fails, tries=5) == list(range(100))
    assert len(calls) == 5


# Every event is a line that a person can follow.


WORK = "root:work#1.1"


@pytest.mark.parametrize(
    ("event", "line"),
    [
        (
            RunStarted(id="e", ts=0, run="r", protocol="p", input=Item("x", "", {"parallel": 2})),
            "the run starts (parallel=2)",
        ),
        (SessionStarted(id="e", ts=0, act=WORK, session="s"), f"{WORK} has a session"),
        (
            Exited(id="e", ts=0, act=WORK, envelope=Envelope("Stuck", "Loop", {"parts": items("a", "b"), "n": None})),
            f"{WORK} exits Stuck.Loop (n=None, parts=[a b])",
        ),
        (
            Exited(id="e", ts=0, act=WORK, envelope=Envelope("Ready", "", {"blocked_by": ("a",)})),
            f"{WORK} exits Ready (blocked_by=[a])",
        ),
        (Checked(id="e", ts=0, act=WORK, results=(CheckResult("green", True),)), f"{WORK} is checked: passed"),
        (
            Checked(id="e", ts=0, act=WORK, results=(CheckResult("red", False), CheckResult("green", True))),
            f"{WORK} is checked: red failed",
        ),
        (Failed(id="e", ts=0, act=WORK, why="crash"), f"{WORK} fails: crash"),
        (TimerFired(id="e", ts=0, timer="run!wall"), "timer run!wall fires"),
        (Idle(id="e", ts=0, act=WORK, idle_s=60), f"{WORK} is idle"),
        (Replied(id="e", ts=0, ask="root:human#1.1", choice="retry"), "a person answers root:human#1.1: retry"),
        (Signalled(id="e", ts=0, inst="root", name="abort"), "a person sends abort to root"),
        (Signalled(id="e", ts=0, inst="root", name="go", step="work"), "a person sends go work to root"),
        (Upgraded(id="e", ts=0, protocol="p2"), "the run moves to protocol p2"),
    ],
)
def test_every_event_has_a_line_with_its_subject(event: Event, line: str) -> None:
    assert describe_event(event) == line
