"""`treadle serve`: drive every run of the project, for as long as it runs."""

from typing import Annotated

import typer

app = typer.Typer(pretty_exceptions_enable=False)


@app.command()
def serve(
    install: Annotated[
        bool, typer.Option("--install", help="Write a systemd user unit that does this, instead of doing it.")
    ] = False,
    listen: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="Where chat bots may speak to it; by default on this machine only.")
    ] = "",
) -> None:
    """Drives every unfinished run of this project, takes up new ones, serves its memory and hears what bots say."""
    from treadle.cli.service_unit import install_unit
    from treadle.cli.serving import serve as serve_
    from treadle.config.project import open_project

    project = open_project()
    if install:
        typer.echo(install_unit(project))
    else:
        raise typer.Exit(serve_(project, listen))
