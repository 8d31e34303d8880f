"""Advance an instance: serve a signal, start its step, or wait (R12, R13)."""

from typing import Any

import msgspec

from treadle.kernel.commands import ActivityCommand, AskHuman, Inputs, RunAgent, RunChecks, RunEffect
from treadle.kernel.instances import begin_map, map_result, open_barrier, progress_map
from treadle.kernel.mailbox import next_signal, post, take_signal
from treadle.kernel.routing import REPORTS, enter, leave
from treadle.kernel.state import Activity, Ask, Frame, Instance, Message, Pool, Slot, State
from treadle.kernel.turn import Turn
from treadle.protocol.model import Need, Step

AGENTS_POOL = "run:agents"
LIMIT_ASK = "run!limit"
OUTAGE = "run!outage"
"""The timer or the question that ends an outage."""

PERSONS_TIME = 10 * 365 * 86_400
"""The timeout, in seconds, of a person who works as an agent: in effect, people have no deadline."""


def is_out(at: Turn | State) -> bool:
    """Whether an agent's service is out (R21)."""
    return OUTAGE in at.asks or OUTAGE in at.timers


def is_stopped(at: Turn | State) -> bool:
    """Whether nothing may start: a person is asked about a limit, or a service is out (R19, R21)."""
    return LIMIT_ASK in at.asks or is_out(at)


def is_paused(at: Turn | State, inst: Instance) -> bool:
    """Whether a person has paused an instance or one above it (R18)."""
    above: Instance | None = inst
    while above is not None and not above.paused:
        above = at.inst(above.parent)
    return above is not None


def advance(t: Turn, inst: Instance) -> None:
    """Move an instance until it runs something, waits, or ends."""
    while inst.live and not t.outcome:
        if _route_waiting(t, inst):
            continue
        if inst.frames[-1].status == "active":
            act = t.acts.get(inst.frames[-1].id)
            if act and act.phase == "held" and not is_stopped(t) and not is_paused(t, inst):
                _issue_again(t, act)
            return
        if is_paused(t, inst):
            return
        _bring_forward(inst)
        waits = is_waiting(t, inst)
        signal = next_signal(t, inst, waits=waits)
        if signal is not None:
            _interrupt_with(t, inst, signal)
        elif inst.frames[-1].status != "queued" or waits or not _start(t, inst, inst.frames[-1]):
            return


def is_waiting(t: Turn, inst: Instance) -> bool:
    """Whether the top frame waits for its children or for a person's `go`."""
    top = inst.frames[-1]
    step = t.step(inst, top)
    groups = [inst.groups.get(wait.group) for wait in step.wait if wait.kind == "group"]
    if any(group is not None and group.open for group in groups):
        return True
    return is_manual(t.state, step) and top.step not in inst.released


def is_manual(state: State, step: Step) -> bool:
    """Whether a step starts only with a person's `go`."""
    return (state.level == 1 and step.kind == "agent") or any(wait.kind == "manual" for wait in step.wait)


def _issue_again(t: Turn, act: Activity) -> None:
    """Restart an activity that an outage suspended (R21): the same attempt, with a new deadline.

    It has kept its pools, so no other activity starts in its place. An agent with a conversation continues that.
    """
    job = act.command
    due = t.set_timer(job.id, t.protocol.graphs[job.graph].steps[job.step].timeout)
    job = msgspec.structs.replace(job, due=due)
    if isinstance(job, RunAgent) and act.session:
        job = msgspec.structs.replace(job, session=act.session, fork=False, goes_on=True)
    t.put_activity(msgspec.structs.replace(act, command=job, phase="running"))
    t.commands.append(job)


def _route_waiting(t: Turn, inst: Instance) -> bool:
    """Route the first answer or completed map of any frame, interrupted or not; return False if there is none."""
    for frame in inst.frames:
        if frame.reply:
            key, slot = frame.reply, frame.reply_slot
            frame.reply, frame.id, frame.status = "", "", "queued"
            leave(t, inst, frame, key, slot)
            return True
        if frame.status == "waiting" and (step := t.step(inst, frame)).kind == "map":
            for child in open_barrier(t, inst, frame.step):
                for synced in child.frames:
                    if synced.status == "synced":
                        enter(t, child, synced, synced.landing)
            key = progress_map(t, inst, frame, step)
            if key:
                frame.status = "queued"
                leave(t, inst, frame, key, map_result(t, inst, frame, step))
                return True
    return False


