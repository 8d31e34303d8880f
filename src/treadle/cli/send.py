"""`treadle send`: a signal for an instance, such as a critique of its work or the question how it stands."""

from typing import Annotated

import typer

from treadle.cli.moves import ExitCodeOf
from treadle.cli.options import ResumeOption, RunArgument
from treadle.cli.output import harmless
from treadle.config.project import Project
from treadle.store.sqlite import Store

app = typer.Typer(pretty_exceptions_enable=False)


@app.command()
def send(
    run: RunArgument = None,
    signal: Annotated[
        str | None, typer.Argument(metavar="SIGNAL", help="A signal that its protocol takes, such as StatusQuery.")
    ] = None,
    text: Annotated[str | None, typer.Argument(help="A text that goes with the signal.")] = None,
    at: Annotated[str, typer.Option(help="The instance that gets the signal.")] = "root",
    resume: ResumeOption = False,
) -> None:
    """Send a signal to an instance, which handles it between two steps. Prints where the instance stands."""
    from treadle.cli.moves import move
    from treadle.cli.run_reader import find_run_to_move
    from treadle.engines.client import Client

    meant, rest = find_run_to_move(run, signal, text, beside=2)
    name, said = (*rest, "", "")[:2]

    def act(client: Client) -> str:
        client.send(meant, name, said, at=at)
        return f"{name} is sent to {at}"

    raise typer.Exit(move(meant, act, resume=resume, verdict=print_position(meant, at)))


# The position of an instance after a signal was sent to it.


def print_position(run: str, at: str) -> ExitCodeOf:
    """Return a verdict that prints the current step of an instance."""

    def tell(project: Project, store: Store) -> int:
        from treadle.engines.status import read_status

        for line in read_status(project, store, run).lines:
            if line.instance == at:
                typer.echo(harmless(f"{at}: {f'{line.step} · ' if line.step else ''}{line.text}"))
        return 0

    return tell
