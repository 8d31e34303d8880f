"""Instances: their start and their end (R10), and their children, spawned by keyed reconcile or mapped over items.

When an instance ends, the kernel first ends its children and its running work, and then notifies its parent.
"""

import itertools
from collections.abc import Callable

import msgspec
from immutables import Map

from treadle.kernel.commands import Cancel, Done
from treadle.kernel.mailbox import post
from treadle.kernel.state import Frame, Group, Instance, Message, Slot, State
from treadle.kernel.turn import Turn
from treadle.protocol.items import Item, Routed
from treadle.protocol.model import ABORTED, Protocol, Route, Spawn, Step, tag_of

ROOT = "root"


def create_instance(t: Turn, graph: str, item: Item, parent: Instance | None = None, group: str = "") -> Instance:
    """Create an instance at the start of its graph."""
    t.created += 1
    # A child that is started again has the key of its predecessor, which stays in the state: so its id gets a number.
    inst = Instance(
        id=_fresh(f"{parent.id}/{part_of_id(item.key)}", t.inst) if parent else ROOT,
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
    """Return an item's key in the form that it has in the id of the item's instance."""
    return "".join(c if c.isalnum() or c in "._~-" else "-" for c in key) or "-"


def _fresh(name: str, is_taken: Callable[[str], object]) -> str:
    """Return the name, or the first of `name~2`, `name~3`, … that is not taken."""
    names = itertools.chain([name], (f"{name}~{count}" for count in itertools.count(2)))
    return next(one for one in names if not is_taken(one))


def finish_instance(t: Turn, inst: Instance, outcome: str, result: Slot | None = None) -> None:
    """End an instance: first its children, then its activities and questions, then notify its parent."""
    for child in live_children(t, inst):
        finish_instance(t, t.edit(child.id), ABORTED)
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
        _notify_parent(t, inst)
    else:
        t.outcome = outcome
        for timer in sorted(t.timers):
            t.cancel_timer(timer)
        for ask in sorted(t.asks):
            t.end_ask(ask)
        t.commands.append(Done(id=t.state.run or inst.id, outcome=outcome))


def _notify_parent(t: Turn, child: Instance) -> None:
    parent = t.edit(child.parent)
    group = parent.groups.get(child.group)
    if group is None or group.members.get(child.key) != child.id:
        return  # it was replaced or cancelled: the group no longer counts it
    good = is_good(t, parent, child)
    if group.mapped:
        parent.groups[child.group] = msgspec.structs.replace(
            group, live=group.live - 1, bad=group.bad + (not good), open=group.open - good
        )
    elif good:
        parent.groups[child.group] = msgspec.structs.replace(group, open=group.open - 1)
    else:
        post(t, parent.id, Message(f"child:{child.outcome}", child.id, (child.result.ref,), t.seq))


def last_merge(protocol: Protocol, state: State) -> tuple[str, str]:
    """Return the step where an ended run can continue if its target branch has moved, and the signal for that.

    The step is the run's last merge, in a graph with a handler that rebases; both are empty if there is none. A run
    that was aborted after it had merged its result was aborted while a delivery rebased it: that can be tried again.
    """
    root = state.insts.get(ROOT)
    if root is None or not state.outcome:
        return "", ""
    graph = protocol.graphs[root.graph]
    merges = [name for name, step in graph.steps.items() if step.effect == "merge" and root.last.get(name)]
    signal = next((name for name, it in graph.handlers.items() if graph.steps[it.step].effect == "rebase"), "")
    good = {f"{name}.{tag}" for name in merges for tag, exit_ in protocol.exits.items() if exit_.severity == "INFO"}
    if not merges or not signal or (root.outcome == ABORTED and good.isdisjoint(root.slots)):
        return "", ""
    return max(merges, key=lambda name: root.slots[f"{name}.{tag_of(root.last[name])}"].seq), signal


def reopen(t: Turn, step: str, signal: str) -> None:
    """Put the root of an ended run before its last merge again, and signal to it that its base has moved."""
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
    """Stop the current work of a frame: cancel its activity, withdraw its question, leave its barrier."""
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


def live_children(t: Turn, inst: Instance, group: str = "") -> list[Instance]:
    """Return the live children of an instance (of one group), in order of creation."""
    names = [group] if group else sorted(inst.groups)
    ids = {id_ for name in names if (found := inst.groups.get(name)) for id_ in found.members.values()}
    members = [child for id_ in ids if (child := t.inst(id_)) is not None and child.live]
    return sorted(members, key=lambda child: child.n)


def is_good(t: Turn, parent: Instance, child: Instance) -> bool:
    return child.outcome in t.graph(parent).ok.get(child.group, ())


# Children: spawned by keyed reconcile, or mapped over items in windows.


def items_of(value: Routed) -> tuple[Item, ...] | None:
    """Return the items of a routed list; None if the field is absent."""
    if not isinstance(value, tuple):
        return None
    return tuple(item for item in value if isinstance(item, Item))


def spawn_refusal(t: Turn, inst: Instance, route: Route, slot: Slot) -> str:
    """Return why a row may not spawn its children (R19), in words the planner can act on; empty if it may."""
    limits = t.protocol.limits
    for action in route.do:
        count = len(items_of(slot.fields.get(action.over)) or ()) if isinstance(action, Spawn) else 0
        if count and inst.depth >= limits.depth:
            return f"no children at depth {inst.depth} (limit {limits.depth}): do this part directly"
        if count > limits.children:
            return f"{count} children are too many (limit {limits.children}): make fewer, larger parts"
        if count and t.live + count > limits.instances:
            live = "1 instance is" if t.live == 1 else f"{t.live} instances are"
            return f"{live} live (limit {limits.instances}), and {count} would be added: do this part directly"
    return ""


def reconcile(t: Turn, inst: Instance, spawn: Spawn, value: Routed) -> None:
    """Bring a group in line with a list of items.

    Same key and alive or good: kept (with the item's new text). Listed and failed: started again. No longer listed:
    cancelled. List absent: live and good ones kept, failed ones dropped.
    """
    old = inst.groups.get(spawn.group, Group()).members
    listed = items_of(value)
    keep: dict[str, str] = {}
    wanted = {item.key: item for item in listed} if listed is not None else None
    for key in sorted(old):
        child = t.inst(old[key])
        sound = child is not None and (child.live or is_good(t, inst, child))
        if child is not None and sound and (wanted is None or key in wanted):
            keep[key] = child.id
        elif child is not None and child.live:
            # Empty the group first, so that the parent gets no signal about the end of this child.
            inst.groups[spawn.group] = Group()
            finish_instance(t, t.edit(child.id), ABORTED)
    for key, item in (wanted or {}).items():
        if key not in keep:
            keep[key] = create_instance(t, spawn.graph, item, inst, spawn.group).id
        elif (child := t.inst(keep[key])) is not None and child.live and child.input.ref != item.ref:
            t.edit(child.id).input = Slot(item.ref, item.fields, t.seq)
    good = sum(1 for id_ in keep.values() if (child := t.inst(id_)) is not None and is_good(t, inst, child))
    inst.groups[spawn.group] = Group(members=Map(keep), open=len(keep) - good)


def cancel_group(t: Turn, inst: Instance, name: str) -> None:
    """End all live children of a group; it is empty afterwards."""
    members = live_children(t, inst, name)
    inst.groups.pop(name, None)
    for child in members:
        finish_instance(t, t.edit(child.id), ABORTED)


def begin_map(t: Turn, inst: Instance, frame: Frame, step: Step) -> bool:
    """Start a map step; False if it would exceed the run's limit of instances."""
    items = _distinct(_map_items(inst, frame.step, step))
    done: dict[str, str] = {}
    if step.keep_done or frame.anew:
        # Keep the items of an earlier visit that ended well and have not changed since. When a person redoes one item,
        # a kept item must also be newer than every input of the map.
        needed = [slot.seq for need in step.needs if (slot := inst.slots.get(need.slot))]
        since = 0 if step.keep_done else max(needed, default=0)
        before = inst.groups.get(frame.step, Group()).members
        for item in items:
            child = t.inst(before.get(item.key, ""))
            unchanged = child is not None and child.input.ref == item.ref and child.input.seq >= since
            if child is not None and unchanged and is_good(t, inst, child):
                done[item.key] = child.id
        done.pop(frame.anew, None)
    pending = tuple(item for item in items if item.key not in done)
    window = _window(inst, step) or len(items)
    if t.live + min(window, len(pending)) > t.protocol.limits.instances:
        return False
    inst.groups[frame.step] = Group(
        members=Map(done), mapped=True, pending=pending, open=len(pending), total=len(items), window=max(window, 1)
    )
    return True


def map_keys(inst: Instance, name: str, step: Step) -> tuple[str, ...]:
    """Return the keys of the items that a map would go over now."""
    return tuple(item.key for item in _distinct(_map_items(inst, name, step)))


def _map_items(inst: Instance, name: str, step: Step) -> tuple[Item, ...]:
    if not step.over:
        return (Item(name, inst.input.ref, inst.input.fields),)
    path = step.over.split(".")
    fields = inst.input.fields if path[0] == "in" else inst.slots.get(".".join(path[:-1]), Slot()).fields
    return items_of(fields.get(path[-1])) or ()


def _window(inst: Instance, step: Step) -> int:
    if step.window.startswith("in."):
        value = inst.input.fields.get(step.window[3:])
        return value if isinstance(value, int) else int(value) if isinstance(value, str) and value.isdigit() else 1
    return int(step.window or 0)


def _distinct(items: tuple[Item, ...]) -> tuple[Item, ...]:
    """Return the items with distinct keys: `a`, `a~2`, …"""
    found: dict[str, Item] = {}
    for item in items:
        key = _fresh(item.key, found.get)
        found[key] = item if key == item.key else Item(key, item.ref, item.fields)
    return tuple(found.values())


def progress_map(t: Turn, inst: Instance, frame: Frame, step: Step) -> str:
    """Start the items that are ready; return the map's exit key once nothing is left."""
    group = inst.groups[frame.step]
    stopped = group.bad > 0 and not step.keep_going
    ready = () if stopped else _ready(t, inst, group, step)
    if ready:
        started = {item.key: create_instance(t, step.graph, item, inst, frame.step).id for item in ready}
        chunk = tuple(started.values())
        if step.after:
            # Items in the order of `after` start one by one, beside those that still run.
            still = tuple(id_ for id_ in group.current if (child := t.inst(id_)) is not None and child.live)
            chunk = (*still, *chunk)
        group = inst.groups[frame.step] = msgspec.structs.replace(
            group,
            members=group.members.update(started),
            pending=tuple(item for item in group.pending if item.key not in started),
            current=chunk,
            live=group.live + len(ready),
            arrived=0 if not step.after else group.arrived,
        )
    if group.live:
        return ""
    # Nothing runs. Pending items were stopped, or wait for items that failed or do not exist.
    return "SomeFailed" if group.bad or group.pending else "AllOk"


def _ready(t: Turn, inst: Instance, group: Group, step: Step) -> tuple[Item, ...]:
    """Return the next chunk once the last one has ended; with `after`, the items with successful predecessors."""
    if not step.after:
        return () if group.live else group.pending[: group.window]
    found = []
    for item in group.pending:
        names = item.fields.get(step.after)
        before = [name for name in (names if isinstance(names, tuple) else ()) if isinstance(name, str)]
        children = [t.inst(group.members.get(name, "")) for name in before]
        if all(child is not None and is_good(t, inst, child) for child in children):
            found.append(item)
    return tuple(found[: max(group.window - group.live, 0)])


def map_result(t: Turn, inst: Instance, frame: Frame, step: Step) -> Slot:
    """Return the result of a map: its counts and its children's results or, for a call, the child's own result."""
    group = inst.groups[frame.step]
    members = sorted((child for id_ in group.members.values() if (child := t.inst(id_))), key=lambda child: child.n)
    if not step.over:
        result = members[0].result if members else Slot()
        return Slot(result.ref, result.fields, t.seq)
    results = tuple(Item(child.key, child.result.ref, child.result.fields) for child in members)
    return Slot("", {"total": group.total, "failed": group.bad + len(group.pending), "results": results}, t.seq)


def open_barrier(t: Turn, inst: Instance, name: str) -> list[Instance]:
    """Return the children that leave their barrier now, because all live ones of the chunk have arrived (WAIT_ALL)."""
    group = inst.groups.get(name)
    if group is None or not group.arrived or group.arrived < group.live:
        return []
    inst.groups[name] = msgspec.structs.replace(group, arrived=0)
    chunk = [child for id_ in group.current if (child := t.inst(id_)) is not None and child.live]
    return [t.edit(child.id) for child in chunk if any(frame.status == "synced" for frame in child.frames)]
