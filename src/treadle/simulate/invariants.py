"""Invariants: rules that every state of every run obeys in any world. Each message names the part that breaks
the rule.
"""

from collections import Counter
from collections.abc import Iterator

from treadle.kernel.advance import AGENTS_POOL, LIMIT_ASK, OUTAGE, is_out, is_paused, is_stopped
from treadle.kernel.commands import Command, RunAgent, RunChecks, RunEffect
from treadle.kernel.state import Frame, Group, Instance, State
from treadle.kernel.waits import awaits_go, stuck_instances
from treadle.protocol.model import Protocol

_WORK = ("agent", "effect", "check")


def violations(protocol: Protocol, state: State) -> list[str]:
    """Everything that is wrong with a state, in an order that does not depend on how its maps are laid out."""
    found = [*_activities(state), *_asks(state), *_timers(state), *_pools(protocol, state)]
    for inst in state.insts.values():
        found += _live(protocol, state, inst) if inst.live else _ended(state, inst)
    live = sum(inst.live for inst in state.insts.values())
    if live != state.live:
        found.append(f"count: {live} instances are live, the state says {state.live}")
    return sorted(found) or stuck_instances(protocol, state)


def turn_violations(protocol: Protocol, state: State, commands: tuple[Command, ...]) -> list[str]:
    """Return the violations in the commands of one turn, judged by the state after it."""
    counts = Counter((type(command).__name__, command.id) for command in commands)
    twice = [f"command: {name} {id_} was issued {n} times in one turn" for (name, id_), n in counts.items() if n > 1]
    return twice + [text for command in commands for text in _premature_start(protocol, state, command)]


def _premature_start(protocol: Protocol, state: State, command: Command) -> Iterator[str]:
    """R12, R15: work does not start past a signal that comes before it; a merge not even past one of the same turn."""
    if not isinstance(command, RunAgent | RunEffect | RunChecks) or command.retry or command.id not in state.acts:
        return
    inst = state.insts[command.inst]
    act = state.acts[command.id]
    if act.claim is not None:
        return
    graph = protocol.graphs[inst.graph]
    top = inst.frames[-1]
    merges = isinstance(command, RunEffect) and command.effect == "merge"
    for message in inst.mailbox:
        prio = graph.handlers[message.name].prio
        first = prio < graph.handlers[top.signal].prio if top.signal else prio <= graph.steps[top.step].prio
        if first and (merges or message.seq < state.seq):
            yield f"hasty: {command.id} starts although {message.name} waits in the mailbox"


# Activities, questions and timers.


def _activities(state: State) -> Iterator[str]:
    if is_out(state) and state.outage is None:
        yield "outage: a service is out, and nobody knows why"
    for id_, act in state.acts.items():
        inst = state.insts.get(act.command.inst)
        if inst is None or not inst.live:
            yield f"activity: {id_} belongs to no live instance"
        elif not any(frame.id == id_ and frame.status == "active" for frame in inst.frames[-1:]):
            yield f"activity: {id_} is not what the top frame of {inst.id} is busy with"
        elif inst.frames[-1].step != act.command.step:
            yield f"activity: {id_} runs {act.command.step} but its frame stands at {inst.frames[-1].step}"
        elif act.phase == "held" and not is_stopped(state) and not is_paused(state, inst):
            yield f"activity: {id_} is held although nothing stops it"


def _asks(state: State) -> Iterator[str]:
    for id_, ask in state.asks.items():
        if id_ in (LIMIT_ASK, OUTAGE):
            continue
        inst = state.insts.get(ask.inst)
        if inst is None or all(frame.id != id_ or frame.status != "waiting" for frame in inst.frames):
            yield f"question: nobody waits for the answer to {id_}"
        elif ask.command is None:
            parent = state.insts[inst.parent]
            served = [message for frame in parent.frames for message in frame.signals]
            if all(message.ask != id_ for message in [*parent.mailbox, *served]):
                yield f"question: {id_} has not reached {inst.parent}"


def _timers(state: State) -> Iterator[str]:
    for timer in state.timers:
        id_, _, what = timer.rpartition("!")
        waits = what.startswith("preempt:") and state.insts[id_].live
        if not (timer in state.acts or timer in ("run!wall", OUTAGE) or id_ in state.asks or waits):
            yield f"timer: {timer} belongs to nothing"


# Pools.


def _pools(protocol: Protocol, state: State) -> Iterator[str]:
    held = Counter(name for act in state.acts.values() for name in act.pools)
    for name in held.keys() - state.pools.keys():
        yield f"pool: {name} is held and unknown"
    for name, pool in state.pools.items():
        limit = protocol.limits.agents if name == AGENTS_POOL else protocol.pools[name.rpartition(":")[2]]
        if pool.held != held[name]:
            yield f"pool: {name} counts {pool.held} holders, there are {held[name]}"
        if pool.held > limit:
            yield f"pool: {name} has {pool.held} holders, its limit is {limit}"
        for number, id_ in pool.queue.items():
            inst = state.insts[id_]
            if inst.ticket != (name, number) or not inst.live or inst.frames[-1].status != "queued":
                yield f"pool: {id_} stands in the queue of {name} and does not wait"
            elif not _uses(protocol, inst, name):
                yield f"pool: {id_} stands in the queue of {name}, which it does not need"
            elif pool.held < limit and not is_paused(state, inst) and not is_stopped(state):
                yield f"pool: {id_} waits for {name}, which has room"


def _uses(protocol: Protocol, inst: Instance, name: str) -> bool:
    step = protocol.graphs[inst.graph].steps[inst.frames[-1].step]
    if name == AGENTS_POOL:
        return step.kind == "agent"
    return name.rpartition(":")[2] in [text.partition(":")[2] for text in step.pools]


