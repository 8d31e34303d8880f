"""Reads the evidence of a run, and prints or writes it."""

import asyncio
import textwrap
from collections.abc import Iterator
from pathlib import Path

import typer

from treadle.cli.files import STDOUT, write_again
from treadle.cli.output import console, harmless, is_terminal
from treadle.cli.reading import find_run, reading
from treadle.config.project import open_project
from treadle.engines.evidence import stored_evidence
from treadle.errors import TreadleError
from treadle.views.evidence import Evidence
from treadle.views.evidence_text import Row, rows

_LEAST = 20
"""How wide a text is at least, however narrow the terminal."""


def read_evidence(word: str | None) -> Evidence:
    """The evidence of the run that is meant; the latest if none is named."""
    project = open_project()
    with reading(project) as store:
        return asyncio.run(stored_evidence(project, store, find_run(store, word).id))


def manifest_of(found: Evidence) -> dict[str, object]:
    """Which test stands for which criterion, as in `test_manifest.json`; a criterion of a part names its spec."""
    entries: dict[str, list[str]] = {}
    for one in found.criteria:
        id_ = one.id if one.spec in ("", found.spec) else f"{one.spec}/{one.id}"
        for test in one.tests:
            entries.setdefault(test.id, []).append(f"{id_}: {one.text}" if one.text else id_)
    listed = {test: stated[0] if len(stated) == 1 else stated for test, stated in entries.items()}
    return {"spec_id": found.spec, "acceptance_criteria_map": listed}


def print_evidence(found: Evidence) -> None:
    """As lines: as wide as the terminal, one each elsewhere."""
    width = console().width if is_terminal() else 0
    for row in rows(found):
        for line in wrapped(row, width):
            typer.echo(line)


def wrapped(row: Row, width: int) -> Iterator[str]:
    """A row in lines of a width; 0: on one."""
    text = harmless(row.text)
    if not width or not text:
        yield " " * row.indent + text if text else ""
        return
    room = max(width, _LEAST)
    hang = row.hang if room - row.hang >= _LEAST // 2 else 0
    indent = row.indent if room - row.indent >= _LEAST // 2 else 0
    yield from textwrap.wrap(
        text,
        room,
        initial_indent=" " * indent,
        subsequent_indent=" " * hang,
        break_long_words=False,  # a path that is to be copied stays one word
        break_on_hyphens=False,
    )


def write_page(found: Evidence, file: Path, *, force: bool) -> None:
    """The page as a file; in place of an earlier one, and of nothing else unless that is wanted."""
    from treadle.views.evidence_html import MADE, html

    page = html(found)
    if str(file) in STDOUT:
        typer.echo(page, nl=False)
        return
    try:
        write_again(file, page, lambda text: force or MADE in text)
    except TreadleError as error:
        hint = "; --force writes over it" if "is something else" in str(error) else ""
        raise TreadleError(f"{error}{hint}", code=error.code) from None
    typer.echo(harmless(f"{file} is written: open it in a browser"))
