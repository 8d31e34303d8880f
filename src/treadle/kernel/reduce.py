"""The reducer: `reduce(protocol, state, event) -> (state, commands)`.

Theory of operation
===================

A run is a tree of **instances**, each an actor with one position in its graph (the *main frame*) and a mailbox. An
instance runs at most one **activity** at a time; all parallelism is between instances. An **event** is a fact from the
world (an agent exited, a check ran, a timer fired, a person answered); a **command** is a request to the world. Nothing
else connects the two: no clock, no randomness, no identifiers from outside. The same events give the same states and
the same commands, always, and an event that no longer fits (a stale activity, an answered question) changes nothing.

An exit is a *claim*. `Exited` puts the activity in the phase `verifying` and asks for its checks; only `Checked` with
all of them passed makes it an accepted exit, otherwise it becomes the system exit `!gate`. Accepted exits are recorded
in slots, routed by the protocol's table, charged against budgets and attempts, and perform the row's actions. Then the
instance stands at its next step (`routing`).

Between two activities an instance is at a **safe point**. There, and only there, it looks at its mailbox: a signal that
comes before the work at hand gets a **handler frame** on top of the main one, which resumes exactly where it was when
the handler ends, or is redirected (`mailbox`, `advance`). A step whose wait is not satisfied is *held*: no session
exists, signals are still served.

After every event the reducer **settles**: it advances the instances that the event touched, in order of creation, then
hands freed pools to those who queue for them, until nothing moves. Instances that the event did not touch are not
visited, so an event costs the same in a run of ten and in a run of five thousand.

Why this cannot deadlock: an instance waits only for an activity (which has a deadline), a person, a pool (held only by
running activities, taken all at once), the barrier of its chunk (which the checker proves to be passed in lockstep, and
which siblings leave by ending), its children (downwards), or its parent's answer (upwards). A handler never waits
downwards or sideways and can start whenever its instance runs nothing, so no cycle of waiting can close.

The rules are numbered as in the design: R1 dedup · R2 claim · R3 verify · R4 record · R5 route · R6 charge ·
R7 attempts · R8 actions · R9 goto · R10 finish · R11 settle · R12 advance · R13 start · R14 priorities ·
R15 merge freshness (a consequence of R11: signals are served before freed pools are handed on) · R16 timers ·
R17 lost worker · R18 preempt, pause, abort · R19 limits · R20 upgrade.
"""

from collections.abc import Callable
from typing import Any, Final

import msgspec

from treadle.errors import IllegalEvent
from treadle.kernel.advance import LIMIT_ASK, advance, capacity
from treadle.kernel.commands import ActivityCommand, AskHuman, Cancel, Command, Done, Nudge, RunChecks, SetTimer
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
    Usage,
)
from treadle.kernel.lifecycle import ROOT, create, finish
from treadle.kernel.mailbox import post, preempt, reply
from treadle.kernel.routing import leave, redirect, spawn_refused
from treadle.kernel.state import SEMANTICS, Activity, Ask, Frame, Instance, Message, Slot, State
from treadle.kernel.turn import Turn
from treadle.protocol.model import ABORTED, Need, Protocol, system_keys, tag_of


def reduce(protocol: Protocol, state: State, event: Event) -> tuple[State, tuple[Command, ...]]:
    """Apply one event: the next state, and what is to be done. Stale events return the same state and nothing."""
    if isinstance(event, RunStarted) == bool(state.run):
        raise IllegalEvent("a run starts exactly once, with RunStarted" if state.run else "the run has not started")
    if state.outcome:
        return state, ()
    t = Turn(protocol, state, event.ts)
    if not _RULES[type(event)](t, event):
        return state, ()
    settle(t)
    return t.finish(), tuple(t.commands)


def outstanding(state: State) -> tuple[Command, ...]:
    """Every command that is still open, derived from the state alone: what recovery issues again."""
    if state.outcome:
        return (Done(id=state.run, outcome=state.outcome),)
    jobs = [_open_job(state.acts[id_]) for id_ in sorted(state.acts)]
    asks = [command for id_ in sorted(state.asks) if (command := state.asks[id_].command) is not None]
    timers = [SetTimer(id=id_, due=state.timers[id_]) for id_ in sorted(state.timers)]
    return (*jobs, *asks, *timers)


