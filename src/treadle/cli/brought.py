"""The parts of a protocol that nobody has to write an input for: it brings one. Imports next to nothing."""

# pathlib takes longer to import than everything that is done here
# ruff: noqa: PTH118, PTH123, PTH208

import os

PARTS = "parts"
"""The folder, beside a `protocol.yaml`, with an input for each such part; its first line says what is done."""
_ENDING = ".yaml"


def brought(folder: str) -> dict[str, str]:
    """Each such part of the protocol in a folder, and what is done then."""
    try:
        names = sorted(name for name in os.listdir(os.path.join(folder, PARTS)) if name.endswith(_ENDING))
    except OSError:
        return {}
    return {name.removesuffix(_ENDING): _first_line(os.path.join(folder, PARTS, name)) for name in names}


def _first_line(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.readline().strip("# \n")
    except OSError:
        return ""
