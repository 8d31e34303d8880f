"""`treadle done`: hand in what you did as an agent."""

from typing import Annotated

import typer

app = typer.Typer(pretty_exceptions_enable=False)


@app.command()
def done(
    run: Annotated[str, typer.Argument(help="The run, if several wait for you.")] = "",
    file: Annotated[str | None, typer.Argument(help="A JSON file with the answer; - for standard input.")] = None,
    exit_: Annotated[str | None, typer.Option("--exit", metavar="EXIT", help="The exit, instead of a file.")] = None,
    field: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="A field of that exit; lists, numbers and objects as JSON, @FILE for the text of a file.",
        ),
    ] = None,
    step: Annotated[str, typer.Option(help="The step, if you have several in hand.")] = "",
    resume: Annotated[bool, typer.Option("--resume", help="Drive the run on, as `treadle resume` would.")] = False,
) -> None:
    """Hands in your work as an agent, and shows each check while it runs.

    Exit code 0: taken; 1: the checks have refused it; 2: what is wrong with it.
    """
    from treadle.cli.moves import move
    from treadle.cli.own_work import around, hand_in, in_hand, judged, named

    run, file = named(run, file)
    work = in_hand(run, step)
    move(
        work.run,
        lambda _: hand_in(work, file, exit_, field or []),
        resume=resume,
        still=lambda state: work.act in state.acts,
        verdict=lambda project, store: judged(project, store, work),
        project=around(),
        shows_checks=True,
    )
