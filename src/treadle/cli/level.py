"""`treadle level`: how much of a run goes by itself from now on."""

from typing import Annotated, Literal, cast

import typer

from treadle.cli.options import LEVEL_HELP, ResumeOption, RunArgument

app = typer.Typer(pretty_exceptions_enable=False)


@app.command()
def level(
    level: Annotated[
        int,
        typer.Argument(min=0, max=2, metavar="LEVEL", help=LEVEL_HELP),
    ],
    run: RunArgument = None,
    resume: ResumeOption = False,
) -> None:
    """Set the automation level of a run. Running agents may finish."""
    from treadle.cli.moves import move
    from treadle.cli.run_reader import find_run_to_move
    from treadle.engines.client import Client

    meant, _ = find_run_to_move(run)

    def act(client: Client) -> str:
        client.level(meant, cast("Literal[0, 1, 2]", level))
        return f"{meant} goes on at level {level}"

    raise typer.Exit(move(meant, act, resume=resume))
