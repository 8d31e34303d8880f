"""A strict reader for one part of a protocol's tree: it collects problems and reads on.

Every part knows its dotted path (`graphs.node.steps.impl.routes.Stuck`), and the log remembers the place of each path,
for the lines of later findings.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from typing import Any, Final, Literal, TypeVar, get_args, get_origin

import msgspec

from treadle.errors import ProtocolError
from treadle.protocol.findings import Finding, Place, suggest
from treadle.protocol.reading.yaml import Node, kind_of

NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,80}")
STEP: Final = re.compile(r"[A-Za-z0-9_-]{1,80}(@[A-Za-z0-9_-]{1,80}){0,8}")
POOL: Final = re.compile(r"([a-z]{1,20}:)?[A-Za-z0-9_-]{1,80}")
WORD: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,79}")
SIGNAL: Final = re.compile(r"[A-Za-z][A-Za-z0-9_:-]{0,159}")
FIELD: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,79}")
_RULES: Final = {
    NAME: "ASCII letters, digits, _ and -",
    STEP: "ASCII letters, digits, _ and -",
    POOL: "ASCII letters, digits, _ and -, with `parent:` or `self:` before it",
    WORD: "ASCII letters, digits, _ and -, a letter first",
    SIGNAL: "ASCII letters, digits, _, - and :, a letter first",
    FIELD: "ASCII letters, digits and _, no digit first",
}
_DURATION = re.compile(r"([0-9]{1,9})\s*([smhd])")
_SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400}

Choice = TypeVar("Choice", bound=str)
AnyModel = TypeVar("AnyModel", bound=msgspec.Struct)
Reader = Callable[["Part"], Any]
"""Reads the value of one key; after noting a problem it returns anything of the right type."""


class Log:
    """Findings so far, and the place of every path that was read."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self.misread: list[str] = []
        """The path of each finding; empty for those of other files."""
        self.places: dict[str, Place] = {}

    def add(self, place: Place, path: str, message: str, hint: str = "") -> None:
        """Note a problem."""
        self.findings.append(Finding(place, where(path), message, hint, code="protocol.malformed"))
        self.misread.append(path)

    def aside(self) -> "Log":
        """A log with the same findings and places of its own, for a file beside the protocol's."""
        other = Log()
        other.findings, other.misread = self.findings, self.misread
        return other

    def take(self, error: ProtocolError) -> None:
        """Note the findings of a file that could not be read."""
        self.findings += [finding for finding in error.findings if isinstance(finding, Finding)]
        self.misread.append("")

    def settle(self, name: str) -> None:
        """Raise everything that was noted, if anything was; where it is all in one file, that is the one at fault."""
        if self.findings:
            findings = tuple(sorted(dict.fromkeys(self.findings), key=lambda finding: finding.place))
            files = {finding.place.file for finding in findings}
            count = "one problem" if len(findings) == 1 else f"{len(findings)} problems"
            message = f"{name if len(files) > 1 else files.pop()} cannot be loaded: {count}"
            raise ProtocolError(message, findings, code="protocol.malformed")


def where(path: str) -> str:
    """`graphs.node.steps.tests.routes.X` → `node.tests`, `exits.Fixed.commit` → `exits.Fixed`."""
    match path.split("."):
        case ["graphs", graph, "steps", step, *_]:
            return f"{graph}.{step}"
        case ["graphs", graph, *rest]:
            return ".".join([graph, *rest[:2]])
        case parts:
            return ".".join(parts[:2])


def quote_name(word: str) -> str:
    """A word from the file, short enough for a message."""
    return f"'{word if len(word) <= 60 else word[:57] + '…'}'"


