"""`treadle status`: how all runs stand, or one of them, now or as it goes on."""

from typing import Annotated

import typer

app = typer.Typer(pretty_exceptions_enable=False)


@app.command("status")
def status(
    run: Annotated[str | None, typer.Argument(help="Which run; without one, all of them in a line each.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
    watch: Annotated[bool, typer.Option("--watch", help="Go on while somebody drives it.")] = False,
) -> None:
    """Shows how all runs stand, or one: where each instance is, what it waits for, what it asks, what it has used.

    --watch without a run follows the latest that goes on.

    Exit code 3: it was watched, and nobody drives it any more before its end.
    """
    from treadle.cli.listing import print_overview
    from treadle.cli.output import print_json
    from treadle.cli.reading import find_run, read_run, reading
    from treadle.cli.situation import print_status, situation
    from treadle.cli.watching import watch_run
    from treadle.config.project import open_project

    project = open_project()
    with reading(project) as store:
        meant = find_run(store, run, going=True)
        if run is None and not watch:
            print_overview(project, store, as_json=as_json)
            return
        if watch:
            raise typer.Exit(watch_run(project, store, meant, as_json=as_json))
        found = read_run(store, meant.id)
        if as_json:
            print_json(situation(project, store, found))
        else:
            print_status(project, store, found)
