"""`treadle send`: a signal for an instance, such as a critique of its work or the question how it stands."""

from typing import Annotated

import typer

app = typer.Typer(pretty_exceptions_enable=False)


@app.command()
def send(
    run: Annotated[str, typer.Argument(help="The run.")],
    signal: Annotated[str, typer.Argument(help="A signal that its protocol takes, such as StatusQuery.")],
    text: Annotated[str, typer.Argument(help="What there is to say with it.")] = "",
    at: Annotated[str, typer.Option(help="The instance that it is for.")] = "root",
    resume: Annotated[bool, typer.Option("--resume", help="Drive the run on, as `treadle resume` would.")] = False,
) -> None:
    """Sends an instance a signal, which it takes up between two steps, and says where the instance stands."""
    from treadle.cli.moves import move
    from treadle.cli.sending import position
    from treadle.engines.client import Client

    def act(client: Client) -> str:
        client.send(run, signal, text, at=at)
        return f"{signal} is sent to {at}"

    move(run, act, resume=resume, verdict=position(run, at))
