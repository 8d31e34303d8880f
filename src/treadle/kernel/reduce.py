"""The reducer: `reduce(protocol, state, event) -> (state, commands)`.

Theory of operation
===================

A run is a tree of **instances**, each an actor with one position in its graph (the *main frame*) and a mailbox. An
instance runs at most one **activity** at a time; all parallelism is between instances. An **event** is a fact from the
world (an agent exited, a check ran, a timer fired, a person answered); a **command** is a request to the world. Nothing
else connects the two: no clock, no randomness, no identifiers from outside. The same events always give the same states
and the same commands, and a stale event (for an ended activity, an answered question) changes nothing.

An agent's exit is a *claim*. If an exit has a gate or a computed field, `Exited` puts the activity in the phase
`verifying` and requests its checks, and `Checked` makes it an accepted exit if each check that is not advisory has
passed; otherwise it becomes the system exit `!gate`. Without both, `Exited` accepts it at once. So it does with the
exits of effects in the five protocols: a merge verifies its own commit. The kernel records an accepted exit in a slot,
routes it by the protocol's table, charges budgets and attempts, and performs the row's actions. Then the instance
stands at its next step (`routing`).

Between two activities an instance is at a **safe point**. There, and only there, it looks at its mailbox: a signal that
comes before the current work gets a **handler frame** on top of the main one, which resumes exactly where it was when
the handler ends, or is redirected (`mailbox`, `advance`). While a handler waits for an answer, others of its class are
served on top of it, each handler once, and the first handler with an answer continues first. A step with an unsatisfied
`wait` has not started: no session exists, and signals are still served.

After every event the reducer **settles**: it advances the instances that the event touched, in order of creation, then
hands freed pools to the instances in their queues, until no instance can move. It does not visit untouched instances,
so an event costs the same in a run of ten and in a run of five thousand.

Why this cannot deadlock: an instance waits only for an activity (which has a deadline; while its claim is verified, the
programs of the checks have timeouts instead), a person, a pool (occupied only by running activities, which acquire all
their pools at once), the barrier of its chunk (which the checker proves to be passed in lockstep, and which siblings
leave by ending), the end of an outage (a timer or a person), its children (downwards), or its parent's answer
(upwards). A handler never waits downwards or sideways and can start whenever its instance runs nothing, so no cycle of
waiting can close.

The rules, numbered for comments and tests: R1 dedup · R2 claim · R3 verify · R4 record · R5 route · R6 charge · R7
attempts · R8 actions · R9 goto · R10 finish · R11 settle · R12 advance · R13 start · R14 priorities · R15 merge
freshness (a consequence of R11: signals are served before freed pools are handed on) · R16 timers · R17 lost worker ·
R18 preempt, pause, abort · R19 limits · R20 upgrade · R21 outages · R22 reopening: the one event that restarts an ended
run; it stands before its last merge again, and the handler that rebases is served first.
"""

from collections.abc import Callable
from typing import Any, Final

import msgspec

from treadle.errors import IllegalEvent
from treadle.kernel.activities import checked, exited, failed, idle, open_job, session_started, timer_fired, unavailable
from treadle.kernel.advance import advance, capacity
from treadle.kernel.commands import Command, Done, SetTimer
from treadle.kernel.events import (
    Checked,
    Event,
    Exited,
    Failed,
    Idle,
    Reopened,
    Replied,
    RunStarted,
    SessionStarted,
    Signalled,
    TimerFired,
    Unavailable,
    Upgraded,
    Vouched,
)
from treadle.kernel.instances import create_instance, last_merge, reopen
from treadle.kernel.people import is_missing, replied, signalled
from treadle.kernel.state import SEMANTICS, Frame, Instance, State
from treadle.kernel.turn import Turn
from treadle.protocol.model import Protocol


def reduce(protocol: Protocol, state: State, event: Event) -> tuple[State, tuple[Command, ...]]:
    """Apply one event; return the next state and the new commands. A stale event returns the same state and no
    commands.
    """
    if isinstance(event, RunStarted) == bool(state.run):
        raise IllegalEvent(
            "a run starts exactly once, with RunStarted" if state.run else "the run has not started", code="event.order"
        )
    if state.outcome and not isinstance(event, Reopened | Vouched):
        return state, ()
    t = Turn(protocol, state, event.ts)
    if not _RULES[type(event)](t, event):
        return state, ()
    settle(t)
    return t.finish(), tuple(t.commands)


