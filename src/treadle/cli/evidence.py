"""`treadle evidence`: the proof of a run, criterion by criterion."""

import asyncio
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from treadle.cli.options import JsonOption, LatestRunArgument
from treadle.cli.output import STDOUT, console, harmless, is_terminal, print_ascii_json, write_again
from treadle.cli.run_reader import find_run, open_for_reading
from treadle.config.project import open_project
from treadle.engines.evidence import stored_evidence
from treadle.errors import TreadleError
from treadle.views.evidence import Evidence
from treadle.views.evidence_text import TextRow, rows


def evidence(
    run: LatestRunArgument = None,
    as_json: JsonOption = False,
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="Write a self-contained page to this file; - prints it."),
    ] = None,
    manifest: Annotated[
        bool, typer.Option("--manifest", help="Print the tests of each criterion, in the format of test_manifest.json.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Let --html replace any file, not only an earlier page.")
    ] = False,
) -> None:
    """Show the proof for each criterion: its tests, their failing and passing runs, review and merge."""
    if as_json + bool(html) + manifest > 1:
        raise TreadleError("--json, --html and --manifest exclude each other; give one", code="usage.conflict")
    if force and not html:
        raise TreadleError("--force needs --html FILE", code="usage.conflict")
    project = open_project()
    with open_for_reading(project) as store:
        found = asyncio.run(stored_evidence(project, store, find_run(store, run).id))
    if html:
        write_page(found, html, force=force)
    elif manifest:
        print_ascii_json(test_manifest(found))
    elif as_json:
        print_ascii_json(found)
    else:
        width = console().width if is_terminal() else 0
        for row in rows(found):
            for line in wrap_row(row, width):
                typer.echo(line)


_LEAST = 20
"""How wide a text is at least, however narrow the terminal."""


def test_manifest(found: Evidence) -> dict[str, object]:
    """Map each test to its criteria, as in `test_manifest.json`; a criterion of a part names its spec."""
    entries: dict[str, list[str]] = {}
    for one in found.criteria:
        id_ = one.id if one.spec in ("", found.spec) else f"{one.spec}/{one.id}"
        for test in one.tests:
            entries.setdefault(test.id, []).append(f"{id_}: {one.text}" if one.text else id_)
    listed = {test: stated[0] if len(stated) == 1 else stated for test, stated in entries.items()}
    return {"spec_id": found.spec, "acceptance_criteria_map": listed}


def wrap_row(row: TextRow, width: int) -> Iterator[str]:
    """Wrap a row to a width; 0 means one line."""
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
    """Write the page; replace an earlier page, but any other file only with `force`."""
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
