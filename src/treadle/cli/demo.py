"""`treadle demo`: watch a protocol run. Agents, git and tests are played; every decision is the kernel's own."""

from typing import Annotated

import typer

app = typer.Typer(pretty_exceptions_enable=False)


@app.command()
def demo(
    protocol: Annotated[str | None, typer.Option("--protocol", "-p", help="Watch a random run of this one.")] = None,
    seed: Annotated[int, typer.Option(help="Which random run.")] = 1,
    faults: Annotated[float, typer.Option(min=0, max=1, help="How often something goes wrong in it.")] = 0.1,
    speed: Annotated[float, typer.Option(min=0, help="How fast to show it; 0: at once.")] = 1.0,
) -> None:
    """Shows a run from start to end: the told one of v3, or a random one of any protocol."""
    from treadle.cli.library import opened
    from treadle.cli.output import is_terminal
    from treadle.cli.stage import play, recite
    from treadle.cli.story import simulated, told
    from treadle.protocol.load import load

    model = opened(protocol).protocol if protocol else load("v3")
    scenes = simulated(model, seed, faults) if protocol else told(model)
    if is_terminal():
        play(model, scenes, speed)
    else:
        recite(model, scenes)
