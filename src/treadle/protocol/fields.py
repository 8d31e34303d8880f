"""The type notation: `text`, `int`, `A | B`, `Record`, `[T]`, `T?`, read into frozen structures and written back."""

import re
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from typing import Final, Literal, TypeAlias, get_args

import msgspec

from treadle.protocol.findings import suggest
from treadle.protocol.model import Field

ScalarName = Literal["text", "int", "number", "bool", "path"]
SCALARS: Final[tuple[ScalarName, ...]] = get_args(ScalarName)
_KNOWN: Final = f"{', '.join(SCALARS)}, `A | B`, the name of a record, `[T]` or `T?`"
_MAX_TEXT: Final = 2000
_MAX_DEPTH: Final = 8
_NAME = re.compile(r"[^\W\d][\w-]*")
_NUMBER = re.compile(r"-?\d{1,15}(\.\d{1,4})?")
_ELSEWHERE: Final = {
    **dict.fromkeys(("string", "str", "markdown", "code", "date", "uuid"), "text"),
    **dict.fromkeys(("integer", "long", "count"), "int"),
    **dict.fromkeys(("float", "double", "decimal"), "number"),
    **dict.fromkeys(("boolean", "flag"), "bool"),
    **dict.fromkeys(("file", "filename", "filepath", "dir"), "path"),
    **dict.fromkeys(("list", "array", "set"), "[text]"),
}
"""Names of these types in other notations."""


class TypeNotationError(ValueError):
    """A text that is not a type; `hint` suggests a correction."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(f"{message} ({hint})")
        self.message, self.hint = message, hint


class ScalarType(msgspec.Struct, frozen=True):
    """A single value; a path is text that stays inside the repository."""

    name: ScalarName

    def __str__(self) -> str:
        return self.name


class EnumType(msgspec.Struct, frozen=True):
    """One of several words or numbers."""

    values: tuple[str | int | float, ...]

    def __str__(self) -> str:
        return " | ".join(map(str, self.values))


class RecordType(msgspec.Struct, frozen=True):
    """A named record of the protocol."""

    name: str

    def __str__(self) -> str:
        return self.name


class ListType(msgspec.Struct, frozen=True):
    """Any number of values of one type."""

    item: "ScalarType | EnumType | RecordType | ListType"

    def __str__(self) -> str:
        return f"[{self.item}]"


BareType: TypeAlias = ScalarType | EnumType | RecordType | ListType


class OptionalType(msgspec.Struct, frozen=True):
    """A value that may be absent or null."""

    inner: BareType

    def __str__(self) -> str:
        return f"{self.inner}?"


TypeExpr: TypeAlias = BareType | OptionalType


@lru_cache(maxsize=4096)
def parse_type(text: str) -> TypeExpr:
    """Read a type, or raise `TypeNotationError`; `str()` of the result is its canonical text."""
    if len(text) > _MAX_TEXT:
        raise TypeNotationError(f"a type of {len(text)} characters", "name a record, and describe it under `types`")
    text = text.strip()
    if text.endswith("?"):
        return OptionalType(_bare(text[:-1].strip(), 0))
    return _bare(text, 0)


def bare(expr: TypeExpr) -> BareType:
    """The type without its `?`."""
    return expr.inner if isinstance(expr, OptionalType) else expr


def record_of(expr: TypeExpr) -> str:
    """The record a type is about, however deep in lists; empty if none."""
    inner = _innermost(expr)
    return inner.name if isinstance(inner, RecordType) else ""


def _innermost(expr: TypeExpr) -> BareType:
    """The type of the values, without any lists around them."""
    inner = bare(expr)
    while isinstance(inner, ListType):
        inner = inner.item
    return inner


def type_fault(text: str, records: Collection[str]) -> TypeNotationError | None:
    """Return the fault of a type in a protocol with these records; None if it has none."""
    try:
        expr = parse_type(text)
    except TypeNotationError as error:
        return error
    inner = _innermost(expr)
    if isinstance(inner, RecordType) and inner.name not in records:
        other = _ELSEWHERE.get(inner.name.lower(), "")
        near = f"did you mean '{other}'?" if other else suggest(inner.name, [*SCALARS, *records])
        return TypeNotationError(
            f"unknown type '{inner.name}'", near or f"describe it under `types`, or write {_KNOWN}"
        )
    if isinstance(inner, EnumType) and all(value in SCALARS or value in records for value in inner.values):
        return TypeNotationError(f"'{inner}' is a choice between types", "an enum lists words; use two optional fields")
    return None


def agent_fields(fields: Mapping[str, Field]) -> Iterator[tuple[str, Field, TypeExpr]]:
    """The fields that an agent (or the author of an input) fills in, with their types."""
    return ((name, field, parse_type(field.type)) for name, field in fields.items() if field.by == "agent")


def _bare(text: str, depth: int) -> BareType:
    if not text:
        raise TypeNotationError("a type is missing", f"write {_KNOWN}")
    if depth > _MAX_DEPTH:
        raise TypeNotationError(f"lists are nested more than {_MAX_DEPTH} deep", "name a record for the inner ones")
    if text.endswith("?") and depth:
        hint = "leave out what is absent; `[T]?` makes the list optional"
        raise TypeNotationError("the items of a list cannot be optional", hint)
    if text.endswith("?"):
        raise TypeNotationError("a type is optional twice", "write one `?`")
    if text.startswith("["):
        if not text.endswith("]"):
            raise TypeNotationError(f"'{_short(text)}' does not end with ]", "a list is `[T]`")
        return ListType(_bare(text[1:-1].strip(), depth + 1))
    if "|" in text:
        return _enum(text)
    if text in SCALARS:
        return ScalarType(text)
    if not _NAME.fullmatch(text):
        # `list[text]`, `List<Task>` and `text[]` are `[text]`.
        wrapped = re.fullmatch(r"\w+\s*[\[<(]\s*([\w-]+)\s*[\])>]|([\w-]+)\s*\[\]", text)
        inner = (wrapped[1] or wrapped[2]) if wrapped else ""
        hint = f"did you mean '[{_ELSEWHERE.get(inner.lower(), inner)}]'?" if inner else f"write {_KNOWN}"
        raise TypeNotationError(f"'{_short(text)}' is not a type", hint)
    return RecordType(text)


def _enum(text: str) -> EnumType:
    values: list[str | int | float] = []
    for word in (part.strip() for part in text.split("|")):
        if _NUMBER.fullmatch(word):
            number = float(word)
            values.append(int(number) if number.is_integer() else number)
        elif _NAME.fullmatch(word):
            values.append(word)
        else:
            hint = "use words of ASCII letters, digits, _ and -, or numbers"
            raise TypeNotationError(f"'{_short(word)}' cannot stand in an enum", hint)
    for value in values:
        if values.count(value) > 1:
            raise TypeNotationError(f"'{value}' stands in the enum twice", "remove one of them")
    return EnumType(tuple(values))


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "…"
