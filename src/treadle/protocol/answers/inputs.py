"""A run's input: a YAML, JSON or Markdown file, validated against the type that the root graph declares.

All problems are reported at once, each with its line.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Final, NamedTuple

import msgspec

from treadle.errors import ProtocolError
from treadle.protocol.answers.values import ValuePath, ValueProblem, ValueReader, quote_text
from treadle.protocol.checks.subject import Flow, agents
from treadle.protocol.fields import (
    ListType,
    OptionalType,
    RecordType,
    ScalarType,
    TypeExpr,
    agent_fields,
    bare,
    parse_type,
    record_of,
)
from treadle.protocol.findings import Finding, Place, suggest
from treadle.protocol.items import Item, Json, RefOf, content_ref, routed_fields
from treadle.protocol.model import Graph, Protocol, Record
from treadle.protocol.paths import PathFault, path_fault
from treadle.protocol.reading.yaml import Node, fail, read_yaml

# The order of an input's items: each may wait for other items, or for the work of an earlier run.

Before = Callable[[str], str | None]
"""A lookup for a key that no item has. None: unknown; empty: done by an earlier run; else the reason to wait for it."""


class ItemOrder(NamedTuple):
    """A list in a record, with items that wait for each other: the field `after` names the keys they wait for."""

    record: str
    field: str
    item: str
    after: str


def item_orders(protocol: Protocol, graph: Graph) -> Iterator[ItemOrder]:
    """The orders that a graph's maps over its own input declare."""
    name = graph.input[1]
    fields = protocol.types[name].fields if name in protocol.types else {}
    for step in graph.steps.values():
        if step.after and step.input_list in fields:
            listed = bare(parse_type(fields[step.input_list].type))
            if isinstance(listed, ListType) and isinstance(listed.item, RecordType):
                yield ItemOrder(name, step.input_list, listed.item.name, step.after)


def awaited_keys(value: Json) -> list[str]:
    """Return the keys in a field: a list of them, one, or none."""
    given = value if isinstance(value, list) else [value]
    return [str(name) for name in given if name is not None]


def drop_outside_waits(protocol: Protocol, value: Json) -> Json:
    """Return the input with only those waits that name items of the input."""
    for order in item_orders(protocol, protocol.graphs[protocol.root]):
        items = value.get(order.field) if isinstance(value, dict) else None
        if not isinstance(value, dict) or not isinstance(items, list):
            continue
        key = protocol.types[order.item].key
        known = {str(item.get(key)) for item in items if isinstance(item, dict)}
        kept: list[Json] = []
        for item in items:
            waits = item.get(order.after) if isinstance(item, dict) else None
            inside: list[Json] = [name for name in awaited_keys(waits) if name in known]
            if isinstance(item, dict) and isinstance(waits, list) and len(inside) < len(waits):
                kept.append({**item, order.after: inside})
            else:
                kept.append(item)
        value = {**value, order.field: kept}
    return value


# Rules for an input that no type expresses: required values are not empty, there is something to do, and items wait
# for items that exist.
#
# The walk continues past wrong values, so that one report has all problems.

_NOR: Final = ", and no run here has done it"
_DONE: Final = "; leave out what an earlier run has done"


def soundness_problems(
    protocol: Protocol, expr: TypeExpr, value: Json, before: Before | None = None
) -> list[ValueProblem]:
    """Return the problems of an input that its types cannot express; null marks a value that did not fit its type."""
    return list(_SoundnessWalk(protocol, before).value(expr, value, ()))


def idle_problems(protocol: Protocol, value: Json) -> Iterator[ValueProblem]:
    """Report an input with nothing to do: if all agents of a run work on lists of its input, one list needs an item.

    Such a run would end at once. Simulated runs may have such an input.
    """
    graph = protocol.graphs[protocol.root]
    lists = [step.input_list for step in graph.steps.values() if step.kind == "map"]
    fields = protocol.types[graph.input[1]].fields if graph.input[1] in protocol.types else {}
    flow = Flow(protocol, protocol.root, graph)
    has_own_agents = not flow.main.isdisjoint(agents(graph))  # those of its handlers aside
    if not all(lists) or has_own_agents:
        return
    may_be_absent = all(isinstance(parse_type(fields[name].type), OptionalType) for name in lists if name in fields)
    if lists and may_be_absent and isinstance(value, dict) and not any(value.get(name) for name in lists):
        yield ValueProblem((), f"there is nothing to do in it; give {' or '.join(lists)}")


