"""A run's input: a YAML, JSON or Markdown file, held against the type that the root graph declares.

Everything that is wrong is reported at once, each with its line.
"""

import re
from typing import Final, NamedTuple

import msgspec

from treadle.errors import ProtocolError
from treadle.protocol.answers.paths import Fault, path_fault
from treadle.protocol.answers.problems import Path, Problem
from treadle.protocol.answers.soundness import idle, unsound
from treadle.protocol.answers.values import Reading
from treadle.protocol.answers.waits import Before, among_themselves
from treadle.protocol.fields import RecordType, bare, parse_type
from treadle.protocol.findings import Finding, Place
from treadle.protocol.items import Item, Json, RefOf, content_ref, routed_fields
from treadle.protocol.model import Protocol, Record
from treadle.protocol.reading.source import Node, fail, read

MAX_TEXT: Final = 1_000_000
MAX_FINDINGS: Final = 200
_BODY: Final = "description"
_MARKDOWN: Final = (".md", ".markdown")
_OPENING = re.compile(r"---[ \t]*(\r?\n|\Z)")
_FRONT = re.compile(r"---[ \t]*\r?\n(?P<front>.*?\r?\n)?(---|\.\.\.)[ \t]*(\r?\n|\Z)", re.DOTALL)


class Input(msgspec.Struct, frozen=True):
    """What a run is given: `name` is its variable in templates, `item` all that routing sees of it."""

    name: str
    value: Json
    item: Item


def load_input(
    protocol: Protocol,
    text: str,
    filename: str,
    ref_of: RefOf = content_ref,
    places: Fault = path_fault,
    before: Before | None = None,
) -> Input:
    """Read and check a run's input; whatever is wrong with it is a `ProtocolError` with a line for each finding.

    `places` tells what speaks against a path where the run will work, `before` what was done there already: nothing
    has to wait for that.
    """
    name, type_ = protocol.graphs[protocol.root].input
    if not type_:
        return Input(name, {}, Item(name, ref_of({})))
    expr = parse_type(type_)
    root = bare(expr)
    record = protocol.types[root.name] if isinstance(root, RecordType) else None
    document = _document(text.removeprefix("\ufeff"), filename, record)
    reading = Reading(protocol.types, ids=True, most=MAX_FINDINGS, places=places)
    value = reading.value(expr, document.node.plain(), ())
    problems = [*reading.problems, *idle(protocol, value), *unsound(protocol, expr, value, before)]
    found = [*document.findings, *(_finding(document.node, problem) for problem in problems)]
    if found:
        findings = sorted(found, key=lambda finding: finding.place)[:MAX_FINDINGS]
        raise ProtocolError(
            f"{filename} is not the input that {protocol.name} asks for", tuple(findings), code="spec.invalid"
        )
    value = among_themselves(protocol, value)
    return Input(name, value, _item(protocol, name, record, value, ref_of))


def _item(protocol: Protocol, name: str, record: Record | None, value: Json, ref_of: RefOf) -> Item:
    if record is None or not isinstance(value, dict):
        return Item(name, ref_of(value))
    key = value.get(record.key)
    fields = routed_fields(protocol.types, record.fields, value, ref_of)
    return Item(name if key is None else str(key), ref_of(value), fields)


class _Document(NamedTuple):
    """A file as a tree, and what is wrong with it although it can be read."""

    node: Node
    findings: tuple[Finding, ...] = ()


def _document(text: str, filename: str, record: Record | None) -> _Document:
    if len(text) > MAX_TEXT:
        fail(
            Place(filename),
            f"the file has {len(text)} characters, the limit is {MAX_TEXT}",
            "shorten it",
            code="spec.invalid",
        )
    if not filename.lower().endswith(_MARKDOWN):
        return _Document(read(text, filename))
    front, body, line = _split(text, filename)
    # The opening line becomes an empty one, so that the lines of the front matter keep their numbers.
    node = read("\n" + front, filename) if front.strip() else Node({}, Place(filename, 1, 1))
    return _with_body(node, body, Place(filename, line, 1), record) if body else _Document(node)


def _split(text: str, filename: str) -> tuple[str, str, int]:
    """Front matter, the text below it, and the line on which that starts."""
    match = _FRONT.match(text)
    if match is None and _OPENING.match(text):
        hint = "put a line `---` below it; if this is a rule across the page, write `***`"
        fail(Place(filename, 1, 1), "the front matter that starts here never ends", hint, code="spec.invalid")
    rest = text[match.end() :] if match else text
    body = rest.strip()
    start = len(text) - len(rest.lstrip())
    return (match["front"] or "" if match else ""), body, text.count("\n", 0, start) + 1


def _with_body(node: Node, body: str, place: Place, record: Record | None) -> _Document:
    """The text below the front matter is the description; it is never dropped silently."""
    if not isinstance(node.value, dict):
        fail(
            node.place,
            "the front matter must be a mapping",
            "write `name: value` lines between the --- lines",
            code="spec.invalid",
        )
    field = record.fields.get(_BODY) if record else None
    if field is None or field.by != "agent":
        message = f"there is no field '{_BODY}' that this text could be"
        return _Document(node, (Finding(place, "", message, "move it into the front matter", code="spec.invalid"),))
    given = next((name for name in (_BODY, *field.also) if name in node.value), "")
    if given:
        twice = Finding(
            place, "", f"'{given}' stands in the front matter already", "keep one of the two", code="spec.invalid"
        )
        return _Document(node, (twice,))
    return _Document(Node({**node.value, _BODY: Node(body, place)}, node.place, {**node.keys, _BODY: place}))


def _finding(node: Node, problem: Problem) -> Finding:
    return Finding(_place(node, problem.path), problem.where, problem.message, code="spec.invalid")


def _place(node: Node, path: Path) -> Place:
    """Where a path leads, or the nearest thing that is there."""
    place = node.place
    for step in path:
        if isinstance(node.value, dict) and isinstance(step, str) and step in node.value:
            place, node = node.key_place(step), node.value[step]
        elif isinstance(node.value, list) and isinstance(step, int) and step < len(node.value):
            node = node.value[step]
            place = node.place
        else:
            break
    return place
