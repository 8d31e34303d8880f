"""`treadle doctor`: whether everything that runs need is in place, and how to mend what is not."""

import asyncio
from typing import Annotated

import typer

from treadle.cli.output import print_json

app = typer.Typer(pretty_exceptions_enable=False)


@app.command("doctor")
def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
) -> None:
    """Looks at git, SQLite, test tools, agents, sandboxes and the project. Exit code 1: something needed is missing."""
    from treadle.cli.checkup import checkup, report
    from treadle.cli.documents import Health

    lines = asyncio.run(checkup())
    if as_json:
        print_json(Health(lines=tuple(lines)))
    else:
        typer.echo("\n".join(report(lines)))
    if any(line.is_fatal for line in lines):
        raise typer.Exit(1)
