"""An answer from the arguments of a command line: `--type TestsReady --field note=… --field report=@report.md`."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from treadle.protocol.answers.problems import quoted
from treadle.protocol.fields import EnumType, ScalarType, TypeExpr, asked, bare
from treadle.results.faulty import Faulty, faulty
from treadle.results.ways import Ways, exit_object


def from_arguments(ways: Ways, type_: str, given: Sequence[str], option: str = "--type") -> dict[str, Any] | Faulty:
    """The answer that these arguments spell out; what is neither text nor a choice is written as JSON."""
    name = ways.codes.get(type_)
    if name is None:
        return faulty(f"{option} {quoted(type_)} {ways.stranger(type_)}")
    types = _types(ways, name)
    fields: dict[str, Any] = {}
    for argument in given:
        field, equals, text = argument.partition("=")
        if not equals:
            return faulty(f"--field {quoted(argument)} has no `=`; write --field name=value")
        if field in fields:
            return faulty(f"--field {quoted(field)} is given twice; write a list as JSON: --field '{field}=[…]'")
        value = _read(field, text) if text.startswith("@") else text
        if isinstance(value, Faulty):
            return value
        fields[field] = _value(types.get(field), value)
    return exit_object(name, fields)


def _read(field: str, text: str) -> str | Faulty:
    """The text of the file behind an `@`; `@@` is an @ itself."""
    if text.startswith("@@"):
        return text[1:]
    path = Path(text[1:])
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        why = "is no text in UTF-8" if isinstance(error, UnicodeDecodeError) else _unreadable(error)
        return faulty(f"--field {field}: the file {quoted(str(path))} {why}; a value that begins with @ is written @@")


def _unreadable(error: OSError | ValueError) -> str:
    return f"cannot be read: {((error.strerror if isinstance(error, OSError) else '') or str(error)).lower()}"


def _types(ways: Ways, name: str) -> dict[str, TypeExpr]:
    """Every name of a field → its type."""
    known = list(asked(ways.protocol.exits[name].fields))
    return {other: expr for _, field, expr in known for other in field.also} | {own: expr for own, _, expr in known}


def _value(expr: TypeExpr | None, text: str) -> Any:
    """A value as its type wants it; whatever does not fit stays text, and validation says so."""
    match bare(expr) if expr else None:
        case None | ScalarType(name="text" | "path"):
            return text
        case EnumType(values=values):
            return next((value for value in values if str(value) == text), text)
        case _:
            try:
                return json.loads(text)
            except (ValueError, RecursionError):
                return text
