"""Build, lint, format and contract commands: they say yes or no."""

from pathlib import Path

from treadle.enclosures.enclosure import Enclosure
from treadle.toolchains.checkout import problems_of, run_in
from treadle.toolchains.process import scratch_folder
from treadle.toolchains.results import Built


async def build(command: tuple[str, ...], path: Path, *, timeout: float, sandbox: Enclosure | None = None) -> Built:
    """Run a command in a checkout."""
    with scratch_folder() as scratch:
        finished = await run_in(path, command, scratch=scratch, timeout=timeout, sandbox=sandbox)
    said = "\n".join([*problems_of(command, finished), finished.output])
    return Built(
        command=command,
        exit=finished.exit,
        output=said if finished.exit is None else finished.output,
        duration=finished.duration,
        ended=finished.ended,
        isolation=finished.isolation,
    )
