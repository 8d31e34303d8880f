"""`treadle go`: let a step start that waits for a person."""

from typing import Annotated

import typer

app = typer.Typer(pretty_exceptions_enable=False)


@app.command()
def go(
    run: Annotated[
        str | None, typer.Argument(help="The run; the only one that has not ended if none is named.")
    ] = None,
    step: Annotated[str | None, typer.Argument(help="The step, or a command of the protocol such as /rev.")] = None,
    words: Annotated[
        list[str] | None, typer.Argument(help="What the command is about, such as Λ2 MODULE after /arch-critic.")
    ] = None,
    at: Annotated[str, typer.Option(help="The instance, if several have that step.")] = "",
    resume: Annotated[bool, typer.Option("--resume", help="Drive the run on, as `treadle resume` would.")] = False,
) -> None:
    """Lets a step start that waits for it, or goes to a step by one of the protocol's commands."""
    from treadle.cli.moves import move
    from treadle.cli.which_run import to_move

    said = [run, step, *(words or ())]
    meant, rest = to_move(*said, beside=len(said) if (run or "").startswith("/") else 1)
    move(meant, lambda client: f"{client.go(meant, *rest, at=at)} has its go", resume=resume)
