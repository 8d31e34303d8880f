"""Plain values as trees that stand where the row stands that they were made from."""

from typing import Any

from treadle.protocol.findings import Place
from treadle.protocol.reading.source import Node


def tree(value: Any, place: Place) -> Node:
    """A plain value as a tree whose parts stand at one place, except those that have a place already."""
    match value:
        case Node():
            return value
        case dict():
            return Node({key: tree(item, place) for key, item in value.items()}, place, dict.fromkeys(value, place))
        case list() | tuple():
            return Node([tree(item, place) for item in value], place)
    return Node(value, place)
