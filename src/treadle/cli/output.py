"""What commands print: for eyes on a terminal, plain for files and pipes, JSON for programs."""

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec
import typer

if TYPE_CHECKING:
    from rich.console import Console


def is_terminal() -> bool:
    """Whether a person looks at standard output."""
    return sys.stdout.isatty()


def is_plain() -> bool:
    """Whether the person wants no colours, and nothing bold either."""
    return bool(os.environ.get("NO_COLOR"))


def console() -> "Console":
    """The terminal, as it is and as the person wants it."""
    from rich.console import Console

    return Console(color_system=None if is_plain() else "auto", highlight=False)


def harmless(text: str) -> str:
    """Anybody's text on one line, with everything written out that would act on a terminal."""
    from treadle.prompts.foreign import visible

    return visible(text).replace("\n", " ⏎ ")


def say(text: str, *, nl: bool = True) -> None:
    """Lines of anybody's text, with everything written out that would act on a terminal."""
    from treadle.prompts.foreign import visible

    typer.echo(visible(text), nl=nl)


def print_json(value: object) -> None:
    """A value as indented JSON, one document."""
    _say_json(msgspec.json.format(msgspec.json.encode(value), indent=2))


def print_json_line(value: object) -> None:
    """A value as JSON on a line of its own, one of many."""
    _say_json(msgspec.json.encode(value))


def _say_json(made: bytes) -> None:
    """JSON that says the same without any character that would act on a terminal."""
    import json

    from treadle.prompts.foreign import HIDDEN

    typer.echo(HIDDEN.sub(lambda found: json.dumps(found[0])[1:-1], made.decode()))


def print_ascii_json(value: object) -> None:
    """The same for what may have halves of characters in it, as agents' answers may: written out, not sent."""
    import json

    typer.echo(json.dumps(msgspec.to_builtins(value), indent=2))


def print_table(columns: Sequence[str], lines: Sequence[Sequence[str]], title: str = "") -> None:
    """A table: drawn on a terminal that is wide enough for it, Markdown otherwise."""
    from treadle.cli.narrow import fits
    from treadle.prompts.foreign import visible

    lines = [[visible(cell) for cell in line] for line in lines]
    used = [place for place in range(len(columns)) if any(line[place] for line in lines)]
    if is_terminal() and fits(len(used), console().width):
        _draw_table([columns[place] for place in used], [[line[place] for place in used] for line in lines], title)
    else:
        from treadle.protocol.drawing.markdown import escape_markdown, markdown_table

        print_markdown((f"### {escape_markdown(title)}\n\n" if title else "") + markdown_table(columns, lines))


def _draw_table(columns: Sequence[str], lines: Sequence[Sequence[str]], title: str) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    drawn = Table(title=Text(title) if title else None, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        drawn.add_column(column, overflow="fold")
    for line in lines:
        drawn.add_row(*(Text(cell, style="bold" if place == 0 else "") for place, cell in enumerate(line)))
    console().print(drawn)


def print_markdown(text: str) -> None:
    """Markdown: rendered on a terminal, as it is otherwise; nothing in it acts on a terminal."""
    if not is_terminal():
        say(text)
        return
    from rich.markdown import Markdown

    from treadle.cli.narrow import narrowed
    from treadle.prompts.foreign import visible

    screen = console()
    screen.print(Markdown(narrowed(visible(text), screen.width)))
