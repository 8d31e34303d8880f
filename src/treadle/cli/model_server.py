"""`treadle model-server`: a model that is played from a script, for real agent programs."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from treadle.testing.model_server.exchange import Exchange, Welcome
    from treadle.testing.model_server.script import Library

app = typer.Typer(pretty_exceptions_enable=False)


@app.command()
def model_server(
    scripts: Annotated[Path, typer.Argument(help="The file with the scripts.", metavar="SCRIPTS")],
    port: Annotated[int, typer.Option("--port", help="Where to listen; 0: any that is free.", min=0, max=65535)] = 0,
    project: Annotated[
        Path | None,
        typer.Option(
            help="SCRIPTS are those of scripted agents; play them to the programs that work for this project."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON Lines, for programs.")] = False,
) -> None:
    """Plays a model on loopback for agents that are tried without one, until it is interrupted."""
    from treadle.testing.model_server.script_reading import load_scripts
    from treadle.testing.model_server.server import ModelServer
    from treadle.testing.model_server.until_told import UntilTold

    found: Library = _actors(scripts, project) if project else load_scripts(scripts)
    with UntilTold() as until, ModelServer(found, port, _telling(until.tell, as_json)) as server:
        _greet(server.welcome, as_json)
        until.wait()


def _actors(scripts: Path, project: Path) -> "Library":
    from treadle.agents.script_reading import load_script
    from treadle.config.project import Project
    from treadle.errors import TreadleError
    from treadle.testing.model_server.acting import Actors

    if not project.is_dir():
        raise TreadleError(f"there is no folder {project}; name that of the project", code="file.missing")
    return Actors(load_script(scripts), Project(project.absolute()).runs)


def _greet(welcome: "Welcome", as_json: bool) -> None:
    from treadle.cli.output import print_json_line, say

    if as_json:
        print_json_line(welcome)
    else:
        say(f"the model server is at {welcome.url}; Ctrl-C ends it\nscripts: {', '.join(welcome.scripts)}")


def _telling(end: Callable[[], None], as_json: bool) -> Callable[["Exchange"], None]:
    """Each exchange on a line; where nobody reads them any more, it ends."""
    from treadle.cli.output import harmless, print_json_line

    def tell(exchange: "Exchange") -> None:
        try:
            if as_json:
                print_json_line(exchange)
            else:
                typer.echo(harmless(str(exchange)))
        except OSError:
            end()

    return tell
