"""What is wrong with a foreign value, in words that quote it safely: short, on one line, never its whole inside."""

from typing import TypeAlias

import msgspec

from treadle.protocol.fields import EnumType, ListType, RecordType, ScalarType, TypeExpr, bare

Path: TypeAlias = tuple[str | int, ...]


class Problem(msgspec.Struct, frozen=True):
    """One thing that is wrong with a value, in a sentence that helps to correct it."""

    path: Path
    message: str

    @property
    def where(self) -> str:
        """The path as people write it: `exit.critiques[2].line`."""
        steps = (f"[{step}]" if isinstance(step, int) else f".{printable(step)}" for step in self.path)
        return "".join(steps).removeprefix(".")

    def __str__(self) -> str:
        return f"{self.where}: {self.message}" if self.path else self.message


def expected(expr: TypeExpr) -> str:
    """What a value of this type must be."""
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


def kind(value: object) -> str:
    """What a value is, without looking into it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return quoted(value)
    kinds: dict[type, str] = {dict: "an object", list: "a list", int: "a number", float: "a number"}
    return kinds.get(type(value), f"a value of type {type(value).__name__}")


def quoted(text: str) -> str:
    """A foreign text inside a sentence."""
    return f"'{printable(text)}'"


def printable(text: str) -> str:
    """A foreign text, short and without anything a terminal would act on."""
    text = text if len(text) <= 60 else text[:59] + "…"
    return text if text.isprintable() else ascii(text)[1:-1]