# Instances.


def _ended(state: State, inst: Instance) -> Iterator[str]:
    if inst.frames or inst.mailbox or inst.ticket:
        yield f"ended: {inst.id} still has a frame, mail or a place in a queue"
    for name, group in inst.groups.items():
        for id_ in group.members.values():
            if state.insts[id_].live:
                yield f"ended: {inst.id} has ended before {id_} in {name}"


def _live(protocol: Protocol, state: State, inst: Instance) -> Iterator[str]:
    graph = protocol.graphs[inst.graph]
    if inst.parent:
        parent = state.insts[inst.parent]
        group = parent.groups.get(inst.group)
        if not parent.live or group is None or group.members.get(inst.key) != inst.id:
            yield f"orphan: {inst.id} is alive and {inst.parent} does not know it"
    yield from _frames(protocol, state, inst)
    for step, count in inst.attempts.items():
        if graph.steps[step].kind in _WORK and count > graph.steps[step].attempts:
            yield f"attempts: {inst.id} is at attempt {count} of {graph.steps[step].attempts} of {step}"
    for name, spent in inst.spent.items():
        if spent > graph.budgets[name].max:
            yield f"budget: {inst.id} has spent {spent} of {graph.budgets[name].max} {name}"
    for name, own in inst.groups.items():
        yield from _group(protocol, state, inst, name, own)


def _frames(protocol: Protocol, state: State, inst: Instance) -> Iterator[str]:
    if not inst.frames or inst.frames[0].signal or not all(frame.signal for frame in inst.frames[1:]):
        yield f"frames: {inst.id} has not exactly one main frame, at the bottom"
        return
    for at, frame in enumerate(inst.frames):
        yield from _frame(protocol, state, inst, frame, at == len(inst.frames) - 1)
    if inst.ticket is not None and inst.ticket[1] not in state.pools[inst.ticket[0]].queue:
        yield f"frames: {inst.id} has a place in the queue of {inst.ticket[0]} that the queue does not know"
    if _is_forgotten(protocol, state, inst):
        yield f"frames: {inst.id} could start {inst.frames[-1].step} and does not"
    if not is_paused(state, inst):
        yield from _blocked_by_question(protocol, inst)


def _blocked_by_question(protocol: Protocol, inst: Instance) -> Iterator[str]:
    """R14: a handler that waits for an answer blocks neither a handler that can go on nor others of its class."""
    handlers, above = protocol.graphs[inst.graph].handlers, inst.frames[1:]
    steps = [handlers[frame.signal].step for frame in above]
    if len(set(steps)) < len(steps):
        yield f"frames: {inst.id} serves two signals by the same handler"
    if not above or above[-1].status != "waiting":
        return
    for frame in above:
        if frame.status == "queued":
            yield f"frames: {inst.id} could go on with {frame.step} and waits at {above[-1].step}"
    for message in inst.mailbox:
        handler = handlers[message.name]
        if handler.prio <= handlers[above[-1].signal].prio and handler.step not in steps:
            yield f"frames: {inst.id} could serve {message.name} and waits at {above[-1].step}"


def _frame(protocol: Protocol, state: State, inst: Instance, frame: Frame, top: bool) -> Iterator[str]:
    where = f"{inst.id} at {frame.step}"
    kind = protocol.graphs[inst.graph].steps[frame.step].kind
    if frame.reply:
        yield f"frames: {where} has an answer that was not routed"
    if frame.status == "active" and (not top or frame.id not in state.acts):
        yield f"frames: {where} is active without an activity, or below another frame"
    if frame.status == "waiting" and kind == "ask" and frame.id not in state.asks:
        yield f"frames: {where} waits for an answer to a question that nobody has"
    if frame.status == "waiting" and kind == "map" and not inst.groups[frame.step].live:
        yield f"frames: {where} waits for children of which none is alive"
    if frame.status == "waiting" and kind in _WORK:
        yield f"frames: {where} waits at a step that has nothing to wait for"
    if (frame.status == "synced") != bool(frame.landing):
        yield f"frames: {where} is {frame.status} with the landing {frame.landing!r}"


def _is_forgotten(protocol: Protocol, state: State, inst: Instance) -> bool:
    """Whether the top frame could start its step, but stands in no queue."""
    top = inst.frames[-1]
    if top.status != "queued" or inst.ticket or is_paused(state, inst) or is_stopped(state):
        return False
    step = protocol.graphs[inst.graph].steps[top.step]
    groups = [inst.groups[wait.group] for wait in step.wait if wait.kind == "group" and wait.group in inst.groups]
    return not any(group.open for group in groups) and not awaits_go(protocol, state, inst)


def _group(protocol: Protocol, state: State, inst: Instance, name: str, group: Group) -> Iterator[str]:
    members = [state.insts[id_] for id_ in group.members.values()]
    live = sum(child.live for child in members)
    good = sum(child.outcome in protocol.graphs[inst.graph].ok.get(name, ()) for child in members)
    expected = {"open": len(members) + len(group.pending) - good}
    if group.mapped:
        chunk = [state.insts[id_] for id_ in group.current]
        synced = sum(any(frame.status == "synced" for frame in child.frames) for child in chunk)
        expected |= {"live": live, "bad": len(members) - live - good, "arrived": synced}
        expected["total"] = len(members) + len(group.pending)
        if live and synced == live:
            yield f"group: the barrier of {inst.id} in {name} is complete and closed"
    for field, count in expected.items():
        if getattr(group, field) != count:
            yield f"group: {inst.id} counts {getattr(group, field)} {field} in {name}, there are {count}"
