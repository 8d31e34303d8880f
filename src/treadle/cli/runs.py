"""`treadle runs`: the runs of the project."""

from typing import Annotated

import typer

app = typer.Typer(pretty_exceptions_enable=False)


@app.command("runs")
def runs(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
) -> None:
    """Lists the runs of the project, the latest first."""
    from treadle.cli.listing import list_runs, table
    from treadle.cli.output import print_json, print_table
    from treadle.cli.reading import NO_RUNS

    found = list_runs()
    if as_json:
        print_json(found)
    elif found.runs:
        print_table(("Run", "Protocol", "Status", "Events", "Changed", "Driver"), table(found))
    else:
        typer.echo(NO_RUNS)