def _bring_forward(inst: Instance) -> None:
    """Put a handler that can continue above the handlers that wait for an answer: its answer came before theirs."""
    ready = [frame for frame in inst.frames[1:] if frame.status == "queued"]
    if ready and inst.frames[-1].status == "waiting":
        inst.frames = [*(frame for frame in inst.frames if frame is not ready[-1]), ready[-1]]


def _interrupt_with(t: Turn, inst: Instance, signal: Message) -> None:
    """Put a frame that handles a signal on top of the other frames."""
    t.dequeue(inst)
    step = t.graph(inst).handlers[signal.name].step
    frame = Frame(step, signal=signal.name, signals=take_signal(t, inst, signal))
    inst.frames.append(frame)
    inst.begin_visit(step)


def _start(t: Turn, inst: Instance, frame: Frame) -> bool:
    """Start the step a frame is queued at; False if that must wait for a pool or a person."""
    step = t.step(inst, frame)
    pools = _pools(inst, step)
    if step.kind == "ask":
        _ask(t, inst, frame, step)
    elif step.kind == "map":
        frame.status = "waiting"
        if not begin_map(t, inst, frame, step):
            frame.status = "queued"
            leave(t, inst, frame, "!limit", Slot(f"text:{t.live} instances are live", {}, t.seq))
    elif is_stopped(t) or not _is_admitted(t, inst, pools):
        return False
    else:
        _begin(t, inst, frame, step, pools)
    # A `go` permits one start of the step, not the next one too.
    if frame.step in inst.released:
        inst.released.remove(frame.step)
    return True


def _pools(inst: Instance, step: Step) -> tuple[str, ...]:
    owners = {"self": inst.id, "parent": inst.parent or "run", "run": "run"}
    named = tuple(f"{owners[scope]}:{name}" for scope, _, name in (text.partition(":") for text in step.pools))
    return (*named, AGENTS_POOL) if step.kind == "agent" else named


def _is_admitted(t: Turn, inst: Instance, pools: tuple[str, ...]) -> bool:
    """Whether all pools have room for the instance; if not, it joins the queue of the first full one.

    A newcomer joins the end of an existing queue even if there is room at the moment, so that it overtakes no other.
    """
    for name in pools:
        pool = t.pools.get(name) or Pool()
        if pool.held >= capacity(t, name) or (pool.queue and t.admitted != inst.id):
            if inst.ticket is None:
                t.enqueue(inst, name)
            return False
    t.dequeue(inst)
    return True


def capacity(t: Turn, pool: str) -> int:
    """Return how many activities may occupy a pool at once."""
    return t.protocol.limits.agents if pool == AGENTS_POOL else t.protocol.pools[pool.rpartition(":")[2]]


def _begin(t: Turn, inst: Instance, frame: Frame, step: Step, pools: tuple[str, ...]) -> None:
    """Acquire all pools at once, and issue the activity."""
    for name in pools:
        pool = t.pools.get(name) or Pool()
        t.pools = t.pools.set(name, msgspec.structs.replace(pool, held=pool.held + 1))
    attempt = inst.attempts[frame.step] = inst.attempts.get(frame.step, 0) + 1
    visit = inst.visits.get(frame.step, 1)
    # The id follows from the state alone, so recovery issues the same command again and nothing is done twice.
    id_ = f"{inst.id}:{frame.step}#{visit}.{attempt}"
    by_person = t.state.level == 0  # at level 0, people are the agents
    due = t.set_timer(id_, PERSONS_TIME if step.kind == "agent" and by_person else step.timeout)
    job: dict[str, Any] = {"id": id_, "inst": inst.id, "graph": inst.graph, "step": frame.step, "visit": visit}
    job |= {"attempt": attempt, "inputs": inputs_of(t, inst, frame, step), "due": due}

    command: ActivityCommand
    if step.kind == "check":
        command = RunChecks(**job, checks=step.checks)
        activity = Activity(command, "verifying", checks=step.checks, pools=pools)
    elif step.kind == "effect":
        command = RunEffect(**job, effect=step.effect)
        activity = Activity(command, pools=pools)
    else:
        session, fork = _thread(t, inst, frame, step)
        command = RunAgent(
            **job,
            role=step.role,
            attempts=step.attempts,
            mode=step.mode,
            lane=step.lane,
            tier=inst.tiers.get(step.role, 0),
            session=session,
            fork=fork,
            vars=inst.vars.copy(),
            by_person=by_person,
        )
        activity = Activity(command, pools=pools)
    t.put_activity(activity)
    t.commands.append(command)
    frame.status, frame.id = "active", id_


