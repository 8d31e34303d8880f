"""What commands print: for eyes on a terminal, plain for files and pipes, JSON for programs."""

import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec
import typer

from treadle.errors import TreadleError


def is_terminal() -> bool:
    """Whether a person looks at standard output."""
    return sys.stdout.isatty()


def print_json(value: object) -> None:
    """A value as indented JSON, one document."""
    typer.echo(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())


def print_table(columns: Sequence[str], lines: Sequence[Sequence[str]], title: str = "") -> None:
    """A table: drawn on a terminal, Markdown otherwise."""
    if not is_terminal():
        from treadle.protocol.drawing.markdown import escape_markdown, markdown_table

        typer.echo((f"### {escape_markdown(title)}\n\n" if title else "") + markdown_table(columns, lines))
        return
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    used = [place for place in range(len(columns)) if any(line[place] for line in lines)]
    drawn = Table(title=Text(title) if title else None, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    for place in used:
        drawn.add_column(columns[place], overflow="fold")
    for line in lines:
        drawn.add_row(*(Text(line[place], style="bold" if place == 0 else "") for place in used))
    Console().print(drawn)


def print_markdown(text: str) -> None:
    """Markdown: rendered on a terminal, as it is otherwise."""
    if not is_terminal():
        typer.echo(text)
        return
    from rich.console import Console
    from rich.markdown import Markdown

    Console().print(Markdown(text))


def write_new(path: Path, text: str) -> None:
    """Writes a file that must not be there yet."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise TreadleError(f"{path} is already there; give another name, or remove it first") from None
    except OSError as error:
        raise TreadleError(f"{path} cannot be written: {error.strerror}") from None


def write(path: Path, text: str) -> None:
    """Writes a file, in place of what was there."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise TreadleError(f"{path} cannot be written: {error.strerror}") from None
