"""A foreign value held against a type: what is wrong with it, or the value in its canonical form.

Whatever is handed in, the result is data. Values are walked along their type, never by their own shape, so deep or
cyclic ones cost nothing; texts, lists and numbers have limits, because what is accepted here is stored and hashed.
"""

import math
import re
from collections.abc import Mapping
from itertools import combinations
from typing import Any, Final, TypeGuard

from treadle.protocol.answers.ids import id_fault
from treadle.protocol.answers.paths import Fault, clean_path, is_pattern, path_fault, path_overlap
from treadle.protocol.answers.problems import Path, Problem, expected, kind, printable, quoted
from treadle.protocol.fields import (
    EnumType,
    ListType,
    OptionalType,
    RecordType,
    ScalarType,
    TypeExpr,
    asked,
    bare,
    parse_type,
    record_of,
)
from treadle.protocol.findings import suggest
from treadle.protocol.items import Json
from treadle.protocol.model import Field, Record

MAX_TEXT: Final = 1_000_000
MAX_ITEMS: Final = 10_000
MAX_DEPTH: Final = 32
MAX_PROBLEMS: Final = 20
_HALF = re.compile("[\ud800-\udfff]")


class Reading:
    """Walks values along their types; `problems` gathers what is wrong with them, up to `most`.

    With `ids`, whatever identifies a record must be fit for an id; without, only what identifies a routed item.
    `places` may know more against a path.
    """

    def __init__(
        self,
        types: Mapping[str, Record],
        *,
        ids: bool = False,
        most: int = MAX_PROBLEMS,
        places: Fault = path_fault,
    ) -> None:
        self.types, self.ids, self.most, self.places = types, ids, most, places
        self.problems: list[Problem] = []

    @property
    def full(self) -> bool:
        """Whether there are so many problems already that nobody reads on."""
        return len(self.problems) >= self.most

    def blame(self, path: Path, message: str) -> Json:
        """Note a problem, unless there are many already; null, to stand for the value."""
        if not self.full:
            self.problems.append(Problem(path, message))
        return None

    def value(self, expr: TypeExpr, value: object, path: Path) -> Json:
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

    def fields(self, fields: Mapping[str, Field], given: dict[Any, Any], path: Path, key: str = "") -> dict[str, Json]:
        """The canonical fields of an object: every declared one, under its own name, absent ones null; `key` is the
        one that identifies it."""
        names = self._names(fields, given, path)
        result: dict[str, Json] = dict.fromkeys(fields)
        for name, field, expr in asked(fields):
            if name in names:
                place = (*path, names[name])
                result[name] = self.value(expr, given[names[name]], place)
                if self.ids and name == key and not _is_path(expr):
                    self._key_fits(result[name], place)
                elif not self.ids and field.route == "items":
                    self._keys_fit(record_of(expr), result[name], place)
            elif not isinstance(expr, OptionalType):
                self.blame((*path, name), f"is missing; it must be {expected(expr)}")
        return result

    def _names(self, fields: Mapping[str, Field], given: dict[Any, Any], path: Path) -> dict[str, str]:
        """Declared name → the name it was given under."""
        known = _known(fields)
        names: dict[str, str] = {}
        for key in given:
            if self.full:
                break
            name = known.get(key) if isinstance(key, str) else None
            if not isinstance(key, str):
                self.blame(path, f"has {kind(key)} for a name; names are texts")
            elif name is None:
                self.blame((*path, key), _stranger(key, fields))
            elif name in names:
                self.blame((*path, key), f"is the same field as '{names[name]}'; give it once")
            else:
                names[name] = key
        return names

    def _text(self, expr: ScalarType, value: object, path: Path) -> Json:
        if not isinstance(value, str):
            return self._wrong(expr, value, path, "; put it in quotes" if _is_number(value) else "")
        if len(value) > MAX_TEXT:
            return self.blame(path, f"has {len(value)} characters, the limit is {MAX_TEXT}; shorten it")
        if _HALF.search(value):
            return self.blame(path, "holds half of a surrogate pair; write the whole character")
        return value

    def _path(self, expr: ScalarType, value: object, path: Path) -> Json:
        text = self._text(expr, value, path)
        if not isinstance(text, str):
            return None
        fault = path_fault(text) or ("is a pattern; write the path of one file or folder" if is_pattern(text) else "")
        fault = fault or self.places(clean_path(text))
        return self.blame(path, f"the path {quoted(text)} {fault}") if fault else clean_path(text)

    def _number(self, expr: ScalarType, value: object, path: Path) -> Json:
        if not _is_number(value):
            return self._wrong(expr, value, path)
        if expr.name == "int" and isinstance(value, float):
            if not value.is_integer():
                return self.blame(path, f"must be a whole number, not {value}")
            value = int(value)
        fits = abs(value) < 2**63 if isinstance(value, int) else math.isfinite(value)
        return value if fits else self.blame(path, "is out of range; give a finite number of at most 18 digits")

    def _choice(self, expr: EnumType, value: object, path: Path) -> Json:
        if isinstance(value, str) or _is_number(value):
            for choice in expr.values:
                if choice == value:
                    return choice
        near = _near(value, expr)
        return self._wrong(expr, value, path, f"; {near}" if near else "")

    def _list(self, expr: ListType, value: object, path: Path) -> Json:
        if not isinstance(value, list):
            return self._wrong(expr, value, path)
        if len(value) > MAX_ITEMS:
            return self.blame(path, f"has {len(value)} items, the limit is {MAX_ITEMS}")
        items = [self.value(expr.item, item, (*path, index)) for index, item in enumerate(value)]
        if isinstance(expr.item, RecordType):
            self._keys_differ(self.types[expr.item.name].key, items, path)
        return items

    def _record(self, expr: RecordType, value: object, path: Path) -> Json:
        if not isinstance(value, dict):
            hint = "; give it as it is, not as JSON in quotes" if isinstance(value, str) else ""
            return self._wrong(expr, value, path, hint)
        if len(path) > MAX_DEPTH:
            return self.blame(path, f"is nested more than {MAX_DEPTH} levels deep; flatten it")
        record = self.types[expr.name]
        fields = self.fields(record.fields, value, path, record.key)
        self._keep_apart(record.apart, fields, path)
        return fields

    def _keep_apart(self, names: tuple[str, ...], fields: Mapping[str, Json], path: Path) -> None:
        for name, other in combinations(names, 2):
            one, two = fields[name], fields[other]
            overlap = path_overlap(one, two) if isinstance(one, str) and isinstance(two, str) else ""
            if overlap:
                self.blame((*path, other), f"{quoted(str(two))} {overlap} {name}; give each a place of its own")

    def _keys_differ(self, key: str, items: list[Json], path: Path) -> None:
        """What identifies an item identifies only one; a null stands for a problem already noted."""
        seen: dict[str, int] = {}
        for index, item in enumerate(items):
            given = item.get(key) if isinstance(item, dict) else None
            if given is not None and seen.setdefault(str(given), index) != index:
                first = f"[{seen[str(given)]}]"
                self.blame((*path, index, key), f"{quoted(str(given))} already identifies {first}; choose another")

    def _keys_fit(self, record: str, items: Json, path: Path) -> None:
        """Keys of routed items become names of instances and branches; one that is a path obeys the rules of paths."""
        key = self.types[record].key if record else ""
        field = self.types[record].fields.get(key) if record else None
        if field is None or _is_path(parse_type(field.type)):
            return
        for index, item in enumerate(items if isinstance(items, list) else ()):
            self._key_fits(item.get(key) if isinstance(item, dict) else None, (*path, index, key))

    def _key_fits(self, given: Json, path: Path) -> None:
        """An empty key of an input is not looked at here: that nothing is empty is a rule of its own."""
        fault = "" if given is None or (self.ids and given == "") else id_fault(str(given))
        if fault:
            self.blame(path, f"{quoted(str(given))} {fault}")

    def _wrong(self, expr: TypeExpr, value: object, path: Path, hint: str = "") -> Json:
        return self.blame(path, f"must be {expected(expr)}, not {kind(value)}{hint}")


