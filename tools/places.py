"""Where something that the documentation speaks of lives in this repository.

A place is a path, with what is meant inside the file:

    src/treadle/protocols/v3/protocol.yaml#graphs.node.steps.impl.routes.Stuck    a path in the YAML tree
    src/treadle/protocols/v3/protocol.yaml#graphs.node.steps.impl.gates.TestsPassed=green    and a word that is there
    src/treadle/protocols/v3/templates/review_impl.jinja#60 seconds    a text in any other file
    src/treadle/kernel/routing.py::enter    a function, a class, a constant, or Class.member
    tests/kernel/test_trees.py::test_the_worked_trace

What has no place awaits a room of the house, or a part of one that is there already: `store`, `views/state`.
"""

import re
from collections.abc import Iterable
from itertools import starmap
from pathlib import Path
from typing import Any, Final, Protocol

from ruamel.yaml import YAML

from treadle.protocol.drawing.table import escape_markdown

ROOT: Final = Path(__file__).parents[1]
DOCS: Final = ROOT / "docs"


class Placed(Protocol):
    """Something that lives somewhere, or awaits a room."""

    @property
    def places(self) -> tuple[str, ...]: ...
    @property
    def awaits(self) -> str: ...
    @property
    def meanwhile(self) -> tuple[str, ...]:
        """What is there already of something that awaits a room."""


def read_yaml(path: Path) -> Any:
    return YAML(typ="safe").load(path.read_text(encoding="utf-8"))


def split_place(place: str) -> tuple[str, str, str]:
    """The file, `#` or `::` or nothing, and what is meant inside the file."""
    file = re.split("#|::", place, maxsplit=1)[0]
    rest = place[len(file) :]
    mark = "::" if rest.startswith("::") else rest[:1]
    return file, mark, rest[len(mark) :]


def links(places: Iterable[str]) -> str:
    """The places as a cell of a table in a page below `docs/`, one line per file."""
    inside: dict[str, list[str]] = {}
    for place in places:
        file, _, part = split_place(place)
        inside.setdefault(file, []).append(part)
    return "<br>".join(starmap(_link, inside.items()))


def _link(file: str, parts: list[str]) -> str:
    shown = ", ".join(escape_markdown(part) for part in parts if part)
    link = f"[{file.removeprefix('src/treadle/')}](../{file})"
    return f"{link}: {shown}" if shown else link
