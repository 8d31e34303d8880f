"""`treadle evidence`: what is proved of a run, criterion by criterion."""

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(pretty_exceptions_enable=False)


@app.command("evidence")
def evidence(
    run: Annotated[str | None, typer.Argument(help="Which run; the latest if none is named.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
    html: Annotated[Path | None, typer.Option("--html", help="Write a page for a browser, in one file.")] = None,
    manifest: Annotated[
        bool, typer.Option("--manifest", help="Print which test stands for which criterion, as test_manifest.json.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Write it even over a file that is something else.")] = False,
) -> None:
    """Shows what is proved of a run: for each criterion its tests, where they failed and passed, verdict and merge."""
    from treadle.cli.output import print_ascii_json
    from treadle.cli.proving import manifest_of, print_evidence, read_evidence, write_page
    from treadle.errors import TreadleError

    if as_json + bool(html) + manifest > 1:
        raise TreadleError(
            "--json, --html and --manifest are different things; ask for one of them at a time", code="usage.conflict"
        )
    if force and not html:
        raise TreadleError("--force is about the file of --html; name one", code="usage.conflict")
    found = read_evidence(run)
    if html:
        write_page(found, html, force=force)
    elif manifest:
        print_ascii_json(manifest_of(found))
    elif as_json:
        print_ascii_json(found)
    else:
        print_evidence(found)
