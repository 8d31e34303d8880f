"""Check 15, the items: children are started over lists of what their graph takes."""

from collections.abc import Iterator

from treadle.protocol.checks.results import result_fields
from treadle.protocol.checks.sites import Site
from treadle.protocol.checks.subject import Subject
from treadle.protocol.fields import ListType, TypeNotationError, bare, parse_type
from treadle.protocol.findings import Finding, suggest
from treadle.protocol.model import Field, tag_of


def items_fit_their_graph(subject: Subject) -> Iterator[Finding]:
    """15. `over` names a list routed as items, of the type that the child is given."""
    for site in subject.sites:
        for message, hint in _faults(subject, site):
            yield subject.finding(15, f"{site.parent}.{site.step}", site.path, message, hint)


def _faults(subject: Subject, site: Site) -> Iterator[tuple[str, str]]:
    graphs = subject.protocol.graphs
    child = graphs.get(site.child)
    if not site.over:
        own = graphs[site.parent].input[1]
        if site.edge:
            yield f"spawns group '{site.group}' over nothing", "name a field of the exit with `over`"
        elif child and child.input[1] not in ("", own):
            message = f"calls '{site.child}' with its own input '{own}', but that takes '{child.input[1]}'"
            yield message, "name the items with `over`, or give both graphs the same input"
        return
    owner, fields = _fields(subject, site)
    name = site.over.rpartition(".")[2]
    if fields is None:
        yield f"starts children over '{site.over}', which is no list it knows", "write `in.field` or `step.Exit.field`"
    elif name not in fields:
        hint = suggest(name, fields) or f"its fields are {', '.join(fields) or 'none'}"
        yield f"starts children over '{site.over}', but {owner} has no field '{name}'", hint
    elif fields[name].route != "items":
        yield f"starts children over '{site.over}', which is not routed as items", "add `route: items` to the field"
    elif child and child.input[1] and (kind := _item_type(fields[name])) not in ("", child.input[1]):
        message = f"starts '{site.child}' over items of '{kind}', but that takes '{child.input[1]}'"
        yield message, "let both be the same type"


def _fields(subject: Subject, site: Site) -> tuple[str, dict[str, Field] | None]:
    """The record or exit that `over` looks into, and its fields; None if there is none."""
    protocol = subject.protocol
    parts = site.over.split(".")
    if site.edge:
        exit_ = protocol.exits.get(tag_of(site.edge.key))
        return f"exit '{tag_of(site.edge.key)}'", exit_.fields if exit_ and len(parts) == 1 else None
    if parts[0] == "in" and len(parts) == 2:
        kind = protocol.graphs[site.parent].input[1]
        return f"the input '{kind}'", protocol.types[kind].fields if kind in protocol.types else None
    step = protocol.graphs[site.parent].steps.get(parts[0])
    if step is not None and step.kind == "map" and parts[1:2] == ["AllOk"] and len(parts) == 3:
        return f"the result of '{parts[0]}'", result_fields(subject, site.parent, parts[0])
    if step is None or len(parts) != 3 or parts[1] not in step.exits or parts[1] not in protocol.exits:
        return "", None
    return f"exit '{parts[1]}'", protocol.exits[parts[1]].fields


def _item_type(field: Field) -> str:
    try:
        expr = bare(parse_type(field.type))
    except TypeNotationError:
        return ""
    return str(expr.item) if isinstance(expr, ListType) else ""
