"""What a Python function costs for inputs of growing size, measured in a process of its own."""

from pathlib import Path
from typing import Final

import msgspec

from treadle.enclosures.enclosure import Enclosure
from treadle.toolchains.checkout import problems_of, run_in
from treadle.toolchains.files import read_bytes
from treadle.toolchains.process import scratch_folder
from treadle.toolchains.pytest_command import WITNESS
from treadle.toolchains.results import Ended

_SCRIPT: Final = str(Path(__file__).with_name("probes") / "scaling.py")
_IMPORTS: Final = str(WITNESS / "treadle_witness" / "imports.py")
_READ: Final = (Path(_SCRIPT).parent, WITNESS)
_HARD: Final = 5.0
"""How many times the time it may take a function can spend before it is ended."""


class Probe(msgspec.Struct, frozen=True, kw_only=True):
    """What to measure."""

    module: str
    """As the tests import it; empty if `sizes` returns what is to be done."""
    name: str
    sizes: str = ""
    """A function of the tests that makes the inputs; else they are made by annotations."""
    sizes_file: str = ""
    """Where it is, as a path below the checkout."""
    wants: tuple[str, ...] = ("time",)
    """`time`, `space`."""
    seconds: float = 2.0
    """Of processor time, for all of its calls."""


class Point(msgspec.Struct, frozen=True):
    """What one call cost."""

    shape: str
    """Of the input: shuffled, rising, falling, equal, plain, given."""
    what: str
    """instructions, seconds, bytes"""
    n: int
    cost: float


class Stop(msgspec.Struct, frozen=True):
    """A call that came to no end."""

    shape: str
    what: str
    n: int
    why: str
    """`TooMuch`: its time was over; else the exception."""
    after: float
    """The seconds of processor time that it had."""


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """All calls of a function."""

    points: tuple[Point, ...] = ()
    stops: tuple[Stop, ...] = ()
    problem: str = ""
    """Why there are none, or no more."""
    inputs: str = ""
    """How they were made."""
    command: tuple[str, ...] = ()
    exit: int | None = None
    duration: float = 0.0
    ended: Ended = "done"
    isolation: str = ""


async def measure_scaling(
    python: tuple[str, ...], root: Path, path: Path, probe: Probe, sandbox: Enclosure | None = None
) -> Measured:
    """Measure a function of a checkout with the interpreter of its tests; a child that does not end is ended."""
    path = path.resolve()
    with scratch_folder() as scratch:
        order, report = scratch / "order.json", scratch / "points.json"
        order.write_bytes(msgspec.json.encode(_order(root, path, probe)))
        command = (*python, _SCRIPT, str(order), str(report))
        limit = probe.seconds * _HARD + 10
        finished = await run_in(path, command, scratch=scratch, timeout=limit, sandbox=sandbox, readable=_READ)
        told = _read(read_bytes(report, 4_000_000))
    said = [] if told.points or told.problem else [finished.output[-400:].strip()]
    reasons = [told.problem, *problems_of(command, finished), *said]
    return msgspec.structs.replace(
        told,
        problem="; ".join(one for one in reasons if one),
        command=command,
        exit=finished.exit,
        duration=finished.duration,
        ended=finished.ended,
        isolation=finished.isolation,
    )


def _order(root: Path, path: Path, probe: Probe) -> dict[str, object]:
    return {
        "checkout": str(path),
        "root": str(root.resolve()),
        "imports": _IMPORTS,
        "module": probe.module,
        "name": probe.name,
        "sizes": probe.sizes,
        "sizes_file": str(path / probe.sizes_file),
        "wants": list(probe.wants),
        "seconds": probe.seconds,
    }


def _read(data: bytes | None) -> Measured:
    try:
        return Measured() if data is None else msgspec.json.decode(data, type=Measured)
    except msgspec.MsgspecError as error:
        return Measured(problem=f"what was measured cannot be read: {error}")
