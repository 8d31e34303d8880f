"""Every event is a line that a person can follow."""

import pytest

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
from treadle.simulate.trace import describe
from treadle.testing.scenario import items

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
def test_a_line_says_who_and_what(event: Event, line: str) -> None:
    assert describe(event) == line
