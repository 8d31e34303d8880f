"""`treadle status`: the state of all runs, or of one of them, once or continuously."""

from typing import Annotated

import typer

from treadle.cli.options import JsonOption


def status(
    run: Annotated[
        str | None, typer.Argument(help="The run to show; by default a line for each unfinished and recent run.")
    ] = None,
    as_json: JsonOption = False,
    watch: Annotated[bool, typer.Option("--watch", help="Keep updating while a process drives the run.")] = False,
) -> None:
    """Show the state of all runs, or of one run: steps, attempts, open questions, cost.

    Without RUN, --watch follows the latest unfinished run.

    Exit code 3: with --watch, the process that drove the run stopped before the run ended.
    """
    from treadle.cli.log import watch_run
    from treadle.cli.output import print_json
    from treadle.cli.run_reader import find_run, open_for_reading
    from treadle.cli.run_status import print_status
    from treadle.cli.runs import print_no_runs, print_overview
    from treadle.config.project import open_project
    from treadle.engines.status import read_status

    project = open_project()
    if run is None and not watch and not project.store.exists():
        print_no_runs(as_json=as_json)
        return
    with open_for_reading(project) as store:
        if run is None and not watch:
            print_overview(project, store, as_json=as_json)
            return
        meant = find_run(store, run, going=True)
        if watch:
            raise typer.Exit(watch_run(project, store, meant, as_json=as_json))
        now = read_status(project, store, meant.id)
        if as_json:
            print_json(now.document)
        else:
            print_status(now)