class Part(msgspec.Struct, frozen=True):
    """A value of the tree with its name, its path and the log for its problems.

    `as_…` reads this value; the methods with a key read the value under it, and return a default where it is absent.
    """

    node: Node
    name: str
    path: str
    log: Log

    def problem(self, message: str, hint: str = "") -> None:
        """Note a problem at this value."""
        self.log.add(self.node.place, self.path, message, hint)

    def expected(self, what: str, hint: str = "") -> None:
        """Note that the value is of the wrong kind."""
        self.problem(f"{quote_name(self.name)} must be {what}, not {kind_of(self.node)}", hint)

    def entries(self, rule: re.Pattern[str] | None = None) -> Iterator[tuple[str, "Part"]]:
        """The entries of a mapping, nothing counting as an empty one; with a rule, only those that are named by it."""
        if isinstance(self.node.value, dict):
            for key in self.node.value:
                entry = self._entry(key)
                if rule is None or rule.fullmatch(key):
                    yield key, entry
                else:
                    message, hint = f"{quote_name(key)} is not a name", f"use {_RULES[rule]}"
                    self.log.add(self.node.key_place(key), entry.path, message, hint)
        elif self.node.value is not None:
            self.expected("a mapping", "write `key: value`")

    def get(self, key: str) -> "Part | None":
        """The entry under a key, if there is one."""
        return self._entry(key) if key in self.node.entries else None

    def _entry(self, key: str) -> "Part":
        path = f"{self.path}.{key}" if self.path else key
        self.log.places[path] = self.node.key_place(key)
        return Part(self.node.entries[key], key, path, self.log)

    def known(self, *keys: str) -> None:
        """Note every key that is not one of these."""
        for key in self.node.keys:
            if key not in keys:
                hint = suggest(key, keys) or f"known here: {', '.join(keys)}"
                self.problem_at(key, f"unknown key {quote_name(key)}", hint)

    def problem_at(self, key: str, message: str, hint: str = "") -> None:
        """Note a problem of this mapping in the line of one of its keys."""
        self.log.add(self.node.key_place(key), self.path, message, hint)

    def demand(self, what: str, *keys: str) -> None:
        """Note every key of these that is absent."""
        for key in keys:
            if self.get(key) is None:
                self.problem(f"{what} has no {quote_name(key)}", f"add `{key}:`")

    def items(self) -> list["Part"]:
        """The items of a list; a single value counts as a list of one, nothing as an empty one."""
        if self.node.value is None:
            return []
        if not isinstance(self.node.value, list):
            return [self]
        parts = []
        for number, node in enumerate(self.node.value):
            path = f"{self.path}.{number}"
            self.log.places[path] = node.place
            parts.append(Part(node, self.name, path, self.log))
        return parts

    # mappings as models

    def as_model(self, model: type[AnyModel], **readers: Reader) -> AnyModel:
        """Read a mapping into a model: the fields are the known keys, and their types say how each value is read.

        `readers` has the keys with a notation or a rule of their own. An absent key has the model's default.
        """
        fields = msgspec.structs.fields(model)
        required = [field.name for field in fields if field.required]
        kind = model.__name__.lower()
        if isinstance(self.node.value, dict | None):
            self.known(*model.__struct_fields__)
            what = quote_name(self.name) if self.name == kind else f"the {kind} {quote_name(self.name)}"
            self.demand(what, *required)
        else:
            self.expected("a mapping", "write `key: value`")
        neutral = {field.name: 1 if field.type is int else "?" for field in fields if field.required}
        return model(**neutral | self.values(model, model.__struct_fields__, readers))

    def values(
        self, model: type[msgspec.Struct], keys: Collection[str], readers: Mapping[str, Reader]
    ) -> dict[str, Any]:
        """The values of those keys that are there, each read by its reader or by the type of the model's field."""
        types = {field.name: field.type for field in msgspec.structs.fields(model)}
        entries = {key: entry for key in keys if (entry := self.get(key))}
        return {key: (readers.get(key) or _reader_of(types[key]))(entry) for key, entry in entries.items()}

    # values under a key

    def text(self, key: str, default: str = "") -> str:
        part = self.get(key)
        return part.as_text(default) if part else default

    def texts(self, key: str, default: tuple[str, ...] = ()) -> tuple[str, ...]:
        part = self.get(key)
        return part.as_texts() if part else default

    def name_of(self, key: str, rule: re.Pattern[str] = NAME, default: str = "") -> str:
        part = self.get(key)
        return part.as_name(rule) if part else default

    def words(self, key: str, rule: re.Pattern[str] = NAME) -> tuple[str, ...]:
        part = self.get(key)
        return part.as_words(rule) if part else ()

    def whole(self, key: str, default: int, least: int = 0) -> int:
        part = self.get(key)
        return part.as_whole(default, least) if part else default

    def flag(self, key: str) -> bool:
        part = self.get(key)
        return part.as_flag() if part else False

    def one_of(self, key: str, choices: Collection[Choice], default: Choice) -> Choice:
        part = self.get(key)
        return part.as_choice(choices, default) if part else default

    def named(self, key: str, rule: re.Pattern[str]) -> Iterator[tuple[str, "Part"]]:
        part = self.get(key)
        yield from part.entries(rule) if part else ()

    # this value

    def as_text(self, default: str = "") -> str:
        """The value as text."""
        if isinstance(self.node.value, str):
            return self.node.value
        number = isinstance(self.node.value, int | float)
        self.expected("text", "write it in quotes" if number else "")
        return default

    def as_name(self, rule: re.Pattern[str] = NAME) -> str:
        """The value as a name."""
        text = self.as_text("?")
        if text != "?" and not rule.fullmatch(text):
            self.problem(f"{quote_name(text)} is not a name", f"use {_RULES[rule]}")
        return text

    def as_whole(self, default: int = 0, least: int = 0) -> int:
        """The value as a whole number that is not below `least`."""
        value = self.node.value
        if isinstance(value, bool) or not isinstance(value, int):
            self.expected("a whole number")
            return default
        if value < least:
            self.problem(f"{quote_name(self.name)} is {value}", f"it must be {least} or more")
        return value

    def as_flag(self) -> bool:
        """The value as `true` or `false`."""
        if isinstance(self.node.value, bool):
            return self.node.value
        self.expected("true or false")
        return False

    def as_seconds(self, default: int = 0) -> int:
        """The value as a duration: seconds, or text such as `10m`."""
        value = self.node.value
        match = _DURATION.fullmatch(value.strip()) if isinstance(value, str) else None
        if match:
            return int(match[1]) * _SECONDS[match[2]]
        if isinstance(value, int) and not isinstance(value, bool):
            return self.as_whole(default)
        self.problem(f"{quote_name(self.name)} is not a duration", "write seconds, or text such as 90s, 10m, 2h")
        return default

    def as_choice(self, choices: Collection[Choice], default: Choice) -> Choice:
        """The value as one of a few words."""
        text = self.as_text()
        for choice in choices:
            if choice == text:
                return choice
        if isinstance(self.node.value, str):
            known = ", ".join(choice for choice in choices if choice)
            hint = suggest(text, choices) or f"write one of {known}"
            self.problem(f"{quote_name(self.name)} cannot be {quote_name(text)}", hint)
        return default

    def as_words(self, rule: re.Pattern[str] = NAME) -> tuple[str, ...]:
        """The value as names: a list, or text with spaces between them."""
        parts = self.items()
        if isinstance(self.node.value, str):
            words = self.node.value.split()
            parts = [Part(Node(word, self.node.place), self.name, self.path, self.log) for word in words]
        return tuple(part.as_name(rule) for part in parts)

    def as_texts(self) -> tuple[str, ...]:
        """The value as texts: a list, or a single one."""
        return tuple(part.as_text() for part in self.items())


def mapping_of(read: Reader, rule: re.Pattern[str] | None = None) -> Reader:
    """A reader of mappings with values of one kind, under names by a rule."""
    return lambda part: {name: read(entry) for name, entry in part.entries(rule)}


_READERS: Final[dict[Any, Reader]] = {
    str: Part.as_text,
    bool: Part.as_flag,
    int: Part.as_whole,
    tuple[str, ...]: Part.as_texts,
    dict[str, str]: mapping_of(Part.as_text),
}


def _reader_of(kind: Any) -> Reader:
    if get_origin(kind) is Literal:
        return partial(Part.as_choice, choices=get_args(kind), default=get_args(kind)[0])
    return _READERS[kind]


def name_by(rule: re.Pattern[str]) -> Reader:
    """A reader of names by a rule."""
    return partial(Part.as_name, rule=rule)


def names_by(rule: re.Pattern[str]) -> Reader:
    """A reader of several names by a rule."""
    return partial(Part.as_words, rule=rule)
