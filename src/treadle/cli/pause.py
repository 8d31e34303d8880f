"""`treadle pause`: nothing new starts until `treadle resume`."""

import typer

from treadle.cli.options import PartOption, RunArgument

app = typer.Typer(pretty_exceptions_enable=False)


@app.command()
def pause(
    run: RunArgument = None,
    at: PartOption = "root",
) -> None:
    """Pause a run: running agents may finish, nothing new starts. `treadle resume` continues."""
    from treadle.cli.moves import move
    from treadle.cli.run_reader import find_run_to_move
    from treadle.engines.client import Client

    meant, _ = find_run_to_move(run)

    def act(client: Client) -> str:
        client.pause(meant, at=at)
        return f"{meant if at == 'root' else f'{at} of {meant}'} is to pause"

    raise typer.Exit(move(meant, act))
