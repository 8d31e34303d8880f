"""`treadle status`: how a run stands, now or as it goes on."""

from typing import Annotated

import typer

app = typer.Typer(pretty_exceptions_enable=False)


@app.command("status")
def status(
    run: Annotated[
        str | None, typer.Argument(help="Which run; the latest that goes on, else the latest, if none is named.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
    watch: Annotated[bool, typer.Option("--watch", help="Go on while somebody drives it.")] = False,
) -> None:
    """Shows how a run stands: where each instance is, what it waits for, what it asks, what it has used.

    Exit code 3: it was watched, and nobody drives it any more before its end.
    """
    from treadle.cli.output import print_json
    from treadle.cli.reading import find_run, read_run, reading
    from treadle.cli.situation import print_status, situation
    from treadle.cli.watching import watch_run
    from treadle.config.project import open_project

    project = open_project()
    with reading(project) as store:
        meant = find_run(store, run, going=True)
        if watch:
            raise typer.Exit(watch_run(project, store, meant, as_json=as_json))
        found = read_run(store, meant.id)
        if as_json:
            print_json(situation(project, store, found))
        else:
            print_status(project, store, found)
