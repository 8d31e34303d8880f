"""Validate a foreign value against a type: return the value in its canonical form, or its problems.

The result is always data, never an exception. The walk follows the type, never the value's own shape, so deep or cyclic
values cost nothing. Texts, lists and numbers have limits, because accepted values are stored and hashed.
"""

import math
import re
from collections.abc import Mapping
from itertools import combinations
from typing import Any, Final, TypeAlias, TypeGuard

import msgspec

from treadle.protocol.fields import (
    EnumType,
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
from treadle.protocol.findings import suggest
from treadle.protocol.items import Json
from treadle.protocol.model import Field, Record
from treadle.protocol.paths import PathFault, clean_path, is_pattern, path_fault, path_overlap

# Ids: an item's key becomes part of branch names, file names and commands, so it is a plain word.

MAX_ID: Final = 100
_MAX_BYTES: Final = 200
"""File names have at most 255 bytes; this leaves room for a prefix and a suffix around an id."""
ID_RULE: Final = f"use up to {MAX_ID} letters, digits, _ . # and -, a letter or digit first"
_PLAIN = re.compile(rf"\w[\w.#-]{{0,{MAX_ID - 1}}}")
_ENDINGS: Final = (".", ".lock")
"""Git keeps these endings to itself."""


def id_of(text: str) -> str:
    """An id that is as near to a text as one can be."""
    plain = re.sub(r"\.{2,}", ".", re.sub(r"[^\w.#-]+", "-", text))[:MAX_ID]
    plain = plain.encode(errors="replace")[:_MAX_BYTES].decode(errors="ignore").strip(".#-")
    return "project" if id_fault(plain) else plain


def id_fault(text: str) -> str:
    """Why a text cannot be an id, as the end of a sentence; empty if it can."""
    if len(text) > MAX_ID:
        return f"has {len(text)} characters, the limit is {MAX_ID}"
    if (size := len(text.encode(errors="replace"))) > _MAX_BYTES:
        return f"has {size} bytes, which is too long for the name of a file; the limit is {_MAX_BYTES}"
    if not text.isprintable():
        return f"holds a character that cannot be seen; {ID_RULE}"
    if not _PLAIN.fullmatch(text):
        return f"cannot be an id; {ID_RULE}"
    if ".." in text or text.lower().endswith(_ENDINGS):
        return "cannot be an id; it must not hold .. or end with . or .lock"
    return ""


# Problems of a foreign value, in sentences that quote it safely: short, on one line, never its whole content.

ValuePath: TypeAlias = tuple[str | int, ...]


class ValueProblem(msgspec.Struct, frozen=True):
    """One thing that is wrong with a value, in a sentence that helps to correct it."""

    path: ValuePath
    message: str

    @property
    def where(self) -> str:
        """The path as people write it: `exit.critiques[2].line`."""
        steps = (f"[{step}]" if isinstance(step, int) else f".{printable(step)}" for step in self.path)
        return "".join(steps).removeprefix(".")

    def __str__(self) -> str:
        return f"{self.where}: {self.message}" if self.path else self.message


def describe_type(expr: TypeExpr) -> str:
    """Describe the values of a type, for a message: `a list`, `one of a, b`."""
    match bare(expr):
        case EnumType(values=values):
            return f"one of {', '.join(map(str, values))}"
        case ListType():
            return "a list"
        case RecordType():
            return "an object"
        case ScalarType(name="text"):
            return "text"
        case ScalarType(name="path"):
            return "a path"
        case ScalarType(name="bool"):
            return "true or false"
        case ScalarType(name="int"):
            return "a whole number"
        case ScalarType():
            return "a number"


def describe_value(value: object) -> str:
    """Describe a value for a message, without looking into it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return quote_text(value)
    kinds: dict[type, str] = {dict: "an object", list: "a list", int: "a number", float: "a number"}
    return kinds.get(type(value), f"a value of type {type(value).__name__}")


def quote_text(text: str) -> str:
    """A foreign text inside a sentence."""
    return f"'{printable(text)}'"


def printable(text: str) -> str:
    """A foreign text, short and without anything a terminal would act on."""
    text = text if len(text) <= 60 else text[:59] + "…"
    return text if text.isprintable() else ascii(text)[1:-1]


MAX_TEXT: Final = 1_000_000
MAX_ITEMS: Final = 10_000
MAX_DEPTH: Final = 32
MAX_PROBLEMS: Final = 20
_HALF = re.compile("[\ud800-\udfff]")


class ValueReader:
    """A validator that walks values along their types; `problems` collects up to `most` problems.

    With `ids`, every record's key must be fit for an id; without, only the keys of routed items. `places` may refuse
    more paths.
    """

    def __init__(
        self,
        types: Mapping[str, Record],
        *,
        ids: bool = False,
        most: int = MAX_PROBLEMS,
        places: PathFault = path_fault,
    ) -> None:
        self.types, self.ids, self.most, self.places = types, ids, most, places
        self.problems: list[ValueProblem] = []

    @property
    def full(self) -> bool:
        """Whether there are already as many problems as one report lists."""
        return len(self.problems) >= self.most

    def blame(self, path: ValuePath, message: str) -> Json:
        """Note a problem, unless there are many already; null, to stand for the value."""
        if not self.full:
            self.problems.append(ValueProblem(path, message))
        return None

    def value(self, expr: TypeExpr, value: object, path: ValuePath) -> Json:
        """The canonical form of a value of this type; null where there is a problem."""
        if self.full:
            return None
        match expr:
            case OptionalType(inner=inner):
                return None if value is None else self.value(inner, value, path)
            case ScalarType(name="text"):
                return self._text(expr, value, path)
            case ScalarType(name="path"):
                return self._path(expr, value, path)
            case ScalarType(name="bool"):
                return value if isinstance(value, bool) else self._wrong(expr, value, path)
            case ScalarType():
                return self._number(expr, value, path)
            case EnumType():
                return self._choice(expr, value, path)
            case ListType():
                return self._list(expr, value, path)
            case RecordType():
                return self._record(expr, value, path)

    def fields(
        self, fields: Mapping[str, Field], given: dict[Any, Any], path: ValuePath, key: str = ""
    ) -> dict[str, Json]:
        """Return the canonical fields of an object: every declared one under its own name, absent ones null.

        `key` names the field that identifies the object.
        """
        names = self._names(fields, given, path)
        result: dict[str, Json] = dict.fromkeys(fields)
        for name, field, expr in agent_fields(fields):
            if name in names:
                place = (*path, names[name])
                result[name] = self.value(expr, given[names[name]], place)
                if self.ids and name == key and not _is_path(expr):
                    self._refuse_unfit_key(result[name], place)
                elif not self.ids and field.route == "items":
                    self._refuse_unfit_keys(record_of(expr), result[name], place)
            elif not isinstance(expr, OptionalType):
                self.blame((*path, name), f"is missing; it must be {describe_type(expr)}")
        return result

    def _names(self, fields: Mapping[str, Field], given: dict[Any, Any], path: ValuePath) -> dict[str, str]:
        """Map each declared name to the name the object uses for it."""
        own = {name: name for name, _, _ in agent_fields(fields)}
        # A field's own name wins over another field's alias.
        known = {other: name for name in own for other in fields[name].also} | own
        names: dict[str, str] = {}
        for key in given:
            if self.full:
                break
            name = known.get(key) if isinstance(key, str) else None
            if not isinstance(key, str):
                self.blame(path, f"has {describe_value(key)} for a name; names are texts")
            elif name is None and key in fields:
                self.blame((*path, key), f"is computed ({fields[key].by}), not asked for; leave it out")
            elif name is None:
                choices = f"the fields are {', '.join(own)}" if own else "there are no fields; leave it out"
                self.blame((*path, key), f"is not a field here; {suggest(printable(key), known) or choices}")
            elif name in names:
                self.blame((*path, key), f"is the same field as '{names[name]}'; give it once")
            else:
                names[name] = key
        return names

    def _text(self, expr: ScalarType, value: object, path: ValuePath) -> Json:
        if not isinstance(value, str):
            return self._wrong(expr, value, path, "; put it in quotes" if _is_number(value) else "")
        if len(value) > MAX_TEXT:
            return self.blame(path, f"has {len(value)} characters, the limit is {MAX_TEXT}; shorten it")
        if _HALF.search(value):
            return self.blame(path, "holds half of a surrogate pair; write the whole character")
        return value

    def _path(self, expr: ScalarType, value: object, path: ValuePath) -> Json:
        text = self._text(expr, value, path)
        if not isinstance(text, str):
            return None
        fault = path_fault(text) or ("is a pattern; write the path of one file or folder" if is_pattern(text) else "")
        fault = fault or self.places(clean_path(text))
        return self.blame(path, f"the path {quote_text(text)} {fault}") if fault else clean_path(text)

    def _number(self, expr: ScalarType, value: object, path: ValuePath) -> Json:
        if not _is_number(value):
            return self._wrong(expr, value, path)
        if expr.name == "int" and isinstance(value, float):
            if not value.is_integer():
                return self.blame(path, f"must be a whole number, not {value}")
            value = int(value)
        fits = abs(value) < 2**63 if isinstance(value, int) else math.isfinite(value)
        return value if fits else self.blame(path, "is out of range; give a finite number of at most 18 digits")

    def _choice(self, expr: EnumType, value: object, path: ValuePath) -> Json:
        if isinstance(value, str) or _is_number(value):
            for choice in expr.values:
                if choice == value:
                    return choice
        # Suggest a correction: a word without its brackets, a number without its quotes, a similar word.
        words, near = [str(choice) for choice in expr.values], ""
        if isinstance(value, list) and len(value) == 1:
            is_choice = isinstance(value[0], str | int | float) and str(value[0]) in words
            near = f"write {value[0]}, without brackets" if is_choice else ""
        elif isinstance(value, str):
            bare_word = value.strip("[] ")
            if bare_word in words:
                near = f"write {bare_word}, and nothing around it" if bare_word != value else "write it without quotes"
            else:
                near = suggest(value[:100], words)
        return self._wrong(expr, value, path, f"; {near}" if near else "")

    def _list(self, expr: ListType, value: object, path: ValuePath) -> Json:
        if not isinstance(value, list):
            return self._wrong(expr, value, path)
        if len(value) > MAX_ITEMS:
            return self.blame(path, f"has {len(value)} items, the limit is {MAX_ITEMS}")
        items = [self.value(expr.item, item, (*path, index)) for index, item in enumerate(value)]
        if isinstance(expr.item, RecordType):
            key = self.types[expr.item.name].key
            seen: dict[str, int] = {}
            for index, item in enumerate(items):
                given = item.get(key) if isinstance(item, dict) else None  # a null key marks a problem already noted
                if given is not None and seen.setdefault(str(given), index) != index:
                    message = f"{quote_text(str(given))} already identifies [{seen[str(given)]}]; choose another"
                    self.blame((*path, index, key), message)
        return items

    def _record(self, expr: RecordType, value: object, path: ValuePath) -> Json:
        if not isinstance(value, dict):
            hint = "; give it as it is, not as JSON in quotes" if isinstance(value, str) else ""
            return self._wrong(expr, value, path, hint)
        if len(path) > MAX_DEPTH:
            return self.blame(path, f"is nested more than {MAX_DEPTH} levels deep; flatten it")
        record = self.types[expr.name]
        fields = self.fields(record.fields, value, path, record.key)
        for name, other in combinations(record.apart, 2):
            one, two = fields[name], fields[other]
            overlap = path_overlap(one, two) if isinstance(one, str) and isinstance(two, str) else ""
            if overlap:
                self.blame((*path, other), f"{quote_text(str(two))} {overlap} {name}; give each a place of its own")
        return fields

    def _refuse_unfit_keys(self, record: str, items: Json, path: ValuePath) -> None:
        """Report routed items' keys that cannot name instances and branches; a path as key obeys the path rules."""
        key = self.types[record].key if record else ""
        field = self.types[record].fields.get(key) if record else None
        if field is None or _is_path(parse_type(field.type)):
            return
        for index, item in enumerate(items if isinstance(items, list) else ()):
            self._refuse_unfit_key(item.get(key) if isinstance(item, dict) else None, (*path, index, key))

    def _refuse_unfit_key(self, given: Json, path: ValuePath) -> None:
        """An empty key of an input is not looked at here: that nothing is empty is a rule of its own."""
        fault = "" if given is None or (self.ids and given == "") else id_fault(str(given))
        if fault:
            self.blame(path, f"{quote_text(str(given))} {fault}")

    def _wrong(self, expr: TypeExpr, value: object, path: ValuePath, hint: str = "") -> Json:
        return self.blame(path, f"must be {describe_type(expr)}, not {describe_value(value)}{hint}")


def _is_path(expr: TypeExpr) -> bool:
    return bare(expr) == ScalarType("path")


def _is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)
