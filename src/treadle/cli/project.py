"""The project around the current folder, and the parts of its protocol with a bundled input.

Imports next to nothing, because the fast path uses it too.
"""

import os

# pathlib takes longer to import than everything that is done here
# ruff: noqa: PTH110, PTH118, PTH121


OWN_FOLDER = ".treadle"


def repository() -> str:
    """Return the relative path to the folder of the git repository; empty outside of any."""
    return next((place for place in _upwards() if os.path.exists(os.path.join(place, ".git"))), "")


def root() -> str:
    """Return the path to the nearest folder with `.treadle`, or to the repository; outside of one, this folder."""
    top = repository()
    if not top:
        return "."
    for place in _upwards():
        if place == top or os.path.lexists(os.path.join(place, OWN_FOLDER)):
            return place
    return top


def _upwards() -> list[str]:
    places = ["."]
    try:
        while not os.path.samefile(places[-1], os.path.join(places[-1], "..")):
            places.append(os.path.normpath(os.path.join(places[-1], "..")))
    except OSError:  # a folder above is gone or unreadable: use the folders seen so far
        pass
    return places


# The parts of a protocol with a bundled input: a user need not write one. Imports next to nothing.

# pathlib takes longer to import than everything that is done here
# ruff: noqa: PTH118, PTH123, PTH208


PARTS = "parts"
"""The folder beside a `protocol.yaml` with the bundled inputs; the first line of each describes the part."""
_ENDING = ".yaml"


def bundled_parts(folder: str) -> dict[str, str]:
    """Return the parts with a bundled input of the protocol in a folder, each with its description."""
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
