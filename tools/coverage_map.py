"""The map from every element of the five published protocols to its place in this repository, and the page of it.

The map is `docs/coverage/*.yaml`. A place is a path, with what is meant inside the file:

    src/treadle/protocols/v3/protocol.yaml#graphs.node.steps.impl.routes.Stuck    a path in the YAML tree
    src/treadle/protocols/v3/protocol.yaml#graphs.node.steps.impl.gates.TestsPassed=green    and a word that is there
    src/treadle/protocols/v3/templates/review_impl.jinja#60 seconds    a text in any other file
    src/treadle/kernel/routing.py::enter    a function, a class, a constant, or Class.member
    tests/kernel/test_trees.py::test_the_worked_trace

An element without a place awaits a room of the house, or a part of one that is there already: `store`, `views/state`.
"""

import re
from itertools import starmap
from pathlib import Path
from typing import Any, Final

import msgspec
from ruamel.yaml import YAML

from treadle.protocol.markdown import escape_markdown

ROOT: Final = Path(__file__).parents[1]
FOLDER: Final = ROOT / "docs" / "coverage"
SEEDS: Final = ("dptr", "riper", "v3-spec", "v3-fractal", "agentic-coding-protocol")


class Element(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Something that a published protocol names."""

    element: str
    places: tuple[str, ...] = ()
    awaits: str = ""
    meanwhile: tuple[str, ...] = ()
    """What is there already of an element that awaits a room."""
    note: str = ""


class Section(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    section: str
    elements: tuple[Element, ...]


class Seed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A published protocol, element by element."""

    seed: str
    title: str
    protocol: str
    """The name it has here."""
    sections: tuple[Section, ...]

    @property
    def elements(self) -> tuple[Element, ...]:
        return tuple(element for section in self.sections for element in section.elements)


def read_yaml(text: str) -> Any:
    return YAML(typ="safe").load(text)


def seeds() -> tuple[Seed, ...]:
    """The whole map."""
    files = [FOLDER / f"{name}.yaml" for name in SEEDS]
    return tuple(msgspec.convert(read_yaml(file.read_text(encoding="utf-8")), Seed) for file in files)


def coverage_page() -> str:
    """The map as tables."""
    found = seeds()
    lines = [
        "# Coverage",
        "",
        "Where every element that the five published protocols name lives here. Made from `docs/coverage/*.yaml`;",
        "`tests/test_coverage_map.py` proves that every place exists. An element that awaits a room of the house, or a",
        "part of one, has no place before that is built; what is there of it meanwhile stands beside it.",
        "",
        "| published protocol | here | elements | have a place | await a room |",
        "|---|---|---|---|---|",
        *(_counted(seed) for seed in found),
    ]
    for seed in found:
        lines += ["", f"## {seed.title}"]
        for section in seed.sections:
            lines += ["", f"### {section.section}", "", "| element | place | awaits |", "|---|---|---|"]
            lines += [_row(element) for element in section.elements]
    return "\n".join([*lines, ""])


def _counted(seed: Seed) -> str:
    total, awaited = len(seed.elements), sum(bool(element.awaits) for element in seed.elements)
    here = f"[{seed.protocol}](protocols/{seed.protocol}.md)"
    return f"| {seed.title} | {here} | {total} | {total - awaited} | {awaited} |"


def _row(element: Element) -> str:
    name = escape_markdown(element.element) + (f"<br>{escape_markdown(element.note)}" if element.note else "")
    inside: dict[str, list[str]] = {}
    for place in (*element.places, *element.meanwhile):
        file, _, part = split_place(place)
        inside.setdefault(file, []).append(part)
    return f"| {name} | {'<br>'.join(starmap(_link, inside.items()))} | {element.awaits} |"


def _link(file: str, parts: list[str]) -> str:
    shown = ", ".join(escape_markdown(part) for part in parts if part)
    link = f"[{file.removeprefix('src/treadle/')}](../{file})"
    return f"{link}: {shown}" if shown else link


def split_place(place: str) -> tuple[str, str, str]:
    """The file, `#` or `::` or nothing, and what is meant inside the file."""
    file = re.split("#|::", place, maxsplit=1)[0]
    rest = place[len(file) :]
    mark = "::" if rest.startswith("::") else rest[:1]
    return file, mark, rest[len(mark) :]
