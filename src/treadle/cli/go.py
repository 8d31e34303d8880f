"""`treadle go`: let a step start that waits for a person."""

from typing import Annotated

import typer

app = typer.Typer(pretty_exceptions_enable=False)


@app.command()
def go(
    run: Annotated[str, typer.Argument(help="The run.")],
    step: Annotated[str, typer.Argument(help="The step, or a command of the protocol such as /rev.")] = "",
    at: Annotated[str, typer.Option(help="The instance, if several have that step.")] = "",
    resume: Annotated[bool, typer.Option("--resume", help="Drive the run on, as `treadle resume` would.")] = False,
) -> None:
    """Lets a step start that waits for it, or goes to a step by one of the protocol's commands."""
    from treadle.cli.moves import move

    move(run, lambda client: f"{client.go(run, step, at=at)} has its go", resume=resume)
