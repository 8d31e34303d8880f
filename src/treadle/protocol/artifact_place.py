"""Where an artifact lies in the repository, for an instance with some input."""

import re
from collections.abc import Mapping
from typing import Final

from treadle.protocol.answers.paths import clean_path, path_fault
from treadle.protocol.items import Json
from treadle.protocol.model import Artifact

_PLACEHOLDER: Final = re.compile(r"\{([^{}]*)\}")
_ALSO: Final = {"story": "id"}
"""Placeholders that mean the id of what the instance was given."""


def place_of(artifact: Artifact, values: Mapping[str, Json]) -> str:
    """Where an artifact lies for an instance with this input; empty if that cannot be said, or leads elsewhere."""
    path = filled(artifact.path, values)
    return "" if path_fault(path) else clean_path(path)


def filled(path: str, values: Mapping[str, Json]) -> str:
    """A path with the values of its placeholders; what is no part of a path becomes one that no file has."""

    def fill(match: re.Match[str]) -> str:
        value = values.get(match[1], values.get(_ALSO.get(match[1], ""), ""))
        return value if isinstance(value, str) and not path_fault(value) else "\0"

    return _PLACEHOLDER.sub(fill, path)
