"""A scene on screens of all sizes."""

from itertools import islice

import pytest
from rich.console import Console

from treadle.cli.stage import picture
from treadle.cli.story import told
from treadle.protocol.load import load

V3 = load("v3")


@pytest.mark.parametrize(("width", "height"), [(80, 24), (80, 8), (30, 10), (200, 6)])
def test_a_scene_fits_and_shows_who_works_and_what_has_happened(width: int, height: int) -> None:
    screen = Console(width=width, height=height, color_system=None)
    scenes = list(islice(told(V3), 20))
    with screen.capture() as capture:
        screen.print(picture(V3, scenes[-1], tuple(scene.caption for scene in scenes[-8:]), screen))
    lines = capture.get().splitlines()
    assert len(lines) < height
    assert any("● parser" in line for line in lines)
    assert scenes[-1].caption.split()[-1] in lines[-1]


def test_a_screen_with_no_room_at_all_still_has_a_line_of_the_tree() -> None:
    screen = Console(width=40, height=2, color_system=None)
    [scene] = islice(told(V3), 1)
    with screen.capture() as capture:
        screen.print(picture(V3, scene, (scene.caption,), screen))
    assert "● root" in capture.get()
