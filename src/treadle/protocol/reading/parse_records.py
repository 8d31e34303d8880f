"""Types and exits: mappings of fields with a few reserved keys."""

from typing import Final, get_args

from treadle.protocol.fields import TypeNotationError, bare, parse_type
from treadle.protocol.findings import suggest
from treadle.protocol.model import Authority, Exit, Field, Proof, Record, Routing, Severity
from treadle.protocol.reading.part import FIELD, WORD, Part, quoted
from treadle.protocol.reading.source import Node

RECORD_KEYS: Final = ("key", "apart", "refers", "criterion_by", "about")
EXIT_KEYS: Final = ("route_on", "severity", "route_hint", "proves", "proves_when", "symbol", "about", "also")
_ROUTES: Final[tuple[Routing, ...]] = ("value", "items", "asked")


def record(part: Part) -> Record:
    """A named record type."""
    found = fields(part, RECORD_KEYS)
    key = part.name_of("key", FIELD, "id")
    if part.get("key") and key not in found:
        part.log.add(
            part.node.key_place("key"),
            part.path,
            f"'key' names the field that identifies an item, and there is no field {quoted(key)}",
            "a field itself cannot be called 'key'",
        )
    refers = _refers(part, found)
    return Record(
        fields=found,
        key=key,
        help=part.text("about"),
        apart=_apart(part, found),
        refers=refers,
        criterion_by=_criterion_by(part, found),
    )


def _refers(part: Part, found: dict[str, Field]) -> str:
    name = part.name_of("refers", FIELD)
    if name and name not in found:
        hint = suggest(name, found) or "name the field that lists the keys of other items"
        message = f"'refers' names the field with the keys of other items, and there is no field {quoted(name)}"
        part.log.add(part.node.key_place("refers"), part.path, message, hint)
        return ""
    return name


def _criterion_by(part: Part, found: dict[str, Field]) -> tuple[str, ...]:
    names = part.words("criterion_by", FIELD)
    if strays := [name for name in names if name not in found]:
        message = f"'criterion_by' names the fields that say what an item must do, and there is no {quoted(strays[0])}"
        part.log.add(part.node.key_place("criterion_by"), part.path, message, suggest(strays[0], found))
        return ()
    return names


def _apart(part: Part, found: dict[str, Field]) -> tuple[str, ...]:
    names = part.words("apart", FIELD)
    strays = [name for name in names if name not in found or str(bare(parse_type(found[name].type))) != "path"]
    if strays or len(names) == 1:
        message = f"{quoted(strays[0])} is not a field with a path" if strays else "'apart' names a single field"
        hint = "name two or more fields of the type path"
        part.log.add(part.node.key_place("apart"), part.path, message, hint)
        return ()
    return names


def exit_(part: Part) -> Exit:
    """A typed way to leave a step."""
    return Exit(
        fields=fields(part, EXIT_KEYS),
        route_on=part.name_of("route_on", FIELD),
        severity=part.one_of("severity", get_args(Severity), "INFO"),
        route_hint=part.text("route_hint"),
        proves=part.one_of("proves", get_args(Proof), ""),
        proves_when=part.text("proves_when"),
        symbol=part.text("symbol"),
        help=part.text("about"),
        also=part.words("also", WORD),
    )


def fields(part: Part, reserved: tuple[str, ...]) -> dict[str, Field]:
    """The fields of a record or an exit: every key that is not reserved."""
    found = {}
    for name, entry in part.entries():
        if name in reserved:
            continue
        if not FIELD.fullmatch(name):
            entry.problem(
                f"{quoted(name)} is not the name of a field", "use ASCII letters, digits and _, no digit first"
            )
        found[name] = field(entry)
    return found


def field(part: Part) -> Field:
    """A field: a type, or a mapping."""
    if not isinstance(part.node.value, dict):
        return Field(type=type_text(part))
    part.known("type", "by", "route", "help", "also")
    kind = part.get("type")
    if kind is None:
        part.problem(f"the field {quoted(part.name)} has no type", "write {type: text, …}")
    return Field(
        type=type_text(kind) if kind else "text",
        by=part.one_of("by", get_args(Authority), "agent"),
        route=_routing(part.get("route")),
        help=part.text("help"),
        also=part.words("also", FIELD),
    )


def _routing(part: Part | None) -> Routing:
    if part is None or part.node.value is False:
        return ""
    if part.node.value is True:
        return "value"
    if not isinstance(part.node.value, str):
        part.expected("true, `items` or `asked`")
        return ""
    return part.as_choice(_ROUTES, "")


def type_text(part: Part) -> str:
    """A type in its canonical notation; a YAML list of one is a list type."""
    text = _notation(part.node)
    if text is None:
        part.problem(f"{quoted(part.name)} is not a type", "write text, int, `A | B`, Name, [T] or T?")
        return "text"
    try:
        return str(parse_type(text))
    except TypeNotationError as error:
        part.problem(error.message, error.hint)
        return "text"


def _notation(node: Node) -> str | None:
    if isinstance(node.value, str):
        return node.value
    if isinstance(node.value, list) and len(node.value) == 1:
        inner = _notation(node.value[0])
        return None if inner is None else f"[{inner}]"
    return None
