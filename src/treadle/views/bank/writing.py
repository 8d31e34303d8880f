"""How a document of the bank is written: numbered sections, and what others have said kept apart from it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from treadle.prompts.foreign import cut, inline, visible
from treadle.protocol.drawing.markdown import markdown_table
from treadle.protocol.items import Json
from treadle.protocol.memory_bank import SECTIONS
from treadle.views.moment import moment, plain

NONE: Final = "none"
_LONGEST: Final = 4000
_LINE: Final = 300


def document(view: str, title: str, bodies: Sequence[str]) -> str:
    """A document with all its sections."""
    names = SECTIONS[view]
    parts = [
        f"## R{n} {name}\n\n{body.strip() or NONE}" for n, (name, body) in enumerate(zip(names, bodies, strict=True), 1)
    ]
    return "\n\n".join([f"# {title}", *parts]) + "\n"


def fields(values: Mapping[str, Json]) -> str:
    """Names and values, a line each."""
    return "\n".join(f"- {name}: {value(it)}" for name, it in values.items())


def value(it: Json) -> str:
    """A value as the published protocols write it."""
    if it is None or it in ("", []):
        return "null"
    return line("; ".join(map(str, it)) if isinstance(it, list) else it)


def line(it: Json) -> str:
    """Anybody's words on one line."""
    return inline(it, _LINE)


def quote(text: str) -> str:
    """Anybody's words, each of their lines behind a mark."""
    return (
        "\n".join(f"> {one}".rstrip() for one in visible(cut(text.strip(), _LONGEST)).split("\n"))
        if text.strip()
        else ""
    )


def table(columns: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A table; nothing if it has no lines."""
    listed = [tuple(line(cell) for cell in each) for each in lines]
    return markdown_table(columns, listed) if listed else ""


def listing(lines: Iterable[str]) -> str:
    """A list."""
    return "\n".join(f"- {one}" for one in lines)


def when(ms: int) -> str:
    """A moment as people read it."""
    return plain(moment(ms))
