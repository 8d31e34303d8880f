"""What code does, apart from what a rebase may change: imports, names, arguments and parameter lists."""

import re
from pathlib import PurePosixPath
from typing import Final, NamedTuple

from treadle.git.api.languages import is_understood

_IMPORT: Final = re.compile(r"\s*(import|from|use|using|#include|require|package|export \{)\b")
_NAME: Final = re.compile(r"[^\W\d]\w*")


class Shape(NamedTuple):
    """A part of a program."""

    logic: str
    """Equal for parts that do the same."""
    name: str
    line: int


def shapes(path: str, source: str) -> list[Shape]:
    """The parts of a program; a `SyntaxError` if its language is understood and it is none."""
    if PurePosixPath(path).suffix in (".py", ".pyi"):
        from treadle.evidence.python_logic import python_shapes  # noqa: PLC0415

        return python_shapes(source)
    if is_understood(path):
        from treadle.evidence.script_logic import script_shapes  # noqa: PLC0415

        return script_shapes(path, source)
    return line_shapes(source)


def line_shapes(source: str) -> list[Shape]:
    """The same for a language that is not understood: lines without names and without what stands in parentheses."""
    return [
        Shape(shape, "the line", number)
        for number, line in enumerate(source.splitlines(), 1)
        if not _IMPORT.match(line) and (shape := _line_shape(line))
    ]


def _line_shape(line: str) -> str:
    while (shorter := re.sub(r"\([^()]*\)", "⟮⟯", line)) != line:
        line = shorter
    return re.sub(r"\s+", "", _NAME.sub("_", line))
