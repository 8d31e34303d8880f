"""The criteria of an instance: its own, those passed on to children, and others that a test may stand for.

A criterion belongs to its spec: two specs that both have an `AC-1` have two criteria. Records therefore keep, beside
the short id, the spec's id and a hash of the criterion's text.
"""

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from types import MappingProxyType

from treadle.evidence.subject import Subject, accepted_exits, children_inputs, payload
from treadle.kernel.state import Instance
from treadle.protocol.fields import agent_fields, record_of
from treadle.protocol.items import Json
from treadle.protocol.model import Field, Protocol, tag_of
from treadle.toolchains.test_names import tests_inside

_CRITERION = "Criterion"


def criteria_in(protocol: Protocol, record: str, value: Mapping[str, Json]) -> list[str]:
    """Return the ids of the criteria in a record: from its fields of type `[Criterion]`, or from `criteria` by id.

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
    """Return the id of an instance's input."""
    return str(given.get("id") or given.get("task_id") or given.get("name") or "")


def text_hash(text: str) -> str:
    """Return a short hash of a criterion's text, ignoring line breaks; empty for no text."""
    return hashlib.sha256(" ".join(text.split()).encode(errors="replace")).hexdigest()[:16] if text.strip() else ""


def never_failed(tests: Iterable[str], failed: Collection[str]) -> list[str]:
    """Return the tests of a criterion that were never seen failing; one such test leaves the criterion unverified.

    The step that writes tests and the verdict before a merge both use this rule, so they cannot differ. `failed`
    contains the tests that failed for the right reason in accepted work, or on its skeleton.
    """
    return [id_ for id_ in tests if id_ not in failed]


def without_own_test(
    tests: Mapping[str, Collection[str]], inside: Mapping[str, Collection[str]] = MappingProxyType({})
) -> dict[str, str]:
    """Return the criteria with tests, but none of their own: criterion → one of its tests, shared with another.

    Criteria and tests are matched one to one, so two criteria may share tests as long as each has one for itself. A
    test that stands for several criteria shows at best that it ran, not which of them it demands. A test around other
    tests only repeats their verdicts, so it stands for them: `inside` has the innermost tests in each. Used by the
    steps that write tests and by the verdict before a merge.
    """
    owner: dict[str, str] = {}
    held = {**tests_inside(id_ for ids in tests.values() for id_ in ids), **inside}
    singles = {one: [single for id_ in ids for single in held.get(id_, (id_,))] for one, ids in tests.items()}

    def give(criterion: str, tried: set[str]) -> bool:
        for id_ in singles[criterion]:
            if id_ not in tried:
                tried.add(id_)
                if id_ not in owner or give(owner[id_], tried):
                    owner[id_] = criterion
                    return True
        return False

    return {one: next(iter(ids)) for one, ids in tests.items() if ids and not give(one, set())}


def identities(s: Subject) -> dict[str, Json]:
    """Return the spec and the text hash of each criterion: id → `{"spec", "text"}`.

    An instance that names criteria by id alone, such as a part of a plan, gets them from the nearest ancestor that
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
    """Return the fields of a record that contain criteria."""
    declared = protocol.types.get(record)
    fields = declared.fields.items() if declared else ()
    return [name for name, field in fields if _is_of_criteria(name, field)]


def _is_of_criteria(name: str, field: Field) -> bool:
    return _CRITERION in field.type or name == "criteria"


def own_criteria(s: Subject) -> list[str]:
    """Return the criteria in the instance's input."""
    return criteria_in(s.case.protocol, s.graph.input[1], s.input)


def served_criteria(s: Subject) -> list[str]:
    """Return the criteria of others that the instance, a part of a plan, serves: those that it names by id alone.

    An instance that names none stands for itself, if its protocol declares that.
    """
    listed = s.input.get("criteria")
    named = [id_ for id_ in listed if isinstance(id_, str) and id_] if isinstance(listed, list) else []
    return named or [id_ for id_, _ in _as_criterion(s.case.protocol, s.graph.input[1], s.input)]


def childrens_criteria(s: Subject) -> dict[str, str]:
    """Criteria that children answer for, and the key of the child."""
    items = children_inputs(s.case, s.inst)
    return {
        id_: spec_id(item) for group, item in items for id_ in criteria_in(s.case.protocol, _type_of(s, group), item)
    }


def kept_criteria(s: Subject) -> list[str]:
    """The criteria that the instance answers for itself."""
    given = childrens_criteria(s)
    return [id_ for id_ in own_criteria(s) if id_ not in given]


def plannable_criteria(s: Subject) -> list[str]:
    """Return the criteria that a plan of the instance serves.

    These are the criteria of its input and of the records in it, such as modules, and of the records that agents have
    added in accepted exits.
    """
    protocol = s.case.protocol
    given = protocol.types.get(s.graph.input[1])
    found = list(_nested(protocol, given.fields, s.input)) if given else []
    for one in accepted_exits(s.case, s.inst):
        declared = protocol.exits.get(tag_of(one.exit))
        found += _nested(protocol, declared.fields, one.payload) if declared else ()
    return list(dict.fromkeys(found))


def housed_criteria(s: Subject) -> set[str]:
    """The criteria of the records, such as modules, in the instance's input and in the claim; and of merged parts."""
    protocol = s.case.protocol
    given, claimed = protocol.types.get(s.graph.input[1]), protocol.exits.get(tag_of(s.job.exit))
    inner = {name: field for name, field in given.fields.items() if not _is_of_criteria(name, field)} if given else {}
    found = [*_nested(protocol, inner, s.input), *_nested(protocol, claimed.fields if claimed else {}, s.case.claim)]
    return {*found, *built_criteria(s)}


def built_criteria(s: Subject) -> set[str]:
    """Return the criteria that merged parts of the instance serve.

    Where the plan has an instance of its own, the parts are those of its parent. A later plan for the missing parts may
    leave these criteria out.
    """
    protocol, top = s.case.protocol, s.inst.parent or s.inst.id
    below = [one for one in s.case.state.insts.values() if one.id.startswith(f"{top}/") and _is_merged(protocol, one)]
    inputs = [(protocol.graphs[one.graph].input[1], payload(s.case, one.input.ref)) for one in below]
    return {id_ for record, given in inputs for id_ in criteria_in(protocol, record, given)}


def _is_merged(protocol: Protocol, inst: Instance) -> bool:
    steps = protocol.graphs[inst.graph].steps
    return any(
        steps[step].effect == "merge" and protocol.exits[tag_of(exit_)].severity == "INFO"
        for step, _, exit_ in (name.rpartition(".") for name in inst.slots)
        if step in steps and tag_of(exit_) in protocol.exits
    )


def _nested(protocol: Protocol, fields: Mapping[str, Field], value: Mapping[str, Json]) -> Iterator[str]:
    """The ids of criteria in a value, however deep; fields that Treadle fills in, such as a parsed plan, add none."""
    for name, field, expr in agent_fields(fields):
        listed = value.get(name)
        record = protocol.types.get(record_of(expr))
        if _is_of_criteria(name, field):
            yield from _ids(listed)
        elif record:
            for item in listed if isinstance(listed, list) else [listed]:
                if isinstance(item, dict):
                    yield from _nested(protocol, record.fields, item)


def _type_of(s: Subject, group: str) -> str:
    """Return the input type of the children of a group."""
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