def _is_path(expr: TypeExpr) -> bool:
    return bare(expr) == ScalarType("path")


def _is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _near(given: object, expr: EnumType) -> str:
    """What was meant: a number in quotes, a word in brackets, a word that is written differently."""
    words = [str(choice) for choice in expr.values]
    if (
        isinstance(given, list)
        and len(given) == 1
        and isinstance(given[0], str | int | float)
        and str(given[0]) in words
    ):
        return f"write {given[0]}, without brackets"
    if not isinstance(given, str):
        return ""
    bare_word = given.strip("[] ")
    if bare_word in words and bare_word != given:
        return f"write {bare_word}, and nothing around it"
    return "write it without quotes" if given in words else suggest(given[:100], words)


def _stranger(name: str, fields: Mapping[str, Field]) -> str:
    """Why a name is no field, and which one was meant."""
    if name in fields:
        return f"is computed ({fields[name].by}), not asked for; leave it out"
    known = _known(fields)
    own = [field for field, _, _ in asked(fields)]
    choices = f"the fields are {', '.join(own)}" if own else "there are no fields; leave it out"
    return f"is not a field here; {suggest(printable(name), known) or choices}"


def _known(fields: Mapping[str, Field]) -> dict[str, str]:
    """Every name under which a field may be given → its own; a field's own name is never another's alias."""
    names = list(asked(fields))
    return {other: name for name, field, _ in names for other in field.also} | {name: name for name, _, _ in names}
