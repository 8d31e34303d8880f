"""`treadle level`: how much of a run goes by itself from now on."""

from typing import Annotated, Literal, cast

import typer

app = typer.Typer(pretty_exceptions_enable=False)


@app.command()
def level(
    level: Annotated[
        int,
        typer.Argument(
            min=0, max=2, metavar="LEVEL", help="0: you are the agents; 1: every agent waits for your go; 2: by itself."
        ),
    ],
    run: Annotated[
        str | None, typer.Argument(help="The run; the only one that has not ended if none is named.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Drive the run on, as `treadle resume` would.")] = False,
) -> None:
    """Sets how much of a run goes by itself, at any moment; whoever is at work may end it."""
    from treadle.cli.moves import move
    from treadle.cli.which_run import to_move
    from treadle.engines.client import Client

    meant, _ = to_move(run)

    def act(client: Client) -> str:
        client.level(meant, cast("Literal[0, 1, 2]", level))
        return f"{meant} goes on at level {level}"

    move(meant, act, resume=resume)
