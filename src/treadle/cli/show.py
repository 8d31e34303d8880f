"""`treadle show`: one activity of a run with its evidence, or one question with its answer."""

from typing import Annotated

import typer

app = typer.Typer(pretty_exceptions_enable=False)


@app.command("show")
def show(
    run: Annotated[str, typer.Argument(help="Which run.")],
    act: Annotated[str, typer.Argument(help="Which activity or question: its id, or as much of it as only one has.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
) -> None:
    """Shows an activity: what it was given, what it claimed, what the checks found, and what came of it.

    Or a question: all that it says, who led to it, and how it was answered.
    """
    from treadle.cli.output import print_ascii_json
    from treadle.cli.reading import read_run, reading
    from treadle.cli.showing import meant, shown
    from treadle.config.project import open_project

    project = open_project()
    with reading(project) as store:
        found = read_run(store, run)
        document, lines = shown(project, store, found, meant(found, act))
    if as_json:
        print_ascii_json(document)
    else:
        for line in lines:
            typer.echo(line)
