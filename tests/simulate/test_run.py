"""The simulator finds what is wrong, and says the same thing again for the same seed."""

import os
import subprocess
import sys

from tests.kernel.protocols import WORK_AND_REVIEW, agent, graph, protocol, to
from treadle.protocol.model import Exit, Field, Handler, Protocol, Record, Route, Send, Spawn, Step, Wait
from treadle.simulate.run import judge, many, run
from treadle.testing.scenario import Scenario

PARTS = {"Part": Record(fields={"id": Field(type="text")})}


def test_the_same_seed_gives_the_same_run() -> None:
    first, second = (run(WORK_AND_REVIEW, seed=7, faults=0.4) for _ in range(2))
    assert first == second
    assert run(WORK_AND_REVIEW, seed=8, faults=0.4) != first


def test_the_same_seed_gives_the_same_finding_in_another_process() -> None:
    """Whatever order that process keeps its maps in."""
    code = (
        "from tests.simulate.test_run import lonely_join, run\n"
        "from treadle.protocol.load import load\n"
        "print([run(lonely_join(), seed, 0.5) for seed in range(8)], run(load('dptr'), 1, 0.3))"
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


def test_nothing_is_wrong_with_a_sound_protocol() -> None:
    [summary] = many([WORK_AND_REVIEW], runs=60, faults=0.4)
    assert summary.findings == ()
    assert set(summary.outcomes) == {"Done", "Failed"}
    assert summary.kills > 0


def livelock() -> Protocol:
    """Two steps that send each other back for ever, and no person to end it."""
    return protocol(graph({"a": agent({"Next": to("b"), "!*": to("b")}), "b": agent({"Next": to("a"), "!*": to("a")})}))


def test_a_run_that_never_ends_is_a_finding() -> None:
    found = [finding.what for seed in range(5) for finding in run(livelock(), seed, faults=0.0, patience=20).findings]
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
    found = [finding for seed in range(40) for finding in run(lonely_join(), seed, faults=0.2).findings]
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
    found = [finding for seed in range(40) for finding in run(embrace(), seed, faults=0.0).findings]
    stuck = next(finding for finding in found if "root/k0" in finding.what)
    assert stuck.what == "stuck: root/k0 stands at verdict (waiting) and nothing can move it"
    assert len(stuck.trace) <= 6


def test_a_trace_is_short_and_can_be_followed() -> None:
    """However late the fault shows, what does not matter for it is left out."""
    found = [finding for seed in range(30) for finding in run(lonely_join(), seed, faults=0.5).findings]
    assert found
    for finding in found:
        assert finding.trace[0].startswith("the run starts")
        assert len(finding.trace) <= 12


def test_rows_that_no_run_took_are_listed() -> None:
    [summary] = many([WORK_AND_REVIEW], runs=1, faults=0.0, seed=3)
    assert "main !*" in summary.never
    [more] = many([WORK_AND_REVIEW], runs=80, faults=0.3)
    assert more.never == ()
    assert more.exits["main.review Good"] > 0


def test_a_missing_row_is_a_finding() -> None:
    guarded = protocol(graph({"work": agent({"Ready": (Route(to="@end:Done", when="attempt > 5"),)})}))
    found = [finding.what for seed in range(3) for finding in run(guarded, seed, faults=0.0).findings]
    assert any("no row for Ready" in what for what in found)


def test_a_history_can_be_judged_again() -> None:
    good = Scenario(WORK_AND_REVIEW).says("Ready").says("Good")
    assert judge(good.protocol, good.log) == []
    assert judge(good.protocol, good.log[1:]) == ["refused: IllegalEvent('the run has not started')"]
