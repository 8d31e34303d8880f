"""`treadle projects`: register projects by name, for users who talk to several."""

from pathlib import Path
from typing import Annotated, Literal

import msgspec
import typer

from treadle.cli.options import JsonOption

app = typer.Typer(pretty_exceptions_enable=False, help="Register projects by name, for `treadle say`.")


class RegisteredProject(msgspec.Struct, frozen=True, kw_only=True):
    """A project that can be spoken to by name."""

    name: str
    folder: str


class RegisteredProjects(msgspec.Struct, frozen=True, kw_only=True):
    """The projects of a user: `treadle projects list --json`."""

    schema: Literal[1] = 1
    projects: tuple[RegisteredProject, ...]


@app.command("list")
def list_(as_json: JsonOption = False) -> None:
    """List the registered projects."""
    import os

    from treadle.cli.output import print_json, print_table
    from treadle.config.projects import Projects

    known = [RegisteredProject(name=name, folder=str(folder)) for name, folder in Projects(os.environ).all().items()]
    if as_json:
        print_json(RegisteredProjects(projects=tuple(known)))
    elif known:
        print_table(("Name", "Folder"), [(it.name, it.folder) for it in known])
    else:
        typer.echo("no project is registered yet; run `treadle projects add` in its folder")


@app.command()
def add(
    folder: Annotated[
        Path | None, typer.Argument(help="The folder of the project; by default the current one.")
    ] = None,
    name: Annotated[str, typer.Option(help="The name of the project; by default the name of its folder.")] = "",
) -> None:
    """Register a project, so that you can address it by name from anywhere."""
    import os

    from treadle.config.project import open_project
    from treadle.config.projects import Projects
    from treadle.errors import TreadleError
    from treadle.talk.phrases import is_phrase

    project = open_project(folder)
    called = name or project.root.resolve().name
    if is_phrase(called):
        raise TreadleError(f"'{called}' is a phrase of `treadle say`; choose another --name", code="project.name")
    Projects(os.environ).add(called, project)
    typer.echo(f'{called} is {project.root}; `treadle say "continue {called}"` addresses it')


@app.command()
def remove(name: Annotated[str, typer.Argument(help="The name of the project.")]) -> None:
    """Forget the name of a project. The project itself stays as it is."""
    import os

    from treadle.config.projects import Projects

    typer.echo(f"forgot {name}; {Projects(os.environ).remove(name)} stays as it is")
