"""The output of commands: text and tables on a terminal, plain for pipes, JSON for programs, and files.

A file is written whole or not at all, never over a user's own file, and never into a folder that does not exist.
"""

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
import typer

from treadle.errors import TreadleError

if TYPE_CHECKING:
    from rich.console import Console


def is_terminal() -> bool:
    """Whether a person looks at standard output."""
    return sys.stdout.isatty()


def console() -> "Console":
    """Open the terminal for rich output; with `NO_COLOR` nothing is bold either."""
    from rich.console import Console

    return Console(color_system=None if os.environ.get("NO_COLOR") else "auto", highlight=False)


def harmless(text: str) -> str:
    """Make a foreign text safe to print, on one line: control characters become visible."""
    from treadle.prompts.foreign import visible

    return visible(text).replace("\n", " ⏎ ")


def print_text(text: str, *, nl: bool = True) -> None:
    """Print a foreign text; control characters become visible."""
    from treadle.prompts.foreign import visible

    typer.echo(visible(text), nl=nl)


def print_json(value: object) -> None:
    """Print a value as one indented JSON document."""
    _echo_json(msgspec.json.format(msgspec.json.encode(value), indent=2))


def print_json_line(value: object) -> None:
    """Print a value as JSON on one line, one of many."""
    _echo_json(msgspec.json.encode(value))


def _echo_json(made: bytes) -> None:
    """Print JSON with control characters escaped: none of them reaches the terminal."""
    import json

    from treadle.prompts.foreign import HIDDEN

    typer.echo(HIDDEN.sub(lambda found: json.dumps(found[0])[1:-1], made.decode()))


def print_ascii_json(value: object) -> None:
    """Print a value as ASCII JSON: agents' answers may contain lone surrogates, which UTF-8 cannot encode."""
    import json

    typer.echo(json.dumps(msgspec.to_builtins(value), indent=2))


def print_table(columns: Sequence[str], lines: Sequence[Sequence[str]], title: str = "") -> None:
    """Print a table: drawn on a terminal that is wide enough for it, Markdown otherwise."""
    from treadle.prompts.foreign import visible

    lines = [[visible(cell) for cell in line] for line in lines]
    used = [place for place in range(len(columns)) if any(line[place] for line in lines)]
    if not (is_terminal() and is_wide_enough(len(used), console().width)):
        from treadle.protocol.drawing.table import escape_markdown, markdown_table

        print_markdown((f"### {escape_markdown(title)}\n\n" if title else "") + markdown_table(columns, lines))
        return
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    drawn = Table(title=Text(title) if title else None, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    for place in used:
        drawn.add_column(columns[place], overflow="fold")
    for line in lines:
        drawn.add_row(*(Text(line[place], style="bold" if place == used[0] else "") for place in used))
    console().print(drawn)


def print_markdown(text: str) -> None:
    """Print Markdown: rendered on a terminal, as it is otherwise; control characters become visible."""
    if not is_terminal():
        print_text(text)
        return
    from rich.markdown import Markdown

    from treadle.prompts.foreign import visible

    screen = console()
    screen.print(Markdown(narrow_tables(visible(text), screen.width)))


# Markdown for a narrow terminal: tables become lists, because their columns would be one letter wide.

_CELLS: Final = re.compile(r"(?<!\\)\|")
_LEAST: Final = 9
"""How wide a column must be at least to be read."""


def is_wide_enough(columns: int, width: int) -> bool:
    """Whether a table of so many columns can be read at this width."""
    return columns * _LEAST <= width


def narrow_tables(text: str, width: int) -> str:
    """Turn every table that is too wide into a list: an entry for each row, a line for each cell."""
    lines: list[str] = []
    for is_table, block in groupby(text.splitlines(), key=lambda line: line.startswith("|")):
        rows = list(block)
        lines += _as_list(rows) if is_table and not is_wide_enough(len(_cells(rows[0])), width) else rows
    return "\n".join(lines) + "\n"


def _as_list(rows: list[str]) -> Iterator[str]:
    columns, _, *body = [_cells(row) for row in rows]
    name = ""
    for first, *rest in body:
        name = first or name
        yield f"- **{name}**"
        yield from (f"    - {column}: {cell}" for column, cell in zip(columns[1:], rest, strict=False) if cell)


def _cells(row: str) -> list[str]:
    return [cell.strip() for cell in _CELLS.split(row)[1:-1]]


# Files: written whole or not at all, never over a user's own file, never into a folder that does not exist.

STDOUT: Final = ("-", "/dev/stdout")
"""The names under which a command writes to standard output."""
_RECOGNISED: Final = 40
"""How many characters of a name are enough to know it by."""


def write_new(path: Path, text: str) -> None:
    """Write a file that must not exist yet."""
    if os.path.lexists(path):
        raise TreadleError(f"{path} exists already; give another name, or remove it first", code="file.exists")
    with _reported(path):
        _write(path, text)


def write_again(path: Path, text: str, is_ours: Callable[[str], bool]) -> None:
    """Write a file, or replace one that an earlier command wrote; refuse to overwrite any other."""
    with _reported(path):
        if path.is_file() and path.stat().st_size:
            try:
                with path.open(encoding="utf-8", errors="replace") as file:
                    beginning = file.read(1000)
            except OSError as error:
                raise TreadleError(f"{path} cannot be read: {error.strerror}", code="file.unreadable") from None
            if not is_ours(beginning):
                text = f"{path} is something else; give another name, or remove it first"
                raise TreadleError(text, code="file.exists")
        _write(path.resolve() if path.is_symlink() else path, text)


def write_folder(folder: Path, texts: Mapping[str, str]) -> None:
    """Write a folder that must not exist yet, or must be empty."""
    with _reported(folder):
        problem = ""
        if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
            problem = "is no folder"
        elif folder.is_dir() and any(folder.iterdir()):
            problem = "is not empty"
        if problem:
            text = f"{folder} exists already and {problem}; give another name, or remove it first"
            raise TreadleError(text, code="file.exists")
        unfinished = _beside(folder)
        unfinished.mkdir()
        try:
            for name, text in texts.items():
                (unfinished / name).parent.mkdir(parents=True, exist_ok=True)
                (unfinished / name).write_text(text, encoding="utf-8")
            unfinished.replace(folder)
        except BaseException:
            shutil.rmtree(unfinished, ignore_errors=True)
            raise


def _write(path: Path, text: str) -> None:
    if path.is_dir():
        raise TreadleError(f"{path} is a folder; give the name of a file", code="file.exists")
    if path.exists() and not path.is_file():
        # Write to a device or a pipe directly; a pipe without a reader fails at once instead of blocking.
        file = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
        os.set_blocking(file, True)
        with os.fdopen(file, "w", encoding="utf-8") as opened:
            opened.write(text)
        return
    unfinished = _beside(path)
    try:
        unfinished.write_text(text, encoding="utf-8")
        unfinished.replace(path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def _beside(path: Path) -> Path:
    """Return a temporary name in the same folder, for an atomic rename; it is shortened to stay a valid file name."""
    return path.with_name(f".{path.name[:_RECOGNISED]}.{os.getpid()}")


@contextmanager
def _reported(path: Path) -> Iterator[None]:
    try:
        if not path.absolute().parent.is_dir():
            raise TreadleError(
                f"{path} cannot be written: there is no folder {path.parent}; create it first", code="file.unwritable"
            )
        yield
    except OSError as error:
        raise TreadleError(f"{path} cannot be written: {error.strerror}", code="file.unwritable") from None
