"""`treadle abort`: end a run."""

from typing import Annotated

import typer

app = typer.Typer(pretty_exceptions_enable=False)


@app.command()
def abort(
    run: Annotated[str, typer.Argument(help="The run.")],
    at: Annotated[str, typer.Option(help="Only this instance and those below it.")] = "root",
) -> None:
    """Ends a run for good: its agents are stopped, what they wrote is kept, and nothing is merged any more."""
    from treadle.cli.moves import move
    from treadle.engines.client import Client

    def act(client: Client) -> str:
        client.abort(run, at=at)
        return f"{run} is to be aborted"

    move(run, act)
