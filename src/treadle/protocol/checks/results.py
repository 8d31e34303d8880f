"""What a call leaves behind: the fields of the exit that led its child to a good end."""

from treadle.protocol.checks.subject import Subject
from treadle.protocol.model import Field, tag_of

_DEEP = 16


def result_fields(subject: Subject, graph: str, step: str, depth: int = 0) -> dict[str, Field] | None:
    """The fields that `step.AllOk` certainly has; None if that cannot be told."""
    call = subject.protocol.graphs[graph].steps[step]
    child = subject.flows.get(call.graph)
    good = subject.protocol.graphs[graph].ok.get(step, ())
    if call.over or child is None or depth > _DEEP:
        return None
    endings = [edge for edge in child.edges if edge.to.kind == "end" and edge.to.name in good]
    found: list[dict[str, Field]] = []
    for edge in endings:
        kind = child.graph.steps[edge.step].kind
        if kind == "map" and edge.key == "AllOk":
            fields = result_fields(subject, child.name, edge.step, depth + 1)
        elif kind in ("agent", "effect"):
            exit_ = subject.protocol.exits.get(tag_of(edge.key))
            fields = exit_.fields if exit_ else {}
        else:
            fields = None
        if fields is None:
            return None
        found.append(fields)
    first = found[0] if found else {}
    return {name: field for name, field in first.items() if all(name in fields for fields in found)}
