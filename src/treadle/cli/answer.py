"""`treadle answer`: answer a run's question."""

from typing import Annotated

import typer

from treadle.cli.options import ResumeOption, RunArgument

app = typer.Typer(pretty_exceptions_enable=False)


@app.command()
def answer(
    run: RunArgument = None,
    ask_or_choice: Annotated[
        str | None, typer.Argument(metavar="[ASK]", help="The id of the question; needed only if several are open.")
    ] = None,
    choice: Annotated[str | None, typer.Argument(metavar="CHOICE", help="The answer.")] = None,
    note: Annotated[str, typer.Option(help="A note for the next agent of that instance; some answers need it.")] = "",
    resume: ResumeOption = False,
) -> None:
    """Answer a question of a run. A running driver acts on it at once; otherwise add `--resume`.

    Exits like `treadle run` if this command drives the run to its end.
    """
    from treadle.cli.moves import move
    from treadle.cli.run_reader import find_run_to_move
    from treadle.engines.client import Client

    meant, rest = find_run_to_move(run, ask_or_choice, choice, beside=2)
    ask, said = ("", "", *rest)[-2:]

    def act(client: Client) -> str:
        question = client.answer(meant, said, ask=ask, note=note)
        return f"{question.title}: {said}"

    raise typer.Exit(move(meant, act, resume=resume))
