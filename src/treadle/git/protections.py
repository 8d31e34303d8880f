"""Ψ: how careful a change to a path must be."""

from collections.abc import Iterable
from typing import Final

from treadle.git.globs import matches
from treadle.protocol.model import Protection

CAREFUL: Final = 4
"""From here on a person is asked."""


def level_of(protections: Iterable[Protection], path: str) -> int:
    """The first glob that names a path decides; what none names may be changed by anyone."""
    return next((one.level for one in protections if matches(path, [one.glob])), 1)
