"""Where the five published protocols contradict each other or themselves, what is done about it, and the page of it.

The decisions are `docs/contradictions/*.yaml`; `tools/places.py` says how to read a place.
"""

from typing import Final

import msgspec

from tools.places import DOCS, links, read_yaml

FOLDER: Final = DOCS / "contradictions"
CHAPTERS: Final = ("between", "dptr", "riper", "v3-spec", "v3-fractal", "agentic-coding-protocol")
INTRO: Final = """\
# Contradictions

Five published protocols were made into data here. Where two of them contradict each other, where one contradicts
itself, and where one is silent about a case that will happen, somebody had to decide. Each decision has a number, which
comments, templates and tests cite: X between protocols, then a letter for each protocol. What protocols do differently
on purpose stays different: it is a row in each of them ([decision 5](adr/0005-five-protocols-one-kernel.md)).

Made from `docs/contradictions/*.yaml`. `tests/test_contradictions.py` proves that every number that is cited anywhere
is defined here, and that every place exists. A decision that awaits a room of the house, or a part of one, is carried
out when that is built; what is there of it meanwhile stands beside it.

The reducer's own rules have numbers with R as well. That is another list, in
[kernel/reduce.py](../src/treadle/kernel/reduce.py); only the kernel, the simulator and their tests mean it.
"""


class Decision(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One contradiction or gap: what was published, and what is done."""

    number: str
    published: str
    here: str
    places: tuple[str, ...] = ()
    awaits: str = ""
    meanwhile: tuple[str, ...] = ()


class Chapter(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The decisions whose numbers begin with one letter."""

    letter: str
    title: str
    about: str
    decisions: tuple[Decision, ...]


def chapters() -> tuple[Chapter, ...]:
    """All decisions."""
    return tuple(msgspec.convert(read_yaml(FOLDER / f"{name}.yaml"), Chapter) for name in CHAPTERS)


def contradictions_page() -> str:
    """The decisions as tables."""
    found = chapters()
    lines = [INTRO, *(f"- [{it.letter}: {it.title}](#{_anchor(it.title)}), {len(it.decisions)}" for it in found)]
    for chapter in found:
        lines += ["", f"## {chapter.title}", "", chapter.about.strip(), ""]
        lines += ["| | published | here | where |", "|---|---|---|---|", *(_row(it) for it in chapter.decisions)]
    return "\n".join([*lines, ""])


def _anchor(title: str) -> str:
    return title.lower().replace(" ", "-")


def _row(it: Decision) -> str:
    awaits = f"awaits `{it.awaits}`" if it.awaits else ""
    where = "<br>".join(filter(None, (links((*it.places, *it.meanwhile)), awaits)))
    return f'| <a id="{it.number}"></a>{it.number} | {_cell(it.published)} | {_cell(it.here)} | {where} |'


def _cell(prose: str) -> str:
    """Prose, with its own marks, on the one line that a cell of a table has."""
    return " ".join(prose.split()).replace("|", "\\|")
