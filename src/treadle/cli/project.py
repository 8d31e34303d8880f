"""The project around the current folder. Imports next to nothing, so that the fast path can look at it too."""

# pathlib takes longer to import than everything that is done here
# ruff: noqa: PTH110, PTH118, PTH121

import os

OWN_FOLDER = ".treadle"


def repository() -> str:
    """The way from here to the folder of the git repository; empty outside of any."""
    return next((place for place in _upwards() if os.path.exists(os.path.join(place, ".git"))), "")


def root() -> str:
    """The way to the nearest folder with `.treadle`, at most to the repository's; outside of one, this folder."""
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
    except OSError:  # a folder above is gone or closed: what was seen so far is all there is
        pass
    return places
