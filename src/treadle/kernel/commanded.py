"""Whether a command of people may send an instance to a step: what the step needs is there, and is not out of date."""

from treadle.kernel.groups import keys_of
from treadle.kernel.state import Instance
from treadle.protocol.model import Graph, Need


def refused(graph: Graph, inst: Instance, step: str, item: str = "") -> str:
    """Why a person cannot send an instance to a step, or to an item of it, now; empty if nothing is against it."""
    main = inst.frames[0]
    if step not in graph.commanded or main.status == "active" or len(inst.frames) > 1:
        return f"cannot go to {step} from {main.step} now"
    if missing := [str(need) for need in graph.steps[step].needs if is_missing(inst, need)]:
        return f"{step} needs {', '.join(missing)}"
    if stale := [text for need in graph.steps[step].needs if (text := _outdated(graph, inst, need))]:
        return f"{step} needs {', '.join(dict.fromkeys(stale))}"
    if item and item not in (known := keys_of(inst, step, graph.steps[step])):
        return f"{step} has no {item}; there are {', '.join(known) or 'none'}"
    return ""


def is_missing(inst: Instance, need: Need) -> bool:
    return not (need.optional or need.every or need.up or need.slot in inst.slots)


def _outdated(graph: Graph, inst: Instance, need: Need) -> str:
    newer = newer_source(graph, inst, need.slot) if _is_own(need) else ""
    return f"{need} anew, for {newer} has changed since" if newer else ""


def newer_source(graph: Graph, inst: Instance, slot: str, seen: frozenset[str] = frozenset()) -> str:
    """What a slot was made from, at first or second hand, and what was written again since; empty if nothing was."""
    written, source = inst.slots.get(slot), graph.steps.get(slot.partition(".")[0])
    if written is None or source is None or slot in seen:
        return ""
    for need in filter(_is_own, source.needs):
        other = inst.slots.get(need.slot)
        if other is not None and other.seq > written.seq:
            return need.slot
        if deeper := newer_source(graph, inst, need.slot, seen | {slot}):
            return deeper
    return ""


def _is_own(need: Need) -> bool:
    """Whether it must be there, and is the instance's own."""
    return bool(need.step) and not (need.optional or need.every or need.up)
