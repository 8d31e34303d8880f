"""A tool that agents are offered, and what a call of one gives back."""

from typing import Any

import msgspec

from treadle.protocol.answers.schema import Schema


class Offered(msgspec.Struct, frozen=True):
    """A tool: what it is called, what it is for, what it takes."""

    name: str
    about: str
    takes: Schema
    title: str = ""
    gives: Schema | None = None
    """The shape of the structured part of its answer; None: it answers in words only."""
    hints: dict[str, bool] = {}
    """What the Model Context Protocol calls annotations."""


class Said(msgspec.Struct, frozen=True):
    """What a call gives back to the model."""

    text: str
    ok: bool = True
    data: Any = None
    """The same for programs."""
