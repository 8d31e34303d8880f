"""YAML 1.2 text as a tree that knows its places. Hostile text ends in a finding, never in a traceback.

The tree is built from parser events on an explicit stack, so depth is a number that can be limited, and an alias
costs as much as what it stands for. Plain scalars follow the YAML 1.2 core schema: `on`, `yes` and `12:30` are text.
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
from treadle.protocol.reading.scalars import Scalar, resolve, written

MAX_TEXT: Final = 2_000_000
MAX_DEPTH: Final = 64
MAX_NODES: Final = 200_000
_LONG: Final = 100
"""A text counts once more for each so many characters: an alias of a long one would cost nothing otherwise."""
MAX_KEY: Final = 200
_REMEMBERED: Final = 100
_SHORT: Final = 100_000
"""A tree takes a hundred times the memory of its text: only those of ordinary files are remembered."""


class Node(msgspec.Struct, frozen=True):
    """A value of a YAML document and where it stands; of a mapping also where each key stands."""

    value: "Scalar | list[Node] | dict[str, Node]"
    place: Place
    keys: dict[str, Place] = {}

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


class _Open:
    """A collection that is being read."""

    def __init__(self, place: Place, anchor: str | None, mapping: bool, before: int) -> None:
        self.place, self.anchor, self.mapping, self.before = place, anchor, mapping, before
        self.items: list[Node] = []
        self.entries: dict[str, Node] = {}
        self.keys: dict[str, Place] = {}
        self.key: str | None = None


def read(text: str, file: str) -> Node:
    """Parse one YAML document; everything that cannot be read is a `ProtocolError` with file and line."""
    if len(text) > MAX_TEXT:
        fail(Place(file), f"the file has {len(text)} characters, the limit is {MAX_TEXT}", "split it into fragments")
    return _remembered(text, file) if len(text) <= _SHORT else _Reader(file).read(text)


@lru_cache(maxsize=_REMEMBERED)
def _remembered(text: str, file: str) -> Node:
    """Reading takes most of the time of loading a protocol, and the same fragments are read for each of them."""
    return _Reader(file).read(text)


def fail(place: Place, message: str, hint: str = "", where: str = "", *, code: str = "file.syntax") -> NoReturn:
    """Raise a `ProtocolError` with a single finding."""
    found = Finding(place, where, message, hint, code=code)
    raise ProtocolError(f"{place.file} cannot be loaded", (found,), code=code)


def kind_of(node: Node) -> str:
    """What a value is, in the words of the messages."""
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


class _Reader:
    """Builds the tree of one document from its parser events."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.language = "JSON" if file.lower().endswith(".json") else "YAML"
        self.count = 0
        self.documents = 0
        self.open: list[_Open] = []
        self.anchors: dict[str, tuple[Node, int]] = {}
        self.root: Node | None = None

    def read(self, text: str) -> Node:
        for event in self._events(text):
            self._take(event)
        if self.root is None:
            fail(Place(self.file, 1, 1), "the file is empty", "write a mapping such as `name: value`")
        return self.root

    def _events(self, text: str) -> Iterator[Any]:
        place = Place(self.file, 1, 1)
        try:
            for event in YAML(typ="safe", pure=True).parse(text):
                place = self._place(event.start_mark)
                yield event
        except ProtocolError:
            raise
        except MarkedYAMLError as error:
            if self.language == "JSON":
                self._refuse_json(text)
            mark = error.problem_mark or error.context_mark
            fail(self._place(mark) if mark else place, *_explain(error, self.language))
        except ReaderError as error:
            line = text.count("\n", 0, error.position) + 1
            fail(
                Place(self.file, line, 1),
                f"the character U+{ord(text[error.position]):04X} is not allowed in {self.language}",
                "remove it",
            )
        except Exception as error:  # the YAML library's own failures on broken escapes, tags and directives
            what = f"this is not {self.language} after this place: {str(error)[:200]}"
            fail(place, what, "check escapes and quotes")

    def _refuse_json(self, text: str) -> None:
        """JSON's own reader says in JSON's own words what is wrong."""
        try:
            json.loads(text)
        except json.JSONDecodeError as error:
            message = f"this is not JSON: {error.msg[:1].lower()}{error.msg[1:]}"
            fail(Place(self.file, error.lineno, error.colno), message, "check quotes, brackets and commas")
        except (ValueError, RecursionError):
            return

    def _place(self, mark: Any) -> Place:
        return Place(self.file, mark.line + 1, mark.column + 1)

    def _take(self, event: Any) -> None:
        place = self._place(event.start_mark)
        if isinstance(event, DocumentStartEvent):
            self._document(event, place)
        elif isinstance(event, AliasEvent):
            self._alias(event, place)
        elif isinstance(event, NodeEvent):
            self._node(event, place)
        elif isinstance(event, MappingEndEvent | SequenceEndEvent):
            self._close(place)

    def _document(self, event: Any, place: Place) -> None:
        self.documents += 1
        if self.documents > 1:
            fail(place, "a second document starts here", "one file holds one document: remove `---`")
        if event.version or event.tags:
            fail(Place(self.file, 1, 1), "directives such as %YAML and %TAG are not supported", "remove them")

    def _node(self, event: Any, place: Place) -> None:
        if event.tag is not None:
            fail(place, "tags are not supported", "write text in quotes, and leave `!…` away")
        size = 1 + len(event.value) // _LONG if isinstance(event, ScalarEvent) else 1
        self._spend(size, place)
        if isinstance(event, MappingStartEvent | SequenceStartEvent):
            if len(self.open) >= MAX_DEPTH:
                fail(place, f"nested more than {MAX_DEPTH} levels deep", "flatten it")
            mapping = isinstance(event, MappingStartEvent)
            if self.open and self.open[-1].mapping and self.open[-1].key is None:
                fail(place, f"a key must be text, not {'a mapping' if mapping else 'a list'}", "write `key: value`")
            self.open.append(_Open(place, event.anchor, mapping, self.count - 1))
        elif isinstance(event, ScalarEvent):
            self._add(Node(self._scalar(event, place), place), event, size)

    def _scalar(self, event: Any, place: Place) -> Scalar:
        text = _whole(event.value, place)
        try:
            return resolve(text) if event.implicit[0] else text
        except ValueError:
            fail(place, f"the number {text[:40]} is out of range", "write it in quotes if it is text")

    def _alias(self, event: Any, place: Place) -> None:
        if event.anchor not in self.anchors:
            hint = suggest(event.anchor, self.anchors) or "an alias stands after its anchor and outside of it"
            fail(place, f"unknown anchor '{event.anchor[:MAX_KEY]}'", hint)
        node, size = self.anchors[event.anchor]
        self._spend(size, place)
        self._add(node, event, size, alias=place)

    def _spend(self, nodes: int, place: Place) -> None:
        self.count += nodes
        if self.count > MAX_NODES:
            fail(place, f"more than {MAX_NODES} values, aliases written out", "split it, or use fewer aliases")

    def _close(self, place: Place) -> None:
        done = self.open.pop()
        node = Node(done.entries if done.mapping else done.items, done.place, done.keys)
        self._keep(done.anchor, node, self.count - done.before, place)
        self._put(node)

    def _add(self, node: Node, event: Any, size: int, alias: Place | None = None) -> None:
        if alias is None:
            self._keep(event.anchor, node, size, node.place)
        if self.open and self.open[-1].mapping and self.open[-1].key is None:
            self._key(node, alias or node.place)
        else:
            self._put(node)

    def _keep(self, anchor: str | None, node: Node, size: int, place: Place) -> None:
        if anchor is None:
            return
        if anchor in self.anchors:
            fail(place, f"the anchor '{anchor[:MAX_KEY]}' is defined twice", "give it another name")
        self.anchors[anchor] = (node, size)

    def _key(self, node: Node, place: Place) -> None:
        top = self.open[-1]
        key = node.value
        if isinstance(key, list | dict):
            fail(place, f"a key must be text, not {kind_of(node)}", "write `key: value`")
        if not isinstance(key, str):
            fail(place, f"key {written(key)} must be text", "write it in quotes")
        if key == "<<":
            fail(place, "merge keys (`<<`) are not part of YAML 1.2", "write the entries out, or use a fragment")
        if len(key) > MAX_KEY:
            fail(place, f"a key of {len(key)} characters", f"a key has at most {MAX_KEY}")
        if key in top.keys:
            fail(place, f"the key '{key}' stands here twice, first in line {top.keys[key].line}", "remove one of them")
        top.keys[key] = place
        top.key = key

    def _put(self, node: Node) -> None:
        if not self.open:
            self.root = node
            return
        top = self.open[-1]
        if not top.mapping:
            top.items.append(node)
        elif top.key is not None:
            top.entries[top.key] = node
            top.key = None


def _whole(text: str, place: Place) -> str:
    """JSON writes a character beyond U+FFFF as two escapes, which belong together; a half is no character."""
    try:
        return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        fail(place, "half of a surrogate pair is no character", "write the whole character")


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


def _explain(error: MarkedYAMLError, language: str) -> tuple[str, str]:
    problem = (error.problem or "it cannot be read").strip()
    context = f" ({error.context.strip()})" if error.context else ""
    hint = next((hint for part, hint in _HINTS if part in problem), "check quotes, brackets and indentation")
    return f"this is not {language}: {problem}{context}"[:400], hint
