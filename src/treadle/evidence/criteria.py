"""The criteria of an instance: what it was given, what it passed on to children, and what else a test may stand for.

A criterion belongs to its spec: two specs that both have an `AC-1` have two criteria. Records therefore keep, beside
the short id, the spec's id and a hash of the criterion's text.
"""

import hashlib
from collections.abc import Iterator, Mapping

from treadle.evidence.past import accepted, handed_down, payload
from treadle.evidence.subject import Subject
from treadle.protocol.items import Json
from treadle.protocol.model import Protocol

_CRITERION = "Criterion"


def criteria_in(protocol: Protocol, record: str, value: Mapping[str, Json]) -> list[str]:
    """The ids of the criteria that a record holds: those of its fields of type `[Criterion]`, or `criteria` by id.

    A record that lists none may be a criterion itself, as a cycle of a plan is: its key is the id.
    """
    listed = list(dict.fromkeys(id_ for name in _fields(protocol, record) for id_ in _ids(value.get(name))))
    return listed or [id_ for id_, _ in _as_criterion(protocol, record, value)]


def _as_criterion(protocol: Protocol, record: str, value: Mapping[str, Json]) -> list[tuple[str, str]]:
    """Id and text of a record that is a criterion itself."""
    declared = protocol.types.get(record)
    key = value.get(declared.key) if declared and declared.criterion_by else None
    if declared is None or not isinstance(key, str) or not key:
        return []
    parts = [" ".join(part.split()) for name in declared.criterion_by if isinstance(part := value.get(name), str)]
    return [(key, "; ".join(part for part in parts if part))]


def texts_in(protocol: Protocol, record: str, value: Mapping[str, Json]) -> list[tuple[str, str]]:
    """Id and text of the criteria that a record spells out; whitespace, which YAML folds, is single spaces."""
    listed = [value.get(name) for name in _fields(protocol, record)]
    items = [item for one in listed if isinstance(one, list) for item in one if isinstance(item, dict)]
    found = [(str(item["id"]), " ".join(str(item["text"]).split())) for item in items if {"id", "text"} <= item.keys()]
    if found or any(id_ for name in _fields(protocol, record) for id_ in _ids(value.get(name))):
        return found
    return _as_criterion(protocol, record, value)


def spec_of(s: Subject) -> str:
    """The id of the spec, story, module or cycle that the instance works on."""
    return spec_id(s.input)


def spec_id(given: Mapping[str, Json]) -> str:
    """The id of what an instance was given."""
    return str(given.get("id") or given.get("task_id") or given.get("name") or "")


def text_hash(text: str) -> str:
    """A short hash of a criterion's text, whatever its line breaks; empty for no text."""
    return hashlib.sha256(" ".join(text.split()).encode(errors="replace")).hexdigest()[:16] if text.strip() else ""


def identities(s: Subject) -> dict[str, Json]:
    """Criterion id → `{"spec", "text"}`: whose it is, and the hash of what it says.

    An instance that names criteria by id alone, such as a part of a plan, has them from the nearest ancestor that
    spells them out.
    """
    found: dict[str, Json] = {}
    inst = s.inst
    while True:
        given = payload(s.case, inst.input.ref)
        graph = s.case.protocol.graphs[inst.graph]
        for id_, text in texts_in(s.case.protocol, graph.input[1], given):
            found.setdefault(id_, {"spec": spec_id(given), "text": text_hash(text)})
        if inst.parent not in s.case.state.insts:
            return found
        inst = s.case.state.insts[inst.parent]


def _fields(protocol: Protocol, record: str) -> list[str]:
    """The fields of a record that hold criteria."""
    declared = protocol.types.get(record)
    fields = declared.fields.items() if declared else ()
    return [name for name, field in fields if _CRITERION in field.type or name == "criteria"]


def own_criteria(s: Subject) -> list[str]:
    """The criteria that the instance was given."""
    return criteria_in(s.case.protocol, s.graph.input[1], s.input)


def served_criteria(s: Subject) -> list[str]:
    """The criteria of others that the instance, a part of a plan, says to serve: those that it names by id alone.

    One that names none stands for itself, if its protocol says so.
    """
    listed = s.input.get("criteria")
    named = [id_ for id_ in listed if isinstance(id_, str) and id_] if isinstance(listed, list) else []
    return named or [id_ for id_, _ in _as_criterion(s.case.protocol, s.graph.input[1], s.input)]


def childrens_criteria(s: Subject) -> dict[str, str]:
    """Criteria that children answer for, and the key of the child."""
    items = handed_down(s.case, s.inst)
    return {
        id_: spec_id(item) for group, item in items for id_ in criteria_in(s.case.protocol, _type_of(s, group), item)
    }


def kept_criteria(s: Subject) -> list[str]:
    """The criteria that the instance answers for itself."""
    given = childrens_criteria(s)
    return [id_ for id_ in own_criteria(s) if id_ not in given]


def every_criterion(s: Subject) -> list[str]:
    """The ids of all criteria in the instance's input and in what was accepted, however deep they lie."""
    values: list[Json] = [dict(s.input), *(dict(one.payload) for one in accepted(s.case, s.inst))]
    return list(dict.fromkeys(id_ for value in values for id_ in _deep(value)))


def _deep(value: Json) -> Iterator[str]:
    if isinstance(value, dict):
        if value.keys() == {"id", "text"} and isinstance(id_ := value["id"], str):
            yield id_
        for one in value.values():
            yield from _deep(one)
    elif isinstance(value, list):
        for one in value:
            yield from _deep(one)


def _type_of(s: Subject, group: str) -> str:
    """What the children of a group are given."""
    for step in s.graph.steps.values():
        for rows in step.routes.values():
            for action in (one for route in rows for one in route.do):
                if getattr(action, "group", "") == group and hasattr(action, "graph"):
                    return s.case.protocol.graphs[action.graph].input[1]
    return s.graph.input[1]


def _ids(value: Json) -> Iterator[str]:
    for one in value if isinstance(value, list) else []:
        id_ = one.get("id") if isinstance(one, dict) else one
        if isinstance(id_, str) and id_:
            yield id_
