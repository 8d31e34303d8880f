"""`treadle pause`: nothing new starts until `treadle resume`."""

from typing import Annotated

import typer

app = typer.Typer(pretty_exceptions_enable=False)


@app.command()
def pause(
    run: Annotated[
        str | None, typer.Argument(help="The run; the only one that has not ended if none is named.")
    ] = None,
    at: Annotated[str, typer.Option(help="Only this instance and those below it.")] = "root",
) -> None:
    """Lets nothing new start; what is at work may end. `treadle resume` takes it back."""
    from treadle.cli.moves import move
    from treadle.cli.which_run import to_move
    from treadle.engines.client import Client

    meant, _ = to_move(run)

    def act(client: Client) -> str:
        client.pause(meant, at=at)
        return f"{meant if at == 'root' else f'{at} of {meant}'} is to pause"

    move(meant, act)
