"""How instances begin and end (R10): no orphans, nothing left running, the parent told."""

import msgspec

from treadle.kernel.commands import Cancel, Done
from treadle.kernel.mailbox import post
from treadle.kernel.state import Frame, Group, Instance, Message, Slot, State
from treadle.kernel.turn import Turn
from treadle.protocol.items import Item
from treadle.protocol.model import ABORTED, Protocol, tag_of

ROOT = "root"


def create(t: Turn, graph: str, item: Item, parent: Instance | None = None, group: str = "") -> Instance:
    """A new instance at the start of its graph."""
    t.created += 1
    inst = Instance(
        id=_fresh_id(t, parent, item.key),
        n=t.created,
        graph=graph,
        input=Slot(item.ref, item.fields, t.seq),
        parent=parent.id if parent else "",
        group=group,
        key=item.key,
        depth=parent.depth + 1 if parent else 0,
    )
    definition = t.protocol.graphs[graph]
    inst.frames = [Frame(definition.start)]
    inst.visits = {definition.start: 1}
    inst.vars = dict(definition.vars)
    t.add(inst)
    return inst


def part_of_id(key: str) -> str:
    """An item's key as it stands in the id of the instance that works on it."""
    return "".join(c if c.isalnum() or c in "._~-" else "-" for c in key) or "-"


def _fresh_id(t: Turn, parent: Instance | None, key: str) -> str:
    if parent is None:
        return ROOT
    base = id_ = f"{parent.id}/{part_of_id(key)}"
    count = 1
    while t.inst(id_) is not None:
        count += 1
        id_ = f"{base}~{count}"
    return id_


def finish(t: Turn, inst: Instance, outcome: str, result: Slot | None = None) -> None:
    """End an instance: children first, then what it has running, then the word to its parent."""
    for child in children(t, inst):
        finish(t, t.edit(child.id), ABORTED)
    for frame in inst.frames:
        interrupt(t, inst, frame)
    for message in inst.mailbox:
        t.bury(inst.id, message.name, message.sender)
        t.cancel_timer(f"{inst.id}!preempt:{message.name}")
    t.dequeue(inst)
    inst.frames, inst.mailbox, inst.outcome = [], [], outcome
    inst.result = result or Slot(seq=t.seq)
    t.live -= 1
    if inst.parent:
        _tell_parent(t, inst)
    else:
        t.outcome = outcome
        for timer in sorted(t.timers):
            t.cancel_timer(timer)
        for ask in sorted(t.asks):
            t.end_ask(ask)
        t.commands.append(Done(id=t.state.run or inst.id, outcome=outcome))


def last_merge(protocol: Protocol, state: State) -> tuple[str, str]:
    """Where an ended run can go on if the branch that it was for has moved, and the signal that says so.

    That is the merge it has ended with, in a graph that has a handler which rebases; empty if there is no such place.
    """
    root = state.insts.get(ROOT)
    if root is None or not state.outcome or root.outcome == ABORTED:
        return "", ""
    graph = protocol.graphs[root.graph]
    merges = [name for name, step in graph.steps.items() if step.effect == "merge" and root.last.get(name)]
    signal = next((name for name, it in graph.handlers.items() if graph.steps[it.step].effect == "rebase"), "")
    if not merges or not signal:
        return "", ""
    return max(merges, key=lambda name: root.slots[f"{name}.{tag_of(root.last[name])}"].seq), signal


def reopen(t: Turn, step: str, signal: str) -> None:
    """Put the root of an ended run before its last merge again, with the news that its base has moved."""
    root = t.edit(ROOT)
    root.outcome, root.result = "", Slot()
    root.frames = [Frame(step)]
    root.attempts[step] = 0
    root.visits[step] = root.visits.get(step, 0) + 1
    t.live += 1
    t.outcome = ""
    post(t, ROOT, Message(signal, "", (), t.seq))
    if t.protocol.limits.wall:
        t.set_timer("run!wall", t.protocol.limits.wall)


def interrupt(t: Turn, inst: Instance, frame: Frame) -> None:
    """Stop what a frame is busy with: its activity is cancelled, its question withdrawn, its barrier left."""
    act = t.acts.get(frame.id)
    if act is not None:
        t.commands.append(Cancel(id=frame.id, why="ended"))
        t.end_activity(act)
    t.end_ask(frame.id)
    if frame.status == "synced":
        arrive(t, inst, -1)
    frame.id = frame.reply = frame.landing = ""


def arrive(t: Turn, inst: Instance, by: int) -> None:
    """Count a child in (or out of) the barrier of its chunk."""
    parent = t.edit(inst.parent)
    group = parent.groups[inst.group]
    parent.groups[inst.group] = msgspec.structs.replace(group, arrived=group.arrived + by)


def children(t: Turn, inst: Instance, group: str = "") -> list[Instance]:
    """The live children of an instance (of one group), in order of creation."""
    names = [group] if group else sorted(inst.groups)
    ids = {id_ for name in names if (found := inst.groups.get(name)) for id_ in found.members.values()}
    members = [child for id_ in ids if (child := t.inst(id_)) is not None and child.live]
    return sorted(members, key=lambda child: child.n)


def _tell_parent(t: Turn, child: Instance) -> None:
    parent = t.edit(child.parent)
    group = parent.groups.get(child.group)
    if group is None or group.members.get(child.key) != child.id:
        return
    good = is_good(t, parent, child)
    if group.mapped:
        parent.groups[child.group] = _member_ended(group, good)
    elif good:
        parent.groups[child.group] = msgspec.structs.replace(group, open=group.open - 1)
    else:
        news = Message(f"child:{child.outcome}", child.id, (child.result.ref,), t.seq)
        post(t, parent.id, news)


def _member_ended(group: Group, good: bool) -> Group:
    return msgspec.structs.replace(
        group, live=group.live - 1, bad=group.bad + (not good), open=group.open - (1 if good else 0)
    )


def is_good(t: Turn, parent: Instance, child: Instance) -> bool:
    return child.outcome in t.graph(parent).ok.get(child.group, ())
