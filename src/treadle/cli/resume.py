"""`treadle resume`: go on where a run was."""

from typing import Annotated

import typer

app = typer.Typer(pretty_exceptions_enable=False)


@app.command()
def resume(
    run: Annotated[str | None, typer.Argument(help="By default every unfinished run that nobody drives.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON at the end, for programs.")] = False,
) -> None:
    """Takes a pause back and drives runs on, after anything that has stopped them. Exit codes as those of `run`."""
    from treadle.cli.driving import drive
    from treadle.cli.moves import resumable, unpaused
    from treadle.config.project import open_project
    from treadle.engines.opening import opened_store

    project = open_project()
    with opened_store(project) as store:
        if run and unpaused(project, store, run, as_json=as_json):
            return
        raise typer.Exit(drive(project, store, resumable(project, store, run), as_json=as_json))
