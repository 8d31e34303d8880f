"""`treadle demo`: watch a protocol run. Agents, git and tests are played; every decision is the kernel's own."""

from typing import Annotated, Final

import typer

TOLD: Final = "v3"
"""The protocol of the told run."""

app = typer.Typer(pretty_exceptions_enable=False)


@app.command()
def demo(
    protocol: Annotated[
        str | None,
        typer.Option("--protocol", "-p", help="Watch a random run of this one; of v3 with --seed or --faults."),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Which random run; 1 if it is not said.")] = None,
    faults: Annotated[
        float | None, typer.Option(min=0, max=1, help="How often something goes wrong in it; 0.1 if it is not said.")
    ] = None,
    speed: Annotated[float, typer.Option(min=0, help="How fast to show it; 0: at once.")] = 1.0,
) -> None:
    """Shows a run from start to end: the told one of v3, or a random one of any protocol."""
    from treadle.cli.examine import sound
    from treadle.cli.output import is_terminal
    from treadle.cli.stage import play, recite
    from treadle.cli.story import simulated, told
    from treadle.protocol.load import load

    is_told = protocol is None and seed is None and faults is None
    model = load(TOLD) if is_told else sound(protocol or TOLD)
    scenes = (
        told(model) if is_told else simulated(model, 1 if seed is None else seed, 0.1 if faults is None else faults)
    )
    if is_terminal():
        play(model, scenes, speed, protocol or TOLD)
    else:
        recite(model, scenes)
