"""`treadle memory`: what agents remember of a project."""

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False)
_RUN = Annotated[str | None, typer.Option("--run", help="Which run; the latest with a bank if none is named.")]
_JSON = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
_OF = Annotated[str, typer.Option("--session", "-s", help="A dialogue of a run, instead of the project's own graph.")]


@app.callback()
def memory() -> None:
    """What agents remember of a project: its knowledge graph, the dialogues of runs, and their memory banks."""


@app.command("import")
def import_(
    file: Annotated[Path, typer.Argument(help="A file of the public knowledge-graph memory server: JSON Lines.")],
) -> None:
    """Takes in what a file has and the project's graph does not: all of it, or nothing if a line is wrong."""
    from treadle.cli.remembering import take_in

    typer.echo(take_in(file))


@app.command()
def export(
    file: Annotated[Path, typer.Argument(help="The file to write; -: standard output.")] = Path("-"),
    session: _OF = "",
) -> None:
    """Writes the project's graph, or a dialogue, as JSON Lines; never over a file that is there."""
    from treadle.cli.files import STDOUT, write_new
    from treadle.cli.remembering import exported

    text = exported(session)
    if str(file) in STDOUT:
        typer.echo(text, nl=False)
    else:
        write_new(file, text)


@app.command()
def sessions() -> None:
    """Lists the dialogues of runs, the latest last."""
    from treadle.cli.output import say
    from treadle.cli.remembering import sessions as listed

    for line in listed():
        say(line)


@app.command()
def show(
    what: Annotated[str, typer.Argument(help="A document: σ₄, s4, context; with a section: σ₄:R1, σ₄:State.")] = "",
    run: _RUN = None,
    as_json: _JSON = False,
) -> None:
    """Shows a document of a run's memory bank as it stands, or lists them all."""
    from treadle.cli.banking import listed, read, shown
    from treadle.cli.output import print_json, print_table, say

    found = shown(read(run), what)
    if as_json:
        print_json(found)
    elif what:
        for document in found.documents:
            say(document.text or f"{document.path} is not written yet")
    else:
        print_table(("", "document", "path", "writer", "is"), listed(found), f"Memory bank of {found.run}")


@app.command()
def check(run: _RUN = None, as_json: _JSON = False) -> None:
    """Checks a run's memory bank: cross-references that lead nowhere, files in the checkout that somebody changed.

    Exit code 1: something is wrong.
    """
    from treadle.cli.bank_checking import checked, examination
    from treadle.cli.banking import read
    from treadle.cli.output import print_json, say

    found = read(run)
    findings = checked(found)
    if as_json:
        print_json(examination(found))
    else:
        for finding in findings:
            say(str(finding))
        if not findings:
            say(f"{found.run.id}: nothing is wrong")
    if any(finding.level == "error" for finding in findings):
        raise typer.Exit(1)