def outstanding(state: State) -> tuple[Command, ...]:
    """Derive every open command from the state alone; recovery issues these again."""
    if state.outcome:
        return (Done(id=state.run, outcome=state.outcome),)
    # A held activity has no open command: the end of the outage issues it again.
    jobs = [open_job(state.acts[id_]) for id_ in sorted(state.acts) if state.acts[id_].phase != "held"]
    asks = [command for id_ in sorted(state.asks) if (command := state.asks[id_].command) is not None]
    timers = [SetTimer(id=id_, due=state.timers[id_]) for id_ in sorted(state.timers)]
    return (*jobs, *asks, *timers)


def settle(t: Turn) -> None:
    """R11: advance the touched instances, then hand on freed pools, until no instance can move."""
    while not t.outcome:
        inst = t.take_work()
        if inst is not None:
            advance(t, inst)
        elif not _hand_on_pools(t):
            return


def _hand_on_pools(t: Turn) -> bool:
    """Wake the first instance in the queue of a freed pool with room; return False if there is none."""
    while t.freed:
        name = t.freed.pop()
        if t.pools[name].held < capacity(t, name) and t.first_in_queue(name) is not None:
            t.freed.append(name)  # there may be room for the next one too, or this one may not need it any more
            return True
    return False


def _run_started(t: Turn, e: RunStarted) -> bool:
    if e.semantics != SEMANTICS:
        raise IllegalEvent(
            f"the run wants kernel semantics {e.semantics}, this kernel has {SEMANTICS}", code="run.newer"
        )
    t.state = msgspec.structs.replace(t.state, run=e.run, protocol=e.protocol, level=e.level, started=e.ts)
    create_instance(t, t.protocol.root, e.input)
    if t.protocol.limits.wall:
        t.set_timer("run!wall", t.protocol.limits.wall)
    return True


def _upgraded(t: Turn, e: Upgraded) -> bool:
    """R20: switch to the protocol of this call; refuse if a live frame does not fit into it."""
    places = [(inst, frame) for inst in t.everyone() for frame in inst.frames]
    renamed = {
        (inst.graph, frame.step): e.steps.get(f"{inst.graph}.{frame.step}", frame.step) for inst, frame in places
    }
    for inst, frame in places:
        if refused := _misfit(t.protocol, inst, frame, renamed[inst.graph, frame.step]):
            t.notify(inst.id, "refused", refused)
            return True
    t.state = msgspec.structs.replace(t.state, protocol=e.protocol)
    for id_ in {inst.id: None for inst, _ in places}:
        draft = t.edit(id_)
        for frame in draft.frames:
            frame.step = renamed[draft.graph, frame.step]
    return True


def _reopened(t: Turn, _e: Reopened) -> bool:
    """R22: reopen a run only if it ended at a merge and its root has a handler that rebases."""
    step, signal = last_merge(t.protocol, t.state)
    if step:
        reopen(t, step, signal)
    return bool(step)


def _vouched(t: Turn, _e: Vouched) -> bool:
    """Record that a person vouches for the result; only an ended run has one, and no instance advances."""
    return bool(t.state.outcome)


def _misfit(protocol: Protocol, inst: Instance, frame: Frame, step: str) -> str:
    """Return why a frame cannot stand at a step of the new protocol; empty if it can."""
    graph = protocol.graphs.get(inst.graph)
    if graph is None or step not in graph.steps:
        return f"the new protocol has no step {inst.graph}.{step}"
    if step != frame.step and frame.status != "queued":
        return f"{inst.graph}.{frame.step} is busy and cannot become {step} now"
    missing = [str(need) for need in graph.steps[step].needs if is_missing(inst, need)]
    return f"{inst.graph}.{step} needs {', '.join(missing)}" if missing else ""


_RULES: Final[dict[type[Any], Callable[[Turn, Any], bool]]] = {
    RunStarted: _run_started,
    SessionStarted: session_started,
    Exited: exited,
    Checked: checked,
    Failed: failed,
    Unavailable: unavailable,
    TimerFired: timer_fired,
    Idle: idle,
    Replied: replied,
    Signalled: signalled,
    Upgraded: _upgraded,
    Reopened: _reopened,
    Vouched: _vouched,
}
