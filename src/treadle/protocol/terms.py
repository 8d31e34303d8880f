"""On which terms a step is done alone that otherwise follows others: what must be there, and what it has to show."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from treadle.errors import ProtocolError
from treadle.protocol.model import CheckRef, Model
from treadle.protocol.reading.source import Node

FILE: Final = "alone.yaml"
"""Beside a `protocol.yaml`: the terms of its steps, by step."""
_EITHER: Final = " or "


class Exit(Model, frozen=True, kw_only=True):
    """Another exit in the place of one that says what it could not say alone; its fields are the same."""

    name: str
    instead_of: str
    about: str
    gates: str


class Terms(Model, frozen=True, kw_only=True):
    """The terms of one step."""

    given: tuple[str, ...] = ()
    """Files that must be there, with `{…}` for fields of the item; ` or ` between those of which one is enough."""
    ready: str = ""
    """Checks of what is there, before anybody begins."""
    exit: Exit | None = None

    @property
    def files(self) -> tuple[tuple[str, ...], ...]:
        """What must be there, each with what may stand in for it."""
        return tuple(tuple(one.split(_EITHER)) for one in self.given)


Table = Mapping[str, Terms]
"""The terms by step."""


def read_terms(tree: Node) -> dict[str, Terms]:
    """The table of a file; a `ProtocolError` says what is wrong with it."""
    plain: Any = tree.plain()
    try:
        return msgspec.convert(plain or {}, dict[str, Terms])
    except msgspec.ValidationError as error:
        raise ProtocolError(f"{tree.place.file}: {error}", code="protocol.malformed") from None


def checks(words: str) -> tuple[CheckRef, ...]:
    """Checks as a line has them: `name`, `name:argument`, `name?` for advice."""
    parts = [(word.rstrip("?").partition(":"), word.endswith("?")) for word in words.split()]
    return tuple(CheckRef(name=name, arg=arg, advisory=is_advice) for (name, _, arg), is_advice in parts)
