"""Everything that can be told about a project from its files."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from treadle.config.detect.folder import Folder
from treadle.config.detect.found import Found
from treadle.config.detect.node import node
from treadle.config.detect.others import go, java, make, rust
from treadle.config.detect.python import python

DETECTORS: Final = (python, node, go, rust, java, make)
"""The first that knows how to test the project decides; `make` last, as it says nothing about single tests."""


def detect(root: Path, variables: Mapping[str, str] | None = None) -> list[Found]:
    """The languages of a project, that which decides how it is tested first.

    `variables` say which programs there are outside of the project; without them its files alone are looked at.
    """
    folder = Folder(root, variables or {})
    found = [one for detector in DETECTORS if (one := detector(folder)) is not None]
    return sorted(found, key=lambda one: not one.is_tested)
