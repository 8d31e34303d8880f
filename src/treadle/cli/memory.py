"""`treadle memory`: what agents remember of a project."""

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False)
_OF = Annotated[str, typer.Option("--session", "-s", help="A dialogue of a run, instead of the project's own graph.")]


@app.callback()
def memory() -> None:
    """What agents remember of a project: its knowledge graph, and the dialogues of runs."""


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
