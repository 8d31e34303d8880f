"""YAML 1.2 text as a tree that knows its places. Hostile text ends in a finding, never in a traceback.

The tree is built from parser events within limits on depth and size; an alias costs as much as its target. Plain
scalars follow the YAML 1.2 core schema: `on`, `yes` and `12:30` are text.
"""

import json
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final, NoReturn

import msgspec
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)
from ruamel.yaml.reader import ReaderError

from treadle.errors import ProtocolError
from treadle.protocol.findings import Finding, Place, suggest
from treadle.protocol.yaml_text import Scalar, format_scalar, resolve_scalar

MAX_TEXT: Final = 2_000_000
MAX_DEPTH: Final = 64
MAX_NODES: Final = 200_000
_LONG: Final = 100
"""A text counts once more for each so many characters: an alias of a long one would cost nothing otherwise."""
MAX_KEY: Final = 200
_REMEMBERED: Final = 100
_SHORT: Final = 100_000
"""The longest text with a cached tree: a tree needs a hundred times the memory of its text."""


class Node(msgspec.Struct, frozen=True):
    """A value of a YAML document and where it stands; of a mapping also where each key stands."""

    value: "Scalar | list[Node] | dict[str, Node]"
    place: Place
    keys: dict[str, Place] = {}

    @property
    def entries(self) -> "dict[str, Node]":
        """The entries of a mapping; none of anything else."""
        return self.value if isinstance(self.value, dict) else {}

    def at(self, *keys: str) -> "Node":
        """The value under a path of keys; null where there is none."""
        node = self
        for key in keys:
            node = node.entries.get(key) or Node(None, node.place)
        return node

    def with_entry(self, key: str, node: "Node") -> "Node":
        """The mapping with this entry."""
        return Node({**self.entries, key: node}, self.place, {key: node.place, **self.keys})

    def without(self, key: str) -> "Node":
        """The mapping without this key."""
        if key not in self.entries:
            return self
        entries = {name: node for name, node in self.entries.items() if name != key}
        return Node(entries, self.place, {name: place for name, place in self.keys.items() if name != key})

    def plain(self) -> Any:
        """The value without places."""
        if isinstance(self.value, dict):
            return {key: node.plain() for key, node in self.value.items()}
        if isinstance(self.value, list):
            return [node.plain() for node in self.value]
        return self.value

    def key_place(self, key: str) -> Place:
        """Where a key of this mapping stands; the mapping itself if it has no such key."""
        return self.keys.get(key, self.place)


def read_yaml(text: str, file: str) -> Node:
    """Parse one YAML document; everything that cannot be read is a `ProtocolError` with file and line."""
    if len(text) > MAX_TEXT:
        fail(Place(file), f"the file has {len(text)} characters, the limit is {MAX_TEXT}", "split it into fragments")
    return _remembered(text, file) if len(text) <= _SHORT else _YamlReader(text, file).read()


@lru_cache(maxsize=_REMEMBERED)
def _remembered(text: str, file: str) -> Node:
    """Read a text through a cache: reading dominates the time to load a protocol, and protocols share fragments."""
    return _YamlReader(text, file).read()


def fail(place: Place, message: str, hint: str = "", where: str = "", *, code: str = "file.syntax") -> NoReturn:
    """Raise a `ProtocolError` with a single finding."""
    found = Finding(place, where, message, hint, code=code)
    raise ProtocolError(f"{place.file} cannot be loaded", (found,), code=code)


def kind_of(node: Node) -> str:
    """Return the kind of a value, in the words of the messages."""
    match node.value:
        case None:
            return "nothing"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "text"
        case list():
            return "a list"
        case dict():
            return "a mapping"


