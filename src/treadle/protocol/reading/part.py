"""A strict reader for one part of a protocol's tree: what is wrong is collected, and reading goes on.

Every part knows its dotted path (`graphs.node.steps.impl.routes.Stuck`), and the log remembers where each path stands
so that later findings can point at lines.
"""

import re
from collections.abc import Collection, Iterator
from typing import Final, TypeVar

import msgspec

from treadle.errors import ProtocolError
from treadle.protocol.findings import Finding, Place, suggest
from treadle.protocol.reading.source import Node, kind_of

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

    def settle(self, name: str, code: str = "protocol.malformed") -> None:
        """Raise everything that was noted, if anything was; where it is all in one file, that is the one at fault."""
        if self.findings:
            found = tuple(sorted(dict.fromkeys(self.findings), key=lambda finding: finding.place))
            name = name if len({finding.place.file for finding in found}) > 1 else found[0].place.file
            count = "one problem" if len(found) == 1 else f"{len(found)} problems"
            raise ProtocolError(f"{name} cannot be loaded: {count}", found, code=code)


def where(path: str) -> str:
    """`graphs.node.steps.tests.routes.X` → `node.tests`, `exits.Fixed.commit` → `exits.Fixed`."""
    match path.split("."):
        case ["graphs", graph, "steps", step, *_]:
            return f"{graph}.{step}"
        case ["graphs", graph, *rest]:
            return ".".join([graph, *rest[:2]])
        case parts:
            return ".".join(parts[:2])


def quoted(word: str) -> str:
    """A word from the file, short enough for a message."""
    return f"'{word if len(word) <= 60 else word[:57] + '…'}'"


class Part(msgspec.Struct, frozen=True):
    """A value of the tree with its name, its path and the log that takes its problems."""

    node: Node
    name: str
    path: str
    log: Log

    def problem(self, message: str, hint: str = "") -> None:
        """Note a problem at this value."""
        self.log.add(self.node.place, self.path, message, hint)

    def expected(self, what: str, hint: str = "") -> None:
        """Note that the value is of the wrong kind."""
        self.problem(f"{quoted(self.name)} must be {what}, not {kind_of(self.node)}", hint)

    # mappings

    def entries(self) -> Iterator[tuple[str, "Part"]]:
        """The entries of a mapping; nothing at all counts as an empty one."""
        if isinstance(self.node.value, dict):
            for key in self.node.value:
                yield key, self._entry(key)
        elif self.node.value is not None:
            self.expected("a mapping", "write `key: value`")

    def named(self, key: str, rule: re.Pattern[str]) -> Iterator[tuple[str, "Part"]]:
        """The entries of the mapping under a key whose own keys are names."""
        part = self.get(key)
        for name, entry in part.entries() if part else ():
            if rule.fullmatch(name):
                yield name, entry
            else:
                place = part.node.key_place(name) if part else entry.node.place
                self.log.add(place, entry.path, f"{quoted(name)} is not a name", f"use {_RULES[rule]}")

    def get(self, key: str) -> "Part | None":
        """The entry under a key, if there is one."""
        present = isinstance(self.node.value, dict) and key in self.node.value
        return self._entry(key) if present else None

    def known(self, *keys: str) -> None:
        """Note every key that is not one of these."""
        for key in self.node.keys:
            if key not in keys:
                hint = suggest(key, keys) or f"known here: {', '.join(keys)}"
                self.log.add(self.node.key_place(key), self.path, f"unknown key {quoted(key)}", hint)

    def _entry(self, key: str) -> "Part":
        assert isinstance(self.node.value, dict)
        path = f"{self.path}.{key}" if self.path else key
        self.log.places[path] = self.node.key_place(key)
        return Part(self.node.value[key], key, path, self.log)

    # values under a key

    def text(self, key: str, default: str = "") -> str:
        """Text under a key."""
        part = self.get(key)
        return part.as_text(default) if part else default

    def name_of(self, key: str, rule: re.Pattern[str] = NAME, default: str = "") -> str:
        """A name under a key."""
        part = self.get(key)
        return part.as_name(rule) if part else default

    def whole(self, key: str, default: int, least: int = 0) -> int:
        """A whole number under a key."""
        part = self.get(key)
        return part.as_whole(default, least) if part else default

    def flag(self, key: str, default: bool = False) -> bool:
        """`true` or `false` under a key."""
        part = self.get(key)
        if part is None or isinstance(part.node.value, bool):
            return bool(part.node.value) if part else default
        part.expected("true or false")
        return default

    def seconds(self, key: str, default: int) -> int:
        """A duration under a key: seconds, or text such as `10m`."""
        part = self.get(key)
        return part.as_seconds(default) if part else default

    def one_of(self, key: str, choices: Collection[Choice], default: Choice) -> Choice:
        """One of a few words under a key."""
        part = self.get(key)
        return part.as_choice(choices, default) if part else default

    def words(self, key: str, rule: re.Pattern[str] = NAME) -> tuple[str, ...]:
        """Names under a key: a list, or text with spaces between them."""
        part = self.get(key)
        return part.as_words(rule) if part else ()

    def texts(self, key: str, default: tuple[str, ...] = ()) -> tuple[str, ...]:
        """Texts under a key: a list, or a single one."""
        part = self.get(key)
        return part.as_texts() if part else default

    # this value

    def texts_by_name(self, key: str) -> dict[str, str]:
        """A mapping of texts."""
        part = self.get(key)
        return {name: entry.as_text() for name, entry in part.entries()} if part else {}

    def items(self) -> list["Part"]:
        """The items of a list; a single value counts as a list of one, nothing as an empty one."""
        if self.node.value is None:
            return []
        if not isinstance(self.node.value, list):
            return [self]
        found = []
        for number, node in enumerate(self.node.value):
            path = f"{self.path}.{number}"
            self.log.places[path] = node.place
            found.append(Part(node, self.name, path, self.log))
        return found

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
            self.problem(f"{quoted(text)} is not a name", f"use {_RULES[rule]}")
        return text

    def as_whole(self, default: int = 0, least: int = 0) -> int:
        """The value as a whole number that is not below `least`."""
        value = self.node.value
        if isinstance(value, bool) or not isinstance(value, int):
            self.expected("a whole number")
            return default
        if value < least:
            self.problem(f"{quoted(self.name)} is {value}", f"it must be {least} or more")
        return value

    def as_seconds(self, default: int = 0) -> int:
        """The value as a duration."""
        value = self.node.value
        match = _DURATION.fullmatch(value.strip()) if isinstance(value, str) else None
        if match:
            return int(match[1]) * _SECONDS[match[2]]
        if isinstance(value, int) and not isinstance(value, bool):
            return self.as_whole(default)
        self.problem(f"{quoted(self.name)} is not a duration", "write seconds, or text such as 90s, 10m, 2h")
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
            self.problem(f"{quoted(self.name)} cannot be {quoted(text)}", hint)
        return default

    def as_words(self, rule: re.Pattern[str] = NAME) -> tuple[str, ...]:
        """The value as names."""
        if isinstance(self.node.value, str):
            place = self.node.place
            return tuple(
                Part(Node(w, place), self.name, self.path, self.log).as_name(rule) for w in self.node.value.split()
            )
        return tuple(part.as_name(rule) for part in self.items())

    def as_texts(self) -> tuple[str, ...]:
        """The value as texts."""
        return tuple(part.as_text() for part in self.items())
