"""`treadle answer`: answer what a run asks."""

from typing import Annotated

import typer

app = typer.Typer(pretty_exceptions_enable=False)


@app.command()
def answer(
    run: Annotated[
        str | None, typer.Argument(help="The run; the only one that has not ended if none is named.")
    ] = None,
    ask_or_choice: Annotated[
        str | None, typer.Argument(metavar="[ASK]", help="The question, if several are open, else the answer.")
    ] = None,
    choice: Annotated[str | None, typer.Argument(metavar="CHOICE", help="The answer.")] = None,
    note: Annotated[
        str, typer.Option(help="A word for the next agent of that instance; with some answers, the answer itself.")
    ] = "",
    resume: Annotated[bool, typer.Option("--resume", help="Drive the run on, as `treadle resume` would.")] = False,
) -> None:
    """Answers a question; whoever drives the run goes on at once, or `treadle resume` does."""
    from treadle.cli.moves import move
    from treadle.cli.which_run import to_move
    from treadle.engines.client import Client

    meant, rest = to_move(run, ask_or_choice, choice, beside=2)
    ask, said = ("", "", *rest)[-2:]

    def act(client: Client) -> str:
        question = client.answer(meant, said, ask=ask, note=note)
        return f"{question.title}: {said}"

    move(meant, act, resume=resume)
