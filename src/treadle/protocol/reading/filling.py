"""The arguments of an include put in the place of its fragment's parameters, as long as there is room for them."""

import re
from collections.abc import Mapping
from typing import Final

from treadle.protocol.findings import Place, suggest
from treadle.protocol.reading.part import Log, quoted
from treadle.protocol.reading.source import MAX_NODES, MAX_TEXT, Node, fail

_PARAM = re.compile(r"\$(\$|[A-Za-z_][A-Za-z0-9_]*)")
_EACH: Final = MAX_TEXT // MAX_NODES
"""What a value costs besides its characters, so that as many fit as into a file."""

Args = Mapping[str, Node]


class Filling:
    """Fills fragments in for one protocol; all that they bring together is no more than a file may hold."""

    def __init__(self, log: Log) -> None:
        self.log, self.room = log, MAX_TEXT

    def tree(self, node: Node, args: Args, place: Place) -> Node:
        """The fragment with its arguments in the place of `$param`, in keys and values; `$$` is a dollar sign."""
        self._spend(_EACH, place)
        if isinstance(node.value, str):
            return self._text(node, args, place)
        if isinstance(node.value, list):
            return Node([self.tree(item, args, place) for item in node.value], node.place)
        return self._mapping(node, node.value, args, place) if isinstance(node.value, dict) else node

    def _mapping(self, node: Node, value: dict[str, Node], args: Args, place: Place) -> Node:
        entries, keys = {}, {}
        for key, entry in value.items():
            name = self._text(Node(key, node.key_place(key)), args, place).value
            word = name if isinstance(name, str) else key
            if word in entries:
                self.log.add(
                    node.key_place(key), "include", f"the key {quoted(word)} is there twice", "rename one of them"
                )
            entries[word], keys[word] = self.tree(entry, args, place), node.key_place(key)
        return Node(entries, node.place, keys)

    def _text(self, node: Node, args: Args, place: Place) -> Node:
        text = str(node.value)
        self._spend(len(text), place)
        whole = _PARAM.fullmatch(text)
        if whole and whole[1] in args:
            self._spend(size(args[whole[1]]), place)
            return Node(args[whole[1]].value, node.place, args[whole[1]].keys)

        def value(match: re.Match[str]) -> str:
            if match[1] == "$":
                return "$"
            if match[1] not in args:
                hint = suggest(match[1], args) or "declare it in `params`, or write $$ for a dollar sign"
                self.log.add(node.place, "include", f"unknown parameter ${match[1]}", hint)
                return match[0]
            self._spend(size(args[match[1]]), place)
            return str(args[match[1]].plain())

        return Node(_PARAM.sub(value, text), node.place)

    def _spend(self, cost: int, place: Place) -> None:
        self.room -= cost
        if self.room < 0:
            message = f"fragments bring more than {MAX_TEXT} characters, their parameters filled in"
            fail(place, message, "include fewer, or give them shorter values", "include", code="protocol.malformed")


def size(node: Node) -> int:
    """What a value costs: its characters, and something for each part of it."""
    if isinstance(node.value, dict):
        return _EACH + sum(len(key) + size(entry) for key, entry in node.value.items())
    if isinstance(node.value, list):
        return _EACH + sum(map(size, node.value))
    return _EACH + len(str(node.value))
