"""`treadle retry`: answer `retry` to a run's question."""

import typer

from treadle.cli.options import NoteOption, QuestionArgument, ResumeOption, RunArgument

app = typer.Typer(pretty_exceptions_enable=False)


@app.command()
def retry(
    run: RunArgument = None, ask: QuestionArgument = None, note: NoteOption = "", resume: ResumeOption = False
) -> None:
    """Answer `retry` to the open question that offers it."""
    from treadle.cli.moves import move
    from treadle.cli.run_reader import find_run_to_move

    meant, rest = find_run_to_move(run, ask, beside=1)
    asked = rest[0] if rest else ""

    raise typer.Exit(
        move(meant, lambda client: f"{client.answer(meant, 'retry', ask=asked, note=note).title}: retry", resume=resume)
    )
