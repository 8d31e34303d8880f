"""What commands that try a protocol print for programs."""

from typing import Literal

import msgspec

from treadle.simulate import explore, run
from treadle.simulate.scope import Scope


class Mishap(run.Finding, frozen=True):
    """Something that must not happen, and the events that lead to it."""


class Simulation(run.Summary, frozen=True, kw_only=True):
    """What came of simulated runs: `treadle protocol sim --json`."""

    findings: tuple[Mishap, ...]
    schema: Literal[1] = 1


class Search(explore.Exploration, frozen=True, kw_only=True):
    """What an exhaustive search has seen: `treadle protocol explore --json`."""

    deadlocks: tuple[Mishap, ...]
    dead_ends: tuple[Mishap, ...]
    faults: tuple[Mishap, ...]
    schema: Literal[1] = 1


class Scopes(msgspec.Struct, frozen=True, kw_only=True):
    """The scopes that a protocol can be explored in: `treadle protocol explore --scopes --json`."""

    schema: Literal[1] = 1
    scopes: tuple[Scope, ...]
