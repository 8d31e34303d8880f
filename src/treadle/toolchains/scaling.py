"""Measure the cost of a Python function for inputs of growing size, in a process of its own."""

from pathlib import Path
from typing import Final

import msgspec

from treadle.enclosures.port import Enclosure
from treadle.git.files import temporary_folder
from treadle.toolchains.process import read_bytes, run_in_checkout
from treadle.toolchains.pytest import WITNESS
from treadle.toolchains.results import CommandResult

_SCRIPT: Final = Path(__file__).with_name("probes") / "scaling.py"


class ScalingProbe(msgspec.Struct, frozen=True, kw_only=True):
    """The function to measure, its inputs and its limits."""

    module: str
    """The module's name as the tests import it; empty if `sizes` returns the work itself."""
    name: str
    sizes: str = ""
    """A function of the tests that makes the inputs; without one, the annotations determine them."""
    sizes_file: str = ""
    """The file of `sizes`, as a path below the checkout."""
    wants: tuple[str, ...] = ("time",)
    """`time`, `space`."""
    seconds: float = 2.0
    """The limit of processor time for all calls."""


class CallCost(msgspec.Struct, frozen=True, omit_defaults=True):
    """The cost of one call."""

    shape: str
    """The shape of the input: shuffled, rising, falling, equal, plain, given."""
    what: str
    """The unit: instructions, seconds or bytes."""
    n: int
    cost: float
    """Of a call that did not finish, its limit of processor time in seconds."""
    why: str = ""
    """Why it did not finish: `TooMuch` for a timeout, else the exception."""


class ScalingMeasurement(msgspec.Struct, frozen=True, kw_only=True):
    """All calls of a function: those that finished (`points`) and the others, and how the inputs were made."""

    points: tuple[CallCost, ...] = ()
    stops: tuple[CallCost, ...] = ()
    problem: str = ""
    """The reason for missing points."""
    inputs: str = ""
    run: CommandResult | None = None


async def measure_scaling(
    python: tuple[str, ...], root: Path, path: Path, probe: ScalingProbe, sandbox: Enclosure | None = None
) -> ScalingMeasurement:
    """Measure a function of a checkout with the interpreter of its tests; kill a child that does not end."""
    places = {"checkout": str(path.resolve()), "root": str(root.resolve()), "witness": str(WITNESS)}
    with temporary_folder("scratch") as scratch:
        report = scratch / "points.json"
        order = msgspec.json.encode(msgspec.to_builtins(probe) | places).decode()
        command = (*python, str(_SCRIPT), order, str(report))
        finished = await run_in_checkout(
            path,
            command,
            scratch=scratch,
            timeout=probe.seconds * 5 + 10,
            sandbox=sandbox,
            readable=(_SCRIPT.parent, WITNESS),
        )
        data = read_bytes(report, 4_000_000)
    try:
        measured = msgspec.json.decode(data or b"{}", type=ScalingMeasurement)
    except msgspec.MsgspecError as error:
        measured = ScalingMeasurement(problem=f"the report of the measurement cannot be read: {error}")
    is_silent = not measured.points and not measured.problem
    reasons = [measured.problem, *finished.problems, finished.output[-400:].strip() if is_silent else ""]
    return msgspec.structs.replace(measured, problem="; ".join(filter(None, reasons)), run=finished)
