"""Planned signatures, and whether code has exactly these."""

import re
from typing import Final

import msgspec

from treadle.git.api.languages import is_understood

_OWNER: Final = re.compile(r"((?:async\s+)?def\s+)((?:\w+\.)+)(\w+)")


class Planned(msgspec.Struct, frozen=True):
    """A signature that a plan demands."""

    text: str
    name: str
    """With the class before it; empty if the text is not Python."""
    shape: str
    """Parameters and result, in a form that can be compared."""


def planned(text: str) -> list[Planned]:
    """The signatures in a text: `def f(x: int) -> str`, `def Class.method(self)`, or a class with methods."""
    blocks = _blocks(text)
    return [one for block in blocks for one in _parsed(block)]


def _blocks(text: str) -> list[str]:
    """One block for each line at the left edge that starts one, with what is indented below it."""
    blocks: list[list[str]] = []
    for line in text.strip("\n").splitlines():
        if blocks and (not line.strip() or line[:1].isspace() or blocks[-1][-1].startswith("@")):
            blocks[-1].append(line)
        elif line.strip():
            blocks.append([line])
    return ["\n".join(block).rstrip() for block in blocks]


def _parsed(block: str) -> list[Planned]:
    text = block.strip().strip("`").strip()
    owner = _OWNER.match(text)
    plain = _OWNER.sub(r"\1\3", text, count=1)
    for source in (plain, f"{plain.rstrip(':')}: ...", f"{plain}\n    ..."):
        try:
            written = shapes(source)
        except (SyntaxError, ValueError):
            continue
        found = [Planned(text, (owner[2] if owner else "") + name, shape) for name, shape in written.items()]
        if found:
            return found
    return [Planned(text, "", _squeezed(text))] if text else []


def shapes(source: str) -> dict[str, str]:
    """Every function, method and class of a program, with its parameters and result; of a class only that it is one."""
    from treadle.git.api.python import definitions  # noqa: PLC0415 (its library is loaded when it is needed)

    found = [one for one in definitions(source) if not one.is_value]
    return {one.name: "class" if one.shape.startswith("class ") else one.shape for one in found}


def is_written(one: Planned, path: str, source: str) -> bool:
    """Whether a file holds a signature, whatever the spaces are; in a comment it counts only if nobody can tell."""
    return one.shape in _squeezed(_code(path, source))


def _code(path: str, source: str) -> str:
    if not is_understood(path) or path.endswith((".py", ".pyi")):
        return source
    from treadle.evidence.script_logic import code_only  # noqa: PLC0415 (its library is loaded when it is needed)

    try:
        return code_only(path, source)
    except (SyntaxError, ValueError, RecursionError):
        return source


def _squeezed(text: str) -> str:
    return re.sub(r",(?=[)\]}>])", "", re.sub(r"[\s;]+", "", text))