class _SoundnessWalk:
    def __init__(self, protocol: Protocol, before: Before | None) -> None:
        self.types, self._before = protocol.types, before
        self.orders = [order for graph in protocol.graphs.values() for order in item_orders(protocol, graph)]

    def value(self, expr: TypeExpr, value: Json, path: ValuePath) -> Iterator[ValueProblem]:
        required = not isinstance(expr, OptionalType)
        match bare(expr), value:
            case ScalarType(name="text"), str(text) if required and not text.strip():
                yield ValueProblem(path, "is empty; say something here")
            case ListType(), [] if required:
                yield ValueProblem(path, "is empty; give at least one")
            case ListType(item=item), list(items):
                for index, one in enumerate(items):
                    yield from self.value(item, one, (*path, index))
                record = self.types[item.name] if isinstance(item, RecordType) else None
                if record is not None and record.refers:
                    yield from _order_problems(record.key, record.refers, items, path)
            case RecordType(name=name), dict(values):
                yield from self._record(name, values, path)

    def _similar_keys(self, record: str, items: Json, path: ValuePath) -> Iterator[ValueProblem]:
        """Report keys that differ in capitals only: on some machines they would name the same files."""
        key = self.types[record].key if record in self.types else ""
        seen: dict[str, str] = {}
        for index, item in enumerate(items) if isinstance(items, list) else ():
            given = str(item.get(key)) if isinstance(item, dict) and item.get(key) is not None else ""
            other = seen.setdefault(given.casefold(), given)
            if other != given:
                both = f"{quote_text(given)} and {quote_text(other)}"
                message = f"{both} differ in capitals only, and name the same files on some machines; choose another"
                yield ValueProblem((*path, index, key), message)

    def _record(self, name: str, values: Mapping[str, Json], path: ValuePath) -> Iterator[ValueProblem]:
        for field, declared, expr in agent_fields(self.types[name].fields):
            if declared.route == "items":
                yield from self._similar_keys(record_of(expr), values[field], (*path, field))
            waiting = field == self.types[name].refers or any(
                (order.item, order.after) == (name, field) for order in self.orders
            )
            if not (waiting and values[field] == []):
                needed = bare(expr) if field == self.types[name].key else expr
                yield from self.value(needed, values[field], (*path, field))
        for order in self.orders:
            # `value` checks the order that a record itself declares (`refers`) in every list; report it once.
            known = self.types[order.item].refers == order.after
            items = values.get(order.field) if order.record == name and not known else None
            if isinstance(items, list):
                key, place = self.types[order.item].key, (*path, order.field)
                yield from _order_problems(key, order.after, items, place, _DONE, self._before)


def _order_problems(
    key: str, after: str, items: list[Json], path: ValuePath, advice: str = "", before: Before | None = None
) -> Iterator[ValueProblem]:
    known = {index: item for index, item in enumerate(items) if isinstance(item, dict) and item.get(key) is not None}
    places = {str(item[key]): index for index, item in reversed(known.items())}
    waits = {name: awaited_keys(known[places[name]].get(after)) for name in reversed(places)}
    for index, item in known.items() if len(known) == len(items) else ():
        for other in (name for name in awaited_keys(item.get(after)) if name not in waits):
            reason = before(other) if before else None
            if reason is None:
                hint = suggest(other, waits) or f"choose from {', '.join(waits)}"
                reason = f"is none of these items{_NOR if before else ''}; {hint}{advice}"
            if reason:
                yield ValueProblem((*path, index, after), f"{quote_text(other)} {reason}")
    try:
        TopologicalSorter(waits).prepare()
    except CycleError as error:
        circle = list(reversed(error.args[1]))
        message = f"waits for itself: {' waits for '.join(circle)}; break the circle"
        yield ValueProblem((*path, places[circle[0]], after), message)


MAX_TEXT: Final = 1_000_000
MAX_FINDINGS: Final = 200
_BODY: Final = "description"
_MARKDOWN: Final = (".md", ".markdown")
_OPENING = re.compile(r"---[ \t]*(\r?\n|\Z)")
_FRONT = re.compile(r"---[ \t]*\r?\n(?P<front>.*?\r?\n)?(---|\.\.\.)[ \t]*(\r?\n|\Z)", re.DOTALL)


