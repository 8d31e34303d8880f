"""Children: spawned by keyed reconcile, or mapped over items in windows."""

import msgspec
from immutables import Map

from treadle.kernel.lifecycle import children, create, finish, is_good
from treadle.kernel.state import Frame, Group, Instance, Slot
from treadle.kernel.turn import Turn
from treadle.protocol.items import Item, Routed
from treadle.protocol.model import ABORTED, Spawn, Step


def items_of(value: Routed) -> tuple[Item, ...] | None:
    """The items of a routed list, or None if the field is absent."""
    if not isinstance(value, tuple):
        return None
    return tuple(item for item in value if isinstance(item, Item))


def refusal(t: Turn, inst: Instance, value: Routed) -> str:
    """Why a spawn may not happen (R19), in words the planner can act on; empty if it may."""
    items = items_of(value)
    limits = t.protocol.limits
    if not items:
        return ""
    if inst.depth >= limits.depth:
        return f"no children at depth {inst.depth} (limit {limits.depth}): do this part directly"
    if len(items) > limits.children:
        return f"{len(items)} children are too many (limit {limits.children}): make fewer, larger parts"
    if t.live + len(items) > limits.instances:
        live = "1 instance is" if t.live == 1 else f"{t.live} instances are"
        return f"{live} live (limit {limits.instances}), and {len(items)} would be added: do this part directly"
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
            inst.groups[spawn.group] = Group()
            finish(t, t.edit(child.id), ABORTED)
    for key, item in (wanted or {}).items():
        if key not in keep:
            keep[key] = create(t, spawn.graph, item, inst, spawn.group).id
        elif (child := t.inst(keep[key])) is not None and child.live and child.input.ref != item.ref:
            t.edit(child.id).input = Slot(item.ref, item.fields, t.seq)
    inst.groups[spawn.group] = _roster(t, inst, keep)


def _roster(t: Turn, inst: Instance, members: dict[str, str]) -> Group:
    good = sum(1 for id_ in members.values() if (child := t.inst(id_)) is not None and is_good(t, inst, child))
    return Group(members=Map(members), open=len(members) - good)


def cancel(t: Turn, inst: Instance, name: str) -> None:
    """End all live children of a group; it is empty afterwards."""
    members = children(t, inst, name)
    inst.groups.pop(name, None)
    for child in members:
        finish(t, t.edit(child.id), ABORTED)


def begin_map(t: Turn, inst: Instance, frame: Frame, step: Step) -> bool:
    """Start a map step; False if it would exceed the run's limit of instances."""
    items = _distinct(_map_items(inst, frame.step, step))
    done = _done(t, inst, frame, items) if step.keep_done else _fresh(t, inst, frame, step, items)
    done.pop(frame.anew, None)
    pending = tuple(item for item in items if item.key not in done)
    window = _window(inst, step) or len(items)
    if t.live + min(window, len(pending)) > t.protocol.limits.instances:
        return False
    inst.groups[frame.step] = Group(
        members=Map(done), mapped=True, pending=pending, open=len(pending), total=len(items), window=max(window, 1)
    )
    return True


def _done(t: Turn, inst: Instance, frame: Frame, items: tuple[Item, ...]) -> dict[str, str]:
    """Items of an earlier visit that ended well and have not changed since."""
    before = inst.groups.get(frame.step, Group()).members
    pairs = ((item, t.inst(before.get(item.key, ""))) for item in items)
    return {
        item.key: child.id
        for item, child in pairs
        if child is not None and is_good(t, inst, child) and child.input.ref == item.ref
    }


def _fresh(t: Turn, inst: Instance, frame: Frame, step: Step, items: tuple[Item, ...]) -> dict[str, str]:
    """Where one item is to be done anew: what has ended well of the others since the map's needs were written."""
    if not frame.anew:
        return {}
    since = max((slot.seq for need in step.needs if (slot := inst.slots.get(need.slot))), default=0)
    done = _done(t, inst, frame, items)
    return {key: id_ for key, id_ in done.items() if (child := t.inst(id_)) and child.input.seq >= since}


def keys_of(inst: Instance, name: str, step: Step) -> tuple[str, ...]:
    """The keys of the items that a map would go over now."""
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
    """The items with keys that differ: `a`, `a~2`, …"""
    found: dict[str, Item] = {}
    for item in items:
        key, count = item.key, 1
        while key in found:
            count += 1
            key = f"{item.key}~{count}"
        found[key] = item if key == item.key else Item(key, item.ref, item.fields)
    return tuple(found.values())


def progress_map(t: Turn, inst: Instance, frame: Frame, step: Step) -> str:
    """Start what may start; the map's exit key once nothing is left."""
    group = inst.groups[frame.step]
    stopped = group.bad > 0 and not step.keep_going
    if group.pending and not stopped:
        ready = _ready(t, inst, group, step)
        if ready:
            group = _start(t, inst, frame, step, group, ready)
    if group.live:
        return ""
    # nothing runs: what is still pending was stopped, or waits for items that failed or do not exist
    return "SomeFailed" if group.bad or group.pending else "AllOk"


def _ready(t: Turn, inst: Instance, group: Group, step: Step) -> tuple[Item, ...]:
    if not step.after:
        return () if group.live else group.pending[: group.window]
    room = group.window - group.live
    return tuple(item for item in group.pending if _may_start(t, inst, group, item, step.after))[: max(room, 0)]


def _may_start(t: Turn, inst: Instance, group: Group, item: Item, after: str) -> bool:
    names = item.fields.get(after)
    waits_for = names if isinstance(names, tuple) else ()
    before = (t.inst(group.members.get(name, "")) for name in waits_for if isinstance(name, str))
    return all(other is not None and is_good(t, inst, other) for other in before)


def _start(t: Turn, inst: Instance, frame: Frame, step: Step, group: Group, ready: tuple[Item, ...]) -> Group:
    started = {item.key: create(t, step.graph, item, inst, frame.step).id for item in ready}
    chunk = tuple(started.values())
    if step.after:
        still = tuple(id_ for id_ in group.current if (child := t.inst(id_)) is not None and child.live)
        chunk = (*still, *chunk)
    group = msgspec.structs.replace(
        group,
        members=group.members.update(started),
        pending=tuple(item for item in group.pending if item.key not in started),
        current=chunk,
        live=group.live + len(ready),
        arrived=0 if not step.after else group.arrived,
    )
    inst.groups[frame.step] = group
    return group


def map_result(t: Turn, inst: Instance, frame: Frame, step: Step) -> Slot:
    """What a map leaves behind: its counts and its children's results, or, for a call, the child's own result."""
    group = inst.groups[frame.step]
    members = sorted((child for id_ in group.members.values() if (child := t.inst(id_))), key=lambda child: child.n)
    if not step.over:
        result = members[0].result if members else Slot()
        return Slot(result.ref, result.fields, t.seq)
    results = tuple(Item(child.key, child.result.ref, child.result.fields) for child in members)
    return Slot("", {"total": group.total, "failed": group.bad + len(group.pending), "results": results}, t.seq)


def open_barrier(t: Turn, inst: Instance, name: str) -> list[Instance]:
    """The children whose barrier opens now: all live ones of the chunk have arrived (WAIT_ALL)."""
    group = inst.groups.get(name)
    if group is None or not group.arrived or group.arrived < group.live:
        return []
    inst.groups[name] = msgspec.structs.replace(group, arrived=0)
    chunk = [child for id_ in group.current if (child := t.inst(id_)) is not None and child.live]
    return [t.edit(child.id) for child in chunk if any(frame.status == "synced" for frame in child.frames)]
