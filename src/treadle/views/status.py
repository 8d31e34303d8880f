"""The document of a run's status for programs, and the facts that go into it. `run_status` builds it."""

from collections.abc import Collection, Mapping
from typing import Literal

import msgspec

from treadle.kernel.instances import ROOT
from treadle.kernel.state import State
from treadle.kernel.waits import awaits_go
from treadle.protocol.model import Protocol
from treadle.views.activity import TokenUsage
from treadle.views.questions import Asked, Yours
from treadle.views.result import Advice, Result
from treadle.views.tree import Branch, ServiceOutage

# The results of the project's tests on the base commit of a run.

MOST_OLD_TESTS = 400
"""Tests that are named; the rest is counted."""


class OldTest(msgspec.Struct, frozen=True):
    """A test that did not pass before the run, or not every time."""

    test: str
    code: str
    """`baseline.failing`: it failed. `baseline.flaky`: its verdict changed from run to run. `baseline.instrumented`: it
    failed only because of our instrumentation, and counts by its runner's word."""


class Baseline(msgspec.Struct, frozen=True, kw_only=True):
    """The tests of the base commit, before the first agent starts."""

    commit: str
    tree: str
    passed: int
    failed: int
    skipped: int
    duration: float
    """Seconds for a run of all tests."""
    exit: int | None = None
    tests: tuple[OldTest, ...] = ()
    commands: tuple[str, ...] = ()
    """Commands of the toolchain that fail there, by name: `lint`, `format` (`baseline.lint`)."""
    is_reused: bool = False
    """Whether the result comes from an earlier test run, on the same tree with the same tools and settings."""


def baseline_counts(baseline: Baseline) -> str:
    """Format a baseline on one line: `412 passed, 3 failed, 12.3 s`."""
    parts = [f"{baseline.passed} passed", f"{baseline.failed} failed"]
    parts += [f"{baseline.skipped} skipped"] if baseline.skipped else []
    if not (baseline.passed or baseline.failed or baseline.skipped):
        parts = ["no tests yet" if baseline.exit in (0, 5) else f"the test command ended with {baseline.exit}"]
    return ", ".join([*parts, f"{baseline.duration:.1f} s"])


def baseline_line(baseline: Baseline) -> str:
    """Format the counts, and whether they come from an earlier run."""
    reused = "; result of an earlier run on the same tree" if baseline.is_reused else ""
    return f"{baseline_counts(baseline)}{reused}"


Condition = Literal["new", "works", "asks", "waits", "paused", "ended"]
"""A run is new until its first driver starts; it asks if only a person can move it, and waits if only time can.

A person in the agent's role counts as a person; a run paused as a whole is paused in any case.
"""


class ProtocolPin(msgspec.Struct, frozen=True, kw_only=True):
    """The protocol of a run."""

    name: str
    version: str
    digest: str


class OpenActivity(msgspec.Struct, frozen=True, kw_only=True):
    """An activity that is being done."""

    id: str
    instance: str
    step: str
    who: str
    phase: Literal["running", "verifying", "held"]
    """Held: its agent's service is out, and it starts again after the outage."""
    claim: str
    """The exit that it claims, while that is being verified."""
    attempt: int
    retry: int
    """How often it was lost and started again."""
    nudges: int
    began: str
    elapsed: float
    due: str
    """Its deadline; empty if a person does the work, because people have no deadline."""
    overdue: bool
    """Whether its timeout has passed; a driver notices at once."""


class Startable(msgspec.Struct, frozen=True, kw_only=True):
    """A step that waits for a person's `go`."""

    instance: str
    step: str
    title: str = ""
    """The protocol's title of the step."""


class Ceilings(msgspec.Struct, frozen=True, kw_only=True):
    """The limits at which a person is asked; 0: without limit."""

    cost: float
    tokens: int
    """In and out."""
    wall: int
    """Seconds."""
    granted: int
    """How often cost, tokens and time have been granted; the first time is the start."""
    instances: int
    created: int
    """Instances so far."""
    agents: int
    """Agents at once."""


class Timer(msgspec.Struct, frozen=True, kw_only=True):
    """A deadline that takes effect unless the run moves on before it."""

    id: str
    due: str


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """A run at a moment: `treadle status RUN --json`."""

    schema: Literal[1] = 1
    run: str
    name: str
    protocol: ProtocolPin | None
    """None until the run has started."""
    level: int
    """0: people are the agents; 1: every agent waits for a person's `go`; 2: agents start automatically."""
    status: Condition
    outcome: str
    driver: str
    """The driver; empty if none runs."""
    events: int
    began: str
    changed: str
    elapsed: float
    """Seconds since it began, until now or its end."""
    instances: tuple[Branch, ...]
    activities: tuple[OpenActivity, ...]
    questions: tuple[Asked, ...]
    starts: tuple[Startable, ...]
    yours: tuple[Yours, ...]
    """Activities with a person as the agent."""
    timers: tuple[Timer, ...]
    outage: ServiceOutage | None
    """None unless an agent's service is out."""
    usage: TokenUsage
    limits: Ceilings | None
    strays: int
    """Answers and messages that Treadle ignored."""
    untold: tuple[str, ...]
    """Why notifications about the run failed, each reason once."""
    edited: tuple[str, ...]
    """Files that show the run and were edited by others, with the differences."""
    advice: tuple[Advice, ...]
    """Advice of checks on accepted work."""
    result: Result | None
    """None until the run has ended, and if it has changed nothing."""
    baseline: Baseline | None = None
    """How the tests ended on the base commit; None if no check needs them."""


class StatusInputs(msgspec.Struct, frozen=True, kw_only=True):
    """Facts about a run from outside its history."""

    run: str
    name: str = ""
    driver: str = ""
    strays: int = 0
    untold: tuple[str, ...] = ()
    edited: tuple[str, ...] = ()
    yours: tuple[Yours, ...] = ()
    wordings: Mapping[str, str] = {}
    """Question → its text."""
    outage_message: str = ""
    """The agent program's message about the outage."""
    advice: tuple[Advice, ...] = ()
    result: Result | None = None
    baseline: Baseline | None = None


def protocol_pin(protocol: Protocol | None, state: State) -> ProtocolPin | None:
    """Return the protocol of a run as documents name it."""
    return ProtocolPin(name=protocol.name, version=protocol.version, digest=state.protocol) if protocol else None


def condition(protocol: Protocol | None, state: State, yours: Collection[str] = ()) -> Condition:
    """Return the status of a run in one word; `yours` are the activities in a person's hands."""
    if state.outcome or not state.seq:
        return "ended" if state.outcome else "new"
    if ROOT in state.insts and state.insts[ROOT].paused:
        return "paused"
    at_work = [id_ for id_, act in state.acts.items() if act.phase != "held"]
    if any(id_ not in yours for id_ in at_work):
        return "works"
    asks = any(ask.command is not None for ask in state.asks.values())
    return "asks" if at_work or asks or (protocol and startable_steps(protocol, state)) else "waits"


def startable_steps(protocol: Protocol, state: State) -> tuple[Startable, ...]:
    """Return the steps that wait for a person's `go`, in the order of their instances."""
    live = sorted((inst for inst in state.insts.values() if inst.live and inst.frames), key=lambda inst: inst.n)
    waiting = [(it, step) for it in live if (step := awaits_go(protocol, state, it))]
    return tuple(
        Startable(instance=it.id, step=step, title=protocol.graphs[it.graph].steps[step].title) for it, step in waiting
    )
