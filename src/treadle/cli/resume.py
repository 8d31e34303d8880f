"""`treadle resume`: go on where a run was."""

from typing import Annotated

import typer

app = typer.Typer(pretty_exceptions_enable=False)


@app.command()
def resume(
    run: Annotated[
        str | None, typer.Argument(help="The run; by default every unfinished run without a driver.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON at the end, for programs.")] = False,
) -> None:
    """Resume paused or interrupted runs. Exits like `treadle run`."""
    from treadle.cli.moves import continue_runs, prepare_resume, resume_elsewhere
    from treadle.config.project import open_project
    from treadle.engines.run_settings import opened_store

    project = open_project()
    with opened_store(project) as store:
        if run and resume_elsewhere(project, store, run, as_json=as_json):
            return
        raise typer.Exit(continue_runs(project, store, prepare_resume(project, store, run), as_json=as_json))
