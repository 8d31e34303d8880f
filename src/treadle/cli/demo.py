"""`treadle demo`: watch a protocol at real work, or in a simulated world."""

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(pretty_exceptions_enable=False)


@app.command()
def demo(
    folder: Annotated[
        Path | None, typer.Argument(help="Where to put the repository; by default a temporary folder, which is kept.")
    ] = None,
    protocol: Annotated[str, typer.Option("--protocol", "-p", help="Which protocol to watch.")] = "v3",
    agent: Annotated[
        str | None,
        typer.Option(
            "--agent", help="Let this agent's real program do the work (claude, codex …); its model is played."
        ),
    ] = None,
    simulated: Annotated[
        bool, typer.Option("--simulated", help="A random run: agents, git and tests are played.")
    ] = False,
    seed: Annotated[int | None, typer.Option(help="Which simulated run; 1 if it is not said.")] = None,
    faults: Annotated[
        float | None, typer.Option(min=0, max=1, help="How often something goes wrong in it; 0.1 if it is not said.")
    ] = None,
    speed: Annotated[float, typer.Option(min=0, help="How fast to show a simulated run; 0: at once.")] = 1.0,
) -> None:
    """Builds a small library in a real repository: scripted agents, real code, tests, git, checks and a kill -9."""
    from treadle.cli.performing import perform, simulate
    from treadle.errors import TreadleError

    if not simulated and seed is None and faults is None:
        raise typer.Exit(perform(protocol, folder, agent or ""))
    if agent:
        raise TreadleError("in a simulated run agents are played, too; leave --agent out", code="usage.conflict")
    if folder is not None:
        raise TreadleError(f"a simulated run has no repository; leave {folder} out", code="usage.conflict")
    simulate(protocol, 1 if seed is None else seed, 0.1 if faults is None else faults, speed)
