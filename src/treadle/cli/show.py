"""`treadle show`: one activity of a run with its evidence, or one question with its answer."""

from typing import Annotated

import typer

app = typer.Typer(pretty_exceptions_enable=False)


@app.command("show")
def show(
    run_or_id: Annotated[str | None, typer.Argument(metavar="[RUN]", help="Which run, if there are several.")] = None,
    id_: Annotated[
        str | None,
        typer.Argument(metavar="ID", help="Which activity or question: its id, or as much of it as only one has."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
    prompt: Annotated[bool, typer.Option("--prompt", help="Print only what the agent was told, all of it.")] = False,
) -> None:
    """Shows an activity: what came of it and why, what the checks found, what it claimed, and what it was given.

    Or a question: all that it says, who led to it, and how it was answered.
    """
    from treadle.cli.output import print_ascii_json
    from treadle.cli.reading import read_run, reading
    from treadle.cli.showing import meant, prompt_of, shown
    from treadle.cli.which_run import to_show
    from treadle.config.project import open_project
    from treadle.errors import TreadleError

    if as_json and prompt:
        raise TreadleError("--json and --prompt are two things; ask for one of them at a time", code="usage.conflict")
    project = open_project()
    with reading(project) as store:
        run, word = to_show(store, run_or_id, id_)
        found = read_run(store, run)
        document, lines = shown(project, store, found, meant(found, word))
    if prompt:
        typer.echo(prompt_of(document))
    elif as_json:
        print_ascii_json(document)
    else:
        for line in lines:
            typer.echo(line)
