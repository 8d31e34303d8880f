"""The environment of an agent's program: little of ours, so that it carries no secrets, and the agent contract."""

import os
import sysconfig
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from treadle.ports import Work

PASSED: Final = ("PATH", "HOME", "LANG", "TERM", "TMPDIR")
"""What every agent gets of our own environment; the configuration may allow more (`LC_*`: all that begin so)."""
MARK: Final = "TREADLE_KEEPER"
"""Names a session: what was started with it belongs to that session alone."""


def clean(allowed: Iterable[str] = (), environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """What of an environment (our own) an agent may see, with this installation's programs at the end of its PATH."""
    ours = os.environ if environment is None else environment
    names = {*PASSED, *allowed}
    starts = tuple(name[:-1] for name in names if name.endswith("*"))
    kept = {name: value for name, value in ours.items() if name in names or (starts and name.startswith(starts))}
    # A relative entry would mean another folder in every lane: there, an agent could leave a program for the next one.
    entries = [entry for entry in kept.get("PATH", os.defpath).split(os.pathsep) if Path(entry).is_absolute()]
    scripts = sysconfig.get_path("scripts")
    return {**kept, "PATH": os.pathsep.join([*entries, *([scripts] if scripts not in entries else [])])}


def contract(work: Work) -> dict[str, str]:
    """The variables that every agent finds, whatever else it is given."""
    return {
        **work.env,
        "TREADLE_BUNDLE": str(work.bundle),
        "TREADLE_OUT": str(work.out),
        "TREADLE_RUN": work.run,
        "TREADLE_ACT": work.act,
        "TREADLE_STEP": work.step,
        "TREADLE_ROLE": work.role,
        "TREADLE_MODE": work.mode,
        "TREADLE_ATTEMPT": str(work.attempt),
        "TREADLE_TOKEN": work.token,
    }
