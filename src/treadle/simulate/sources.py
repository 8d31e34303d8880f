"""What decides whether a command of people is refused."""

from treadle.protocol.model import Graph, Need


def sources(graph: Graph) -> frozenset[str]:
    """The slots that the steps of commands need, and those that these were made from, at first or second hand."""
    found: set[str] = set()
    todo = [need for step in graph.commanded for need in graph.steps[step].needs]
    while todo:
        need = todo.pop()
        if _is_own(need) and need.slot not in found:
            found.add(need.slot)
            todo += graph.steps[need.step].needs if need.step in graph.steps else ()
    return frozenset(found)


def readers(graph: Graph) -> frozenset[str]:
    """The steps whose needs play a part in that."""
    return frozenset({*graph.commanded, *(slot.partition(".")[0] for slot in sources(graph))})


def _is_own(need: Need) -> bool:
    return bool(need.step) and not (need.optional or need.every or need.up)
