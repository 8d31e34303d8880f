"""`treadle abort`: end a run."""

import typer

from treadle.cli.options import PartOption, RunArgument

app = typer.Typer(pretty_exceptions_enable=False)


@app.command()
def abort(
    run: RunArgument = None,
    at: PartOption = "root",
) -> None:
    """End a run for good: stops its agents, keeps their work, merges nothing more."""
    from treadle.cli.moves import move
    from treadle.cli.run_reader import find_run_to_move
    from treadle.engines.client import Client

    meant, _ = find_run_to_move(run)

    def act(client: Client) -> str:
        client.abort(meant, at=at)
        return f"{meant if at == 'root' else f'{at} of {meant}'} is to be aborted"

    move(meant, act)  # its exit code is 0: the end is what was asked for
