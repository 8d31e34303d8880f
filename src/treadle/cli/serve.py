"""`treadle serve`: drive every run of the project, for as long as it runs."""

from typing import Annotated

import typer

app = typer.Typer(pretty_exceptions_enable=False)


@app.command()
def serve(
    install: Annotated[
        bool, typer.Option("--install", help="Write a systemd user unit that does this, instead of doing it.")
    ] = False,
) -> None:
    """Drives every unfinished run of this project, takes up new ones and serves its memory, until it is interrupted."""
    from treadle.cli.service_unit import install_unit
    from treadle.cli.serving import serve as serve_
    from treadle.config.project import open_project

    project = open_project()
    if install:
        typer.echo(install_unit(project))
    else:
        raise typer.Exit(serve_(project))
