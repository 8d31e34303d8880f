"""`treadle retry`: the answer `retry` to what a run asks."""

from typing import Annotated

import typer

app = typer.Typer(pretty_exceptions_enable=False)


@app.command()
def retry(
    run: Annotated[str, typer.Argument(help="The run.")],
    ask: Annotated[str, typer.Argument(help="The question, if several could be answered so.")] = "",
    note: Annotated[str, typer.Option(help="A word for the next agent of that instance.")] = "",
    resume: Annotated[bool, typer.Option("--resume", help="Drive the run on, as `treadle resume` would.")] = False,
) -> None:
    """Answers `retry` to the open question that offers it."""
    from treadle.cli.moves import move

    move(run, lambda client: f"{client.answer(run, 'retry', ask=ask, note=note).title}: retry", resume=resume)
