"""`treadle emit`: how a program that treadle has started says how its step ended."""

from typing import Annotated

import typer

app = typer.Typer(pretty_exceptions_enable=False)


@app.command()
def emit(
    file: Annotated[str | None, typer.Argument(help="A JSON file with the answer; - for standard input.")] = None,
    type_: Annotated[str | None, typer.Option("--type", metavar="EXIT", help="The exit, instead of a file.")] = None,
    field: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="A field of that exit; lists, numbers and objects as JSON, @FILE for the text of a file.",
        ),
    ] = None,
) -> None:
    """Hands in how a step ended, from inside of it. Exit code 0: accepted; 2: what is wrong with it."""
    import os

    from treadle.cli.handing_in import answer, refuse
    from treadle.results.assignment import ACCEPTED, assignment
    from treadle.results.faulty import Faulty

    task = assignment(os.environ)
    given = answer(task.ways, file, type_, field or [])
    found = given if isinstance(given, Faulty) else task.hand_in(given, "emit")
    if isinstance(found, Faulty):
        refuse(found)
    typer.echo(f"{found.key}: {ACCEPTED}")
