"""`treadle abort`: end a run."""

from typing import Annotated

import typer

app = typer.Typer(pretty_exceptions_enable=False)


@app.command()
def abort(
    run: Annotated[
        str | None, typer.Argument(help="The run; the only one that has not ended if none is named.")
    ] = None,
    at: Annotated[str, typer.Option(help="Only this instance and those below it.")] = "root",
) -> None:
    """Ends a run for good: its agents are stopped, what they wrote is kept, and nothing is merged any more."""
    from treadle.cli.moves import move
    from treadle.cli.which_run import to_move
    from treadle.engines.client import Client

    meant, _ = to_move(run)

    def act(client: Client) -> str:
        client.abort(meant, at=at)
        return f"{meant if at == 'root' else f'{at} of {meant}'} is to be aborted"

    move(meant, act)