def settle(t: Turn) -> None:
    """R11: advance what was touched, then hand on freed pools, until nothing moves."""
    while not t.outcome:
        inst = t.take_work()
        if inst is not None:
            advance(t, inst)
        elif not _hand_on_pools(t):
            return


def _hand_on_pools(t: Turn) -> bool:
    """Wake as many of those who queue for a freed pool as it has room for."""
    while t.freed:
        name = t.freed.pop()
        if t.pools[name].held < capacity(t, name) and t.first_in_queue(name) is not None:
            t.freed.append(name)
            return True
    return False


# the start of a run


def _run_started(t: Turn, e: RunStarted) -> bool:
    if e.semantics != SEMANTICS:
        raise IllegalEvent(f"the run wants kernel semantics {e.semantics}, this kernel has {SEMANTICS}")
    t.state = msgspec.structs.replace(t.state, run=e.run, protocol=e.protocol, level=e.level, started=e.ts)
    create(t, t.protocol.root, e.input)
    if t.protocol.limits.wall:
        t.set_timer("run!wall", t.protocol.limits.wall)
    return True


# activities


def _session_started(t: Turn, e: SessionStarted) -> bool:
    act = t.activity(e.act, "running", "verifying")
    if act is None:
        return False
    t.edit(act.command.inst).threads[act.command.step] = e.session
    return True


def _exited(t: Turn, e: Exited) -> bool:
    """R2: take a claim; verify it if there is anything to check or to compute."""
    act = t.activity(e.act, "running")
    if act is None:
        return False
    _use(t, e.usage)
    command = act.command
    known = t.protocol.routing_keys[command.graph][command.step]
    if e.envelope.key not in known:
        _fail(t, act, "!invalid", e.envelope.payload_ref)
        return True
    t.cancel_timer(e.act)
    checks = t.protocol.duties[command.graph][command.step].get(e.envelope.key)
    if checks is None:
        _accept(t, act, e.envelope)
    else:
        act = msgspec.structs.replace(act, phase="verifying", claim=e.envelope, checks=checks)
        t.put_activity(act)
        t.commands.append(_open_job(act))
    return True


def _checked(t: Turn, e: Checked) -> bool:
    """R3: accept what the checks bear out; anything that did not run or did not pass refuses."""
    act = t.activity(e.act, "verifying")
    if act is None:
        return False
    inst = t.edit(act.command.inst)
    if e.fingerprint:
        before, count = inst.failures.get(act.command.step, ("", 0))
        inst.failures[act.command.step] = (e.fingerprint, count + 1 if before == e.fingerprint else 1)
    failed = _failed_checks(act, e.results)
    if act.claim is None:
        key = _refined(t, act, "Failed", failed) if failed else "Passed"
        _accept(t, act, Envelope(key, payload_ref=e.payload_ref))
    elif failed:
        reports = {result.check: result.report_ref for result in e.results}
        _fail(t, act, _refined(t, act, "!gate", failed), e.payload_ref or reports.get(failed[0], ""))
    else:
        fields = {**act.claim.fields, **e.derived}
        ref = e.payload_ref or act.claim.payload_ref
        _accept(t, act, msgspec.structs.replace(act.claim, fields=fields, payload_ref=ref))
    return True


def _failed_checks(act: Activity, results: tuple[CheckResult, ...]) -> list[str]:
    passed = {result.check for result in results if result.ok} - {result.check for result in results if not result.ok}
    return [check.name for check in act.checks if not check.advisory and check.name not in passed]


def _refined(t: Turn, act: Activity, tag: str, failed: list[str]) -> str:
    """`!gate.<check>` for the first failed check that has a row of its own."""
    graph = t.protocol.graphs[act.command.graph]
    routes = graph.steps[act.command.step].routes
    return next((key for name in failed if (key := f"{tag}.{name}") in routes or key in graph.system), tag)


def _accept(t: Turn, act: Activity, envelope: Envelope) -> None:
    inst, frame = _position(t, act)
    slot = Slot(envelope.payload_ref, envelope.fields, t.seq)
    refused = spawn_refused(t, inst, frame, envelope.key, slot)
    if refused:
        _fail(t, act, "!gate", f"text:{refused}")
        return
    t.end_activity(act)
    frame.status, frame.id = "queued", ""
    if act.command.inputs.get("human_note") == (inst.note_ref,):
        inst.note_ref = ""
    leave(t, inst, frame, envelope.key, slot)


