"""`treadle demo`: watch a protocol at real work, or in a simulated world."""

from pathlib import Path
from typing import Annotated

import typer


def demo(
    folder: Annotated[
        Path | None,
        typer.Argument(help="The folder for the repository; by default a temporary folder, which Treadle keeps."),
    ] = None,
    protocol: Annotated[str, typer.Option("--protocol", "-p", help="The protocol to watch.")] = "v3",
    agent: Annotated[
        str | None,
        typer.Option(
            "--agent", help="Let the real program of this agent (claude, codex …) do the work, with a scripted model."
        ),
    ] = None,
    simulated: Annotated[
        bool, typer.Option("--simulated", help="Simulate a random run, without real agents, git or tests.")
    ] = False,
    seed: Annotated[int | None, typer.Option(help="The seed of the simulated run; by default 1.")] = None,
    faults: Annotated[
        float | None,
        typer.Option(
            min=0, max=1, help="The probability that something goes wrong in the simulated run; by default 0.1."
        ),
    ] = None,
    speed: Annotated[float, typer.Option(min=0, help="The speed of the simulated run; 0 shows it at once.")] = 1.0,
) -> None:
    """Watch scripted agents build a small library in a real git repository, with real tests.

    On the way, the demo kills the process that drives the run, and another process resumes the run.
    """
    from treadle.cli.performance import perform_demo, play, recite, simulate_scenes
    from treadle.errors import TreadleError

    if not simulated and seed is None and faults is None:
        raise typer.Exit(perform_demo(protocol, folder, agent or ""))
    if agent:
        raise TreadleError("a simulated run has no real agents; leave out --agent", code="usage.conflict")
    if folder is not None:
        raise TreadleError(f"a simulated run has no repository; leave out {folder}", code="usage.conflict")
    from treadle.cli.library import load_sound_protocol
    from treadle.cli.output import is_terminal

    model = load_sound_protocol(protocol)
    scenes = simulate_scenes(model, 1 if seed is None else seed, 0.1 if faults is None else faults)
    if is_terminal():
        play(model, scenes, speed, protocol)
    else:
        recite(model, scenes)
