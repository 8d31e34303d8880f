"""What blocks a node: the whole payload of an exit of which routing sees only the envelope."""

import json

from treadle.kernel.state import Instance, Slot, State
from treadle.protocol.items import Json
from treadle.protocol.model import Graph, Protocol, row, tag_of
from treadle.views.payload import Get


def blockers(protocol: Protocol, state: State, inst: Instance, get: Get) -> str:  # noqa: ARG001  as every view
    """As JSON, the oldest first; empty if nothing does.

    An exit that blocks does so until a step that reads it has decided something, or until its instance ends.
    """
    blocking = [(slot.seq, name, slot) for name, slot in inst.slots.items() if _blocks(protocol, inst, name, slot)]
    entries = [_entry(protocol, inst, name, slot, get) for _, name, slot in sorted(blocking)]
    return json.dumps({"node_id": inst.id, "blockers": entries}, indent=2, ensure_ascii=False) if entries else ""


def _blocks(protocol: Protocol, inst: Instance, name: str, slot: Slot) -> bool:
    declared = protocol.exits.get(name.rpartition(".")[2])
    if inst.outcome or declared is None or declared.severity != "BLOCKER":
        return False
    graph = protocol.graphs[inst.graph]
    readers = [step for step, it in graph.steps.items() if any(need.slot == name and not need.up for need in it.needs)]
    return not any(_has_decided(graph, inst, step, slot.seq) for step in readers)


def _has_decided(graph: Graph, inst: Instance, step: str, since: int) -> bool:
    """Whether a step was left after a moment, and not only to ask somebody."""
    rows = row(graph, step, inst.last[step]) if step in inst.last else None
    goals = [graph.steps.get(route.to) for route in rows or ()]
    return inst.left.get(step, -1) > since and not any(goal and goal.kind == "ask" for goal in goals)


def _entry(protocol: Protocol, inst: Instance, name: str, slot: Slot, get: Get) -> Json:
    step, _, exit_ = name.rpartition(".")
    declared, left = protocol.exits[exit_], inst.last.get(step, "")
    variant = left.partition(".")[2] if tag_of(left) == exit_ else ""
    envelope: dict[str, Json] = {"type": exit_, "variant": variant, "severity": declared.severity}
    return {
        "step": step,
        "envelope": {**envelope, "route_hint": declared.route_hint},
        "payload_ref": slot.ref,
        "payload": get(slot.ref) if slot.ref else None,
    }