def _fail(t: Turn, act: Activity, key: str, ref: str) -> None:
    """Leave by a system exit; one that the table of this kind of step does not have is a fault of ours: `!crash`."""
    inst, frame = _position(t, act)
    if tag_of(key) not in system_keys(t.step(inst, frame)):
        key = "!crash"
    t.end_activity(act)
    frame.status, frame.id = "queued", ""
    leave(t, inst, frame, key, Slot(ref, {}, t.seq))


def _position(t: Turn, act: Activity) -> tuple[Instance, Frame]:
    inst = t.edit(act.command.inst)
    return inst, next(frame for frame in inst.frames if frame.id == act.command.id)


def _failed(t: Turn, e: Failed) -> bool:
    """R17: an activity that its runner lost is issued again a few times; other failures are system exits."""
    act = t.activity(e.act, "running", "verifying")
    if act is None:
        return False
    _use(t, e.usage)
    if e.why == "crash" and act.command.retry < t.protocol.limits.infra_retries:
        command = msgspec.structs.replace(act.command, retry=act.command.retry + 1)
        act = msgspec.structs.replace(act, command=command)
        t.put_activity(act)
        t.commands.append(_open_job(act))
    else:
        _fail(t, act, f"!{e.why}", e.detail_ref)
    return True


def _open_job(act: Activity) -> ActivityCommand:
    """The command that an activity is waiting for."""
    job = act.command
    if act.phase == "running" or act.claim is None:
        return job
    return RunChecks(
        id=job.id,
        inst=job.inst,
        graph=job.graph,
        step=job.step,
        visit=job.visit,
        attempt=job.attempt,
        inputs=job.inputs,
        retry=job.retry,
        checks=act.checks,
        exit=act.claim.key,
        payload_ref=act.claim.payload_ref,
    )


def _use(t: Turn, usage: Usage) -> None:
    """Add up what was consumed; beyond the limit a person is asked before anything else starts (R19)."""
    if usage == Usage():
        return
    t.usage = Usage(
        t.usage.tokens_in + usage.tokens_in, t.usage.tokens_out + usage.tokens_out, t.usage.cost + usage.cost
    )
    limit = t.protocol.limits.cost
    if limit and t.usage.cost >= limit * t.allowances:
        _open_limit(t, "cost")


def _open_limit(t: Turn, what: str) -> None:
    if LIMIT_ASK not in t.asks:
        choices = ("continue", "abort")
        command = AskHuman(id=LIMIT_ASK, inst=ROOT, graph="", step=what, choices=choices)
        t.put_ask(LIMIT_ASK, Ask(ROOT, what, command))
        t.commands.append(command)


# time


def _timer_fired(t: Turn, e: TimerFired) -> bool:
    """R16: a deadline, a reminder, a default answer, the end of a grace period, or the run's time."""
    if e.timer not in t.timers:
        return False
    t.timers = t.timers.delete(e.timer)
    id_, _, what = e.timer.rpartition("!")
    if act := t.activity(e.timer, "running", "verifying"):
        t.commands.append(Cancel(id=e.timer, why="timeout"))
        _fail(t, act, "!timeout", "text:the deadline has passed")
    elif what == "wall":
        _open_limit(t, "wall")
    elif what.startswith("preempt:"):
        preempt(t, t.edit(id_), what.removeprefix("preempt:"))
    elif ask := t.asks.get(id_):
        _ask_is_due(t, id_, ask, what)
    return True


def _ask_is_due(t: Turn, id_: str, ask: Ask, what: str) -> None:
    inst = t.edit(ask.inst)
    step = t.graph(inst).steps[ask.step]
    if what == "default":
        reply(t, id_, step.default, Slot("text:decided by time", {}, t.seq))
    else:
        t.notify(inst.id, "reminder", id_)
        t.set_timer(f"{id_}!remind", step.remind)


def _idle(t: Turn, e: Idle) -> bool:
    act = t.activity(e.act, "running")
    if act is None:
        return False
    step = t.protocol.graphs[act.command.graph].steps[act.command.step]
    if act.nudges >= step.nudges:
        return False
    t.put_activity(msgspec.structs.replace(act, nudges=act.nudges + 1))
    t.commands.append(Nudge(id=e.act, count=act.nudges + 1))
    return True