class _YamlReader:
    """Builds the tree of one document from its parser events, by recursive descent.

    The library's own composer is not used: it recurses without a limit, and it forgets tags and second anchors.
    """

    def __init__(self, text: str, file: str) -> None:
        self.text, self.file = text, file
        self.language = "JSON" if file.lower().endswith(".json") else "YAML"
        self.events = self._parse()
        self.count = 0
        self.anchors: dict[str, tuple[Node, int]] = {}

    def read(self) -> Node:
        root: Node | None = None
        for event in self.events:
            if isinstance(event, DocumentStartEvent):
                if root is not None:
                    hint = "one file holds one document: remove `---`"
                    fail(self._place(event.start_mark), "a second document starts here", hint)
                if event.version or event.tags:
                    fail(Place(self.file, 1, 1), "directives such as %YAML and %TAG are not supported", "remove them")
            elif isinstance(event, NodeEvent):
                root = self._node(event, 0)
        if root is None:
            fail(Place(self.file, 1, 1), "the file is empty", "write a mapping such as `name: value`")
        return root

    def _parse(self) -> Iterator[Any]:
        """Yield the parser's events, and turn its errors into findings."""
        place = Place(self.file, 1, 1)
        try:
            for event in YAML(typ="safe", pure=True).parse(self.text):
                place = self._place(event.start_mark)
                yield event
        except MarkedYAMLError as error:
            if self.language == "JSON":
                self._refuse_json()
            mark = error.problem_mark or error.context_mark
            problem = (error.problem or "it cannot be read").strip()
            context = f" ({error.context.strip()})" if error.context else ""
            hint = next((hint for part, hint in _HINTS if part in problem), "check quotes, brackets and indentation")
            fail(self._place(mark) if mark else place, f"this is not {self.language}: {problem}{context}"[:400], hint)
        except ReaderError as error:
            line = self.text.count("\n", 0, error.position) + 1
            character = f"U+{ord(self.text[error.position]):04X}"
            fail(Place(self.file, line, 1), f"the character {character} is not allowed in {self.language}", "remove it")
        except Exception as error:  # the YAML library's own failures on broken escapes, tags and directives
            what = f"this is not {self.language} after this place: {str(error)[:200]}"
            fail(place, what, "check escapes and quotes")

    def _refuse_json(self) -> None:
        """Refuse malformed JSON with the JSON parser's own message."""
        try:
            json.loads(self.text)
        except json.JSONDecodeError as error:
            message = f"this is not JSON: {error.msg[:1].lower()}{error.msg[1:]}"
            fail(Place(self.file, error.lineno, error.colno), message, "check quotes, brackets and commas")
        except (ValueError, RecursionError):
            return

    def _place(self, mark: Any) -> Place:
        return Place(self.file, mark.line + 1, mark.column + 1)

    def _node(self, event: Any, depth: int) -> Node:
        place = self._place(event.start_mark)
        if isinstance(event, AliasEvent):
            if event.anchor not in self.anchors:
                hint = suggest(event.anchor, self.anchors) or "an alias stands after its anchor and outside of it"
                fail(place, f"unknown anchor '{event.anchor[:MAX_KEY]}'", hint)
            node, size = self.anchors[event.anchor]
            self._spend(size, place)
            return node
        if event.tag is not None:
            fail(place, "tags are not supported", "write text in quotes, and leave `!…` away")
        before = self.count
        if isinstance(event, ScalarEvent):
            self._spend(1 + len(event.value) // _LONG, place)
            node, end = Node(self._scalar(event, place), place), place
        else:
            self._spend(1, place)
            if depth >= MAX_DEPTH:
                fail(place, f"nested more than {MAX_DEPTH} levels deep", "flatten it")
            read = self._mapping if isinstance(event, MappingStartEvent) else self._sequence
            node, end = read(place, depth + 1)
        # An anchor counts from the end of its value on, so that no value can hold itself.
        if event.anchor is not None:
            if event.anchor in self.anchors:
                fail(end, f"the anchor '{event.anchor[:MAX_KEY]}' is defined twice", "give it another name")
            self.anchors[event.anchor] = (node, self.count - before)
        return node

    def _sequence(self, place: Place, depth: int) -> tuple[Node, Place]:
        items = []
        while not isinstance(event := next(self.events), SequenceEndEvent):
            items.append(self._node(event, depth))
        return Node(items, place), self._place(event.start_mark)

    def _mapping(self, place: Place, depth: int) -> tuple[Node, Place]:
        entries: dict[str, Node] = {}
        keys: dict[str, Place] = {}
        while not isinstance(event := next(self.events), MappingEndEvent):
            at = self._place(event.start_mark)
            key = self._key(event, at, depth)
            if key in keys:
                fail(at, f"the key '{key}' stands here twice, first in line {keys[key].line}", "remove one of them")
            keys[key] = at
            entries[key] = self._node(next(self.events), depth)
        return Node(entries, place, keys), self._place(event.start_mark)

    def _key(self, event: Any, place: Place, depth: int) -> str:
        if isinstance(event, MappingStartEvent | SequenceStartEvent):
            kind = "a mapping" if isinstance(event, MappingStartEvent) else "a list"
            fail(place, f"a key must be text, not {kind}", "write `key: value`")
        node = self._node(event, depth)
        if isinstance(node.value, list | dict):
            fail(place, f"a key must be text, not {kind_of(node)}", "write `key: value`")
        if not isinstance(node.value, str):
            fail(place, f"key {format_scalar(node.value)} must be text", "write it in quotes")
        if node.value == "<<":
            fail(place, "merge keys (`<<`) are not part of YAML 1.2", "write the entries out, or use a fragment")
        if len(node.value) > MAX_KEY:
            fail(place, f"a key of {len(node.value)} characters", f"a key has at most {MAX_KEY}")
        return node.value

    def _scalar(self, event: Any, place: Place) -> Scalar:
        text = event.value
        try:
            # JSON writes a character beyond U+FFFF as two escapes, which belong together; a half is no character.
            text = text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16")
            return resolve_scalar(text) if event.implicit[0] else text
        except UnicodeDecodeError:
            fail(place, "half of a surrogate pair is no character", "write the whole character")
        except ValueError:
            fail(place, f"the number {text[:40]} is out of range", "write it in quotes if it is text")

    def _spend(self, nodes: int, place: Place) -> None:
        self.count += nodes
        if self.count > MAX_NODES:
            fail(place, f"more than {MAX_NODES} values, aliases written out", "split it, or use fewer aliases")


_HINTS: Final = (
    ("mapping values are not allowed here", "quote text that holds `: `, and indent with care"),
    ("found character '\\t'", "indent with spaces, not with tabs"),
    ("that cannot start any token", "put the text in quotes"),
    ("could not find expected ':'", "a key needs `: ` after it; quote text that spans lines"),
    ("expected <block end>", "check the indentation of this line and the one before"),
    ("found unexpected end of stream", "a quote or bracket is never closed"),
    ("expected ',' or", "a bracket is never closed, or a comma is missing"),
    ("found undefined tag handle", "tags are not supported: put text in quotes"),
    ("found unknown escape character", "in double quotes write `\\\\`, or use single quotes"),
)
