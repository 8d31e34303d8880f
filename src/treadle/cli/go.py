"""`treadle go`: let a step start that waits for a person."""

from typing import Annotated

import typer

from treadle.cli.options import ResumeOption, RunArgument

app = typer.Typer(pretty_exceptions_enable=False)


@app.command()
def go(
    run: RunArgument = None,
    step: Annotated[str | None, typer.Argument(help="The step, or a command of the protocol such as /rev.")] = None,
    words: Annotated[
        list[str] | None,
        typer.Argument(help="The words that belong to the command, such as Λ2 MODULE after /arch-critic."),
    ] = None,
    at: Annotated[str, typer.Option(help="The instance, if several have that step.")] = "",
    resume: ResumeOption = False,
) -> None:
    """Start a step that waits for you, or run a command of the protocol, such as /rev."""
    from treadle.cli.moves import move
    from treadle.cli.run_reader import find_run_to_move

    said = [run, step, *(words or ())]
    meant, rest = find_run_to_move(*said, beside=len(said) if (run or "").startswith("/") else 1)
    raise typer.Exit(move(meant, lambda client: f"{client.go(meant, *rest, at=at)} has its go", resume=resume))
