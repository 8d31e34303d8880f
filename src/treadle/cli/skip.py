"""`treadle skip`: the answer `skip` to what a run asks."""

from typing import Annotated

import typer

app = typer.Typer(pretty_exceptions_enable=False)


@app.command()
def skip(
    run: Annotated[
        str | None, typer.Argument(help="The run; the only one that has not ended if none is named.")
    ] = None,
    ask: Annotated[str | None, typer.Argument(help="The question, if several could be answered so.")] = None,
    note: Annotated[str, typer.Option(help="A word for the next agent of that instance.")] = "",
    resume: Annotated[bool, typer.Option("--resume", help="Drive the run on, as `treadle resume` would.")] = False,
) -> None:
    """Answers `skip` to the open question that offers it."""
    from treadle.cli.moves import move
    from treadle.cli.which_run import to_move

    meant, rest = to_move(run, ask, beside=1)
    asked = rest[0] if rest else ""
    move(meant, lambda client: f"{client.answer(meant, 'skip', ask=asked, note=note).title}: skip", resume=resume)