class Input(msgspec.Struct, frozen=True):
    """A run's input: `name` is its variable in templates, `item` the part that routing sees."""

    name: str
    value: Json
    item: Item


def load_input(
    protocol: Protocol,
    text: str,
    filename: str,
    ref_of: RefOf = content_ref,
    places: PathFault = path_fault,
    before: Before | None = None,
) -> Input:
    """Read and check a run's input; raise `ProtocolError` with one line per problem.

    `places` returns the fault of a path in the project. `before` looks up items that earlier runs have done, which no
    item has to wait for.
    """
    name, type_ = protocol.graphs[protocol.root].input
    if not type_:
        return Input(name, {}, Item(name, ref_of({})))
    expr = parse_type(type_)
    root = bare(expr)
    record = protocol.types[root.name] if isinstance(root, RecordType) else None
    document, findings = _document(text.removeprefix("\ufeff"), filename, record)
    reading = ValueReader(protocol.types, ids=True, most=MAX_FINDINGS, places=places)
    value = reading.value(expr, document.plain(), ())
    problems = [*reading.problems, *idle_problems(protocol, value), *soundness_problems(protocol, expr, value, before)]
    findings += [_finding(document, problem) for problem in problems]
    if findings:
        findings = sorted(findings, key=lambda finding: finding.place)[:MAX_FINDINGS]
        message = f"{filename} is not the input that {protocol.name} asks for"
        raise ProtocolError(message, tuple(findings), code="spec.invalid")
    value = drop_outside_waits(protocol, value)
    if record is None or not isinstance(value, dict):
        return Input(name, value, Item(name, ref_of(value)))
    key, fields = value.get(record.key), routed_fields(protocol.types, record.fields, value, ref_of)
    return Input(name, value, Item(name if key is None else str(key), ref_of(value), fields))


def _document(text: str, filename: str, record: Record | None) -> tuple[Node, list[Finding]]:
    """Read a file as a tree; return it with the problem of the text below its front matter, if there is one."""
    if len(text) > MAX_TEXT:
        message = f"the file has {len(text)} characters, the limit is {MAX_TEXT}"
        fail(Place(filename), message, "shorten it", code="spec.invalid")
    if not filename.lower().endswith(_MARKDOWN):
        return read_yaml(text, filename), []

    match = _FRONT.match(text)
    if match is None and _OPENING.match(text):
        hint = "put a line `---` below it; if this is a rule across the page, write `***`"
        fail(Place(filename, 1, 1), "the front matter that starts here never ends", hint, code="spec.invalid")
    front = (match["front"] or "") if match else ""
    below = text[match.end() :] if match else text
    # The opening line becomes an empty one, so that the lines of the front matter keep their numbers.
    node = read_yaml("\n" + front, filename) if front.strip() else Node({}, Place(filename, 1, 1))
    if not below.strip():
        return node, []
    line = text.count("\n", 0, len(text) - len(below.lstrip())) + 1
    return _with_body(node, below.strip(), Place(filename, line, 1), record)


def _with_body(node: Node, body: str, place: Place, record: Record | None) -> tuple[Node, list[Finding]]:
    """The text below the front matter is the description; it is never dropped silently."""
    if not isinstance(node.value, dict):
        hint = "write `name: value` lines between the --- lines"
        fail(node.place, "the front matter must be a mapping", hint, code="spec.invalid")
    field = record.fields.get(_BODY) if record else None
    if field is None or field.by != "agent":
        message, hint = f"there is no field '{_BODY}' that this text could be", "move it into the front matter"
    elif given := next((name for name in (_BODY, *field.also) if name in node.value), ""):
        message, hint = f"'{given}' stands in the front matter already", "keep one of the two"
    else:
        return node.with_entry(_BODY, Node(body, place)), []
    return node, [Finding(place, "", message, hint, code="spec.invalid")]


def _finding(node: Node, problem: ValueProblem) -> Finding:
    """A problem at the line its path leads to, or at the nearest thing that is there."""
    place = node.place
    for step in problem.path:
        if isinstance(node.value, dict) and isinstance(step, str) and step in node.value:
            place, node = node.key_place(step), node.value[step]
        elif isinstance(node.value, list) and isinstance(step, int) and step < len(node.value):
            node = node.value[step]
            place = node.place
        else:
            break
    return Finding(place, problem.where, problem.message, code="spec.invalid")