# people


def _replied(t: Turn, e: Replied) -> bool:
    """A person's answer; its note is kept for the next agent of that instance, until that agent's work is accepted."""
    ask = t.asks.get(e.ask)
    if ask is None or ask.command is None or e.choice not in ask.command.choices:
        return False
    if e.ask == LIMIT_ASK:
        return _limit_answered(t, e.choice)
    inst = t.edit(ask.inst)
    if e.note_ref:
        inst.note_ref = e.note_ref
    reply(t, e.ask, e.choice, Slot(e.note_ref, {}, t.seq))
    return True


def _limit_answered(t: Turn, choice: str) -> bool:
    t.end_ask(LIMIT_ASK)
    if choice == "abort":
        finish(t, t.edit(ROOT), ABORTED)
        return True
    t.allowances += 1
    if t.protocol.limits.wall:
        t.set_timer("run!wall", t.protocol.limits.wall)
    for inst in t.everyone():
        t.touch(inst)
    return True


def _signalled(t: Turn, e: Signalled) -> bool:
    """R18 and signals from outside."""
    inst = t.inst(e.inst)
    if inst is None or not inst.live:
        return False
    inst = t.edit(e.inst)
    match e.name:
        case "abort":
            finish(t, inst, ABORTED)
        case "pause":
            inst.paused = True
        case "resume":
            inst.paused = False
            for other in t.everyone():
                t.touch(other)
        case "go":
            _go(t, inst, e.step)
        case name if name in t.graph(inst).handlers:
            post(t, inst.id, Message(name, "", (e.data_ref,), t.seq))
        case "StatusQuery":
            t.notify(inst.id, "status", f"{inst.frames[-1].step} {inst.frames[-1].status}")
        case name:
            t.bury(inst.id, name, "")
    return True


def _go(t: Turn, inst: Instance, step: str) -> None:
    """Let a held step start, or (a command of the graph) send a waiting main frame to another one."""
    graph = t.graph(inst)
    step = graph.commands.get(step, step)
    main = inst.frames[0]
    if step == main.step or any(frame.step == step for frame in inst.frames):
        inst.released.append(step)
    elif step not in graph.commands.values() or main.status == "active" or len(inst.frames) > 1:
        t.notify(inst.id, "refused", f"cannot go to {step} from {main.step} now")
    elif missing := [str(need) for need in graph.steps[step].needs if _is_missing(inst, need)]:
        t.notify(inst.id, "refused", f"{step} needs {', '.join(missing)}")
    else:
        redirect(t, inst, step)
        inst.released.append(step)


def _is_missing(inst: Instance, need: Need) -> bool:
    return not (need.optional or need.every or need.up or need.slot in inst.slots)


# change


def _upgraded(t: Turn, e: Upgraded) -> bool:
    """R20: the protocol given to this call is the new one; every live position must exist in it."""
    renamed: list[tuple[str, Frame, str]] = []
    for inst in t.everyone():
        graph = t.protocol.graphs.get(inst.graph)
        for frame in inst.frames:
            step = e.steps.get(f"{inst.graph}.{frame.step}", frame.step)
            if graph is None or step not in graph.steps:
                t.notify(inst.id, "refused", f"the new protocol has no step {inst.graph}.{step}")
                return True
            needs = graph.steps[step].needs
            if missing := [str(need) for need in needs if _is_missing(inst, need)]:
                t.notify(inst.id, "refused", f"{inst.graph}.{step} needs {', '.join(missing)}")
                return True
            renamed.append((inst.id, frame, step))
    t.state = msgspec.structs.replace(t.state, protocol=e.protocol)
    for id_, frame, step in renamed:
        if frame.step != step and frame.status == "queued":
            draft = t.edit(id_)
            next(other for other in draft.frames if other == frame).step = step
    return True


_RULES: Final[dict[type[Any], Callable[[Turn, Any], bool]]] = {
    RunStarted: _run_started,
    SessionStarted: _session_started,
    Exited: _exited,
    Checked: _checked,
    Failed: _failed,
    TimerFired: _timer_fired,
    Idle: _idle,
    Replied: _replied,
    Signalled: _signalled,
    Upgraded: _upgraded,
}