def _thread(t: Turn, inst: Instance, frame: Frame, step: Step) -> tuple[str, bool]:
    """Return the session to continue, if any, and whether to fork it: the step's own, else that of its `thread`."""
    thread = step.thread
    own = inst.threads.get(frame.step, "")
    if thread.kind == "new":
        return "", False
    if own or thread.kind == "resume":
        return own or inst.threads.get(thread.step, ""), False
    owner = t.inst(inst.parent) if thread.up else inst
    session = owner.threads.get(thread.step, "") if owner else ""
    return session, bool(session)


def _ask(t: Turn, inst: Instance, frame: Frame, step: Step) -> None:
    """Post a question, on every entry: to the parent's mailbox, or from the root to a person."""
    inst.attempts[frame.step] = inst.attempts.get(frame.step, 0) + 1
    id_ = f"{inst.id}:{frame.step}#{inst.visits.get(frame.step, 1)}.{inst.attempts[frame.step]}"
    frame.status, frame.id = "waiting", id_
    if step.asks == "parent" and inst.parent:
        t.put_ask(id_, Ask(inst.id, frame.step))
        refs = tuple(ref for need in step.needs if need.step for ref in _refs(t, inst, frame, need))
        post(t, inst.parent, Message(step.signal, inst.id, refs, t.seq, id_))
        return
    inputs = inputs_of(t, inst, frame, step)
    choices = tuple(step.routes)
    command = AskHuman(id=id_, inst=inst.id, graph=inst.graph, step=frame.step, choices=choices, inputs=inputs)
    t.put_ask(id_, Ask(inst.id, frame.step, command))
    t.commands.append(command)
    if step.remind:
        t.set_timer(f"{id_}!remind", step.remind)
    if step.default_after:
        t.set_timer(f"{id_}!default", step.default_after)


def inputs_of(t: Turn, inst: Instance, frame: Frame, step: Step) -> Inputs:
    """Collect the inputs of a step: the instance's input, needed slots, the signals it serves, reports and notes."""
    inputs: Inputs = {"in": (inst.input.ref,)}
    for need in step.needs:
        if need.step and (refs := _refs(t, inst, frame, need)):
            inputs[str(need).rstrip("?*")] = refs
    if frame.signals:
        inputs["signals"] = tuple(ref for message in frame.signals for ref in message.refs)
    # The newest report on why this step was not accepted, while it still matters.
    since = inst.left.get(frame.step, -1)
    slots = [slot for key in REPORTS if (slot := inst.slots.get(f"{frame.step}.{key}")) and slot.seq >= since]
    newest = max(slots, key=lambda slot: slot.seq).ref if slots else ""
    if report := newest or frame.cause_ref:
        inputs["gate_report"] = (report,)
    if frame.note_ref:
        inputs["human_note"] = (frame.note_ref,)
    return inputs


def _refs(t: Turn, inst: Instance, frame: Frame, need: Need) -> tuple[str, ...]:
    """Return the payloads of a need; an optional one only if it was written since the reading step was last left."""
    owner = t.inst(inst.parent) if need.up else inst
    if owner is None:
        return ()
    if need.every:
        return owner.history.get(need.slot, ())
    slot = owner.slots.get(need.slot)
    stale = slot is not None and need.optional and not need.up and slot.seq <= inst.left.get(frame.step, -1)
    return () if slot is None or stale else (slot.ref,)
