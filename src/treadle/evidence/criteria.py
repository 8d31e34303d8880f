"""The criteria of an instance: what it was given, what it passed on to children, and what else a test may stand for."""

from collections.abc import Iterator, Mapping

from treadle.evidence.past import accepted, handed_down
from treadle.evidence.subject import Subject
from treadle.protocol.items import Json
from treadle.protocol.model import Protocol

_CRITERION = "Criterion"


def criteria_in(protocol: Protocol, record: str, value: Mapping[str, Json]) -> list[str]:
    """The ids of the criteria that a record holds: those of its fields of type `[Criterion]`, or `criteria` by id."""
    return list(dict.fromkeys(id_ for name in _fields(protocol, record) for id_ in _ids(value.get(name))))


def texts_in(protocol: Protocol, record: str, value: Mapping[str, Json]) -> list[tuple[str, str]]:
    """Id and text of the criteria that a record spells out; whitespace, which YAML folds, is single spaces."""
    listed = [value.get(name) for name in _fields(protocol, record)]
    items = [item for one in listed if isinstance(one, list) for item in one if isinstance(item, dict)]
    return [(str(item["id"]), " ".join(str(item["text"]).split())) for item in items if {"id", "text"} <= item.keys()]


def _fields(protocol: Protocol, record: str) -> list[str]:
    """The fields of a record that hold criteria."""
    declared = protocol.types.get(record)
    fields = declared.fields.items() if declared else ()
    return [name for name, field in fields if _CRITERION in field.type or name == "criteria"]


def own_criteria(s: Subject) -> list[str]:
    """The criteria that the instance was given."""
    return criteria_in(s.case.protocol, s.graph.input[1], s.input)


def served_criteria(s: Subject) -> list[str]:
    """The criteria of others that the instance, a part of a plan, says to serve: those that it names by id alone."""
    listed = s.input.get("criteria")
    return [id_ for id_ in listed if isinstance(id_, str) and id_] if isinstance(listed, list) else []


def childrens_criteria(s: Subject) -> dict[str, str]:
    """Criteria that children answer for, and the key of the child."""
    items = handed_down(s.case, s.inst)
    return {id_: _key(item) for group, item in items for id_ in criteria_in(s.case.protocol, _type_of(s, group), item)}


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


def _key(item: Mapping[str, Json]) -> str:
    return str(item.get("id") or item.get("task_id") or item.get("name") or "")


def _ids(value: Json) -> Iterator[str]:
    for one in value if isinstance(value, list) else []:
        id_ = one.get("id") if isinstance(one, dict) else one
        if isinstance(id_, str) and id_:
            yield id_
