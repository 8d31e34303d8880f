"""`treadle projects`: projects by name, for those who speak to several."""

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(pretty_exceptions_enable=False, help="Projects by name, as `treadle say` knows them.")


@app.command("list")
def list_(as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False) -> None:
    """Lists the projects that are registered."""
    import os

    from treadle.cli.output import print_json, print_table
    from treadle.cli.talk_documents import Registered, RegisteredProjects
    from treadle.config.projects import Projects

    known = [Registered(name=name, folder=str(folder)) for name, folder in Projects(os.environ).all().items()]
    if as_json:
        print_json(RegisteredProjects(projects=tuple(known)))
    elif known:
        print_table(("Name", "Folder"), [(it.name, it.folder) for it in known])
    else:
        typer.echo("no project is registered yet; `treadle projects add` in its folder does that")


@app.command()
def add(
    folder: Annotated[Path | None, typer.Argument(help="Where it is; by default here.")] = None,
    name: Annotated[str, typer.Option(help="What it is called; by default as its folder.")] = "",
) -> None:
    """Registers a project, so that it can be spoken to by its name from anywhere."""
    import os

    from treadle.config.project import open_project
    from treadle.config.projects import Projects
    from treadle.errors import TreadleError
    from treadle.talk.intent import is_said

    project = open_project(folder)
    called = name or project.root.resolve().name
    if is_said(called):
        raise TreadleError(
            f"'{called}' is something that is said to projects; choose another --name", code="project.name"
        )
    Projects(os.environ).add(called, project)
    typer.echo(f'{called} is {project.root}; `treadle say "continue {called}"` speaks to it')


@app.command()
def remove(name: Annotated[str, typer.Argument(help="Its name.")]) -> None:
    """Forgets the name of a project; the project itself is not touched."""
    import os

    from treadle.config.projects import Projects

    typer.echo(f"{name} is forgotten; {Projects(os.environ).remove(name)} stays as it is")
