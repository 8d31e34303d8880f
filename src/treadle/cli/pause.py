"""`treadle pause`: nothing new starts until `treadle resume`."""

from typing import Annotated

import typer

app = typer.Typer(pretty_exceptions_enable=False)


@app.command()
def pause(
    run: Annotated[str, typer.Argument(help="The run.")],
    at: Annotated[str, typer.Option(help="Only this instance and those below it.")] = "root",
) -> None:
    """Lets nothing new start; what is at work may end. `treadle resume` takes it back."""
    from treadle.cli.moves import move
    from treadle.engines.client import Client

    def act(client: Client) -> str:
        client.pause(run, at=at)
        return f"{run} is to pause"

    move(run, act)
