"""`treadle log`: everything that happened in a run."""

from typing import Annotated

import typer

app = typer.Typer(pretty_exceptions_enable=False)


@app.command("log")
def log(
    run: Annotated[str | None, typer.Argument(help="Which run; the latest if none is named.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print an event as JSON on each line, for programs.")] = False,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on while somebody drives the run.")] = False,
) -> None:
    """Prints everything that happened in a run, one event on each line, with what followed from it.

    Exit code 3: it was followed, and nobody drives the run any more before its end.
    """
    from treadle.cli.reading import find_run, reading
    from treadle.cli.watching import follow_log, print_log
    from treadle.config.project import open_project

    project = open_project()
    with reading(project) as store:
        found = find_run(store, run)
        if follow:
            raise typer.Exit(follow_log(project, store, found, as_json=as_json))
        print_log(store, found, as_json=as_json)
