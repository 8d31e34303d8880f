"""The map from every element of the five published protocols to its place in this repository, and the page of it.

The map is `docs/coverage/*.yaml`; `tools/places.py` says how to read a place.
"""

from typing import Final

import msgspec

from tools.places import DOCS, links, read_yaml
from treadle.protocol.drawing.table import escape_markdown

FOLDER: Final = DOCS / "coverage"
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


def seeds() -> tuple[Seed, ...]:
    """The whole map."""
    return tuple(msgspec.convert(read_yaml(FOLDER / f"{name}.yaml"), Seed) for name in SEEDS)


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
    return f"| {name} | {links((*element.places, *element.meanwhile))} | {element.awaits} |"
