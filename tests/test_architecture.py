"""The page on the architecture names files and functions that exist, and every room."""

import re

import pytest

from tests.places import lacks
from tests.test_imports import ROOMS
from tools.places import ROOT

PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
PLACES = sorted(set(re.findall(r"`(src/treadle/[\w/.-]+\.(?:py(?:::\w+)?|yaml))`", PAGE)))


@pytest.mark.parametrize("place", PLACES)
def test_the_walk_follows_files_that_exist(place: str) -> None:
    assert lacks(place) == ""


def test_every_room_has_its_row() -> None:
    rooms = {path.name for path in (ROOT / "src" / "treadle").iterdir() if (path / "__init__.py").is_file()}
    assert rooms <= set(ROOMS.split()) | {"demos"}
    table = "\n".join(line for line in PAGE.splitlines() if line.startswith("| `"))
    assert {room for room in rooms - {"demos"} if f"`{room}`" not in table} == set()
