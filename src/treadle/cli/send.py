"""`treadle send`: a signal for an instance, such as a critique of its work or the question how it stands."""

from typing import Annotated

import typer

app = typer.Typer(pretty_exceptions_enable=False)


@app.command()
def send(
    run: Annotated[
        str | None, typer.Argument(help="The run; the only one that has not ended if none is named.")
    ] = None,
    signal: Annotated[
        str | None, typer.Argument(metavar="SIGNAL", help="A signal that its protocol takes, such as StatusQuery.")
    ] = None,
    text: Annotated[str | None, typer.Argument(help="What there is to say with it.")] = None,
    at: Annotated[str, typer.Option(help="The instance that it is for.")] = "root",
    resume: Annotated[bool, typer.Option("--resume", help="Drive the run on, as `treadle resume` would.")] = False,
) -> None:
    """Sends an instance a signal, which it takes up between two steps, and says where the instance stands."""
    from treadle.cli.moves import move
    from treadle.cli.sending import position
    from treadle.cli.which_run import to_move
    from treadle.engines.client import Client

    meant, rest = to_move(run, signal, text, beside=2)
    name, said = (*rest, "", "")[:2]

    def act(client: Client) -> str:
        client.send(meant, name, said, at=at)
        return f"{name} is sent to {at}"

    move(meant, act, resume=resume, verdict=position(meant, at))
