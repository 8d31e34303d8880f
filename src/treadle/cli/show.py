"""`treadle show`: one activity of a run, with its evidence."""

from typing import Annotated

import typer

app = typer.Typer(pretty_exceptions_enable=False)


@app.command("show")
def show(
    run: Annotated[str, typer.Argument(help="Which run.")],
    act: Annotated[str, typer.Argument(help="Which activity: its id, or as much of it as only one has.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
) -> None:
    """Shows an activity: what it was given, what it claimed, what the checks found, and what came of it."""
    import asyncio

    from treadle.cli.activity_page import page, read_story, result_page
    from treadle.cli.output import print_ascii_json
    from treadle.cli.reading import read_run, reading
    from treadle.config.project import open_project
    from treadle.engines.result import result_of

    project = open_project()
    with reading(project) as store:
        follower = read_run(store, run)
        record, story = follower.record, read_story(project, store, follower, act)
    if as_json:
        print_ascii_json(story)
    else:
        for line in page(story):
            typer.echo(line)
        if story.kind == "effect" and (found := asyncio.run(result_of(project, record))):
            for line in result_page(found, record):
                typer.echo(line)
