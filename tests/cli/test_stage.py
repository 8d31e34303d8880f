"""A scene on screens of all sizes."""

import pytest
from rich.console import Console

from treadle.cli.stage import picture, report
from treadle.cli.story import Scene
from treadle.protocol.load import load
from treadle.testing.scenario import Scenario, items

V3 = load("v3")
START = Scene("A run starts: the planner reads the spec.", Scenario(V3).state)
CAPTION = "The planner writes interfaces and a contract suite, and hands two parts to children. Both begin at once."


def split() -> Scene:
    return Scene(CAPTION, Scenario(V3).says("InitWork", childSpecs=items("lexer", "parser")).state)


@pytest.mark.parametrize(("width", "height"), [(80, 24), (80, 8), (30, 10), (200, 6)])
def test_a_scene_fits_and_shows_who_works_and_what_has_happened(width: int, height: int) -> None:
    screen = Console(width=width, height=height, color_system=None)
    with screen.capture() as capture:
        screen.print(picture(V3, split(), (*[START.caption] * 7, CAPTION), screen))
    lines = capture.get().splitlines()
    assert len(lines) < height
    assert any("● lexer" in line or "● parser" in line for line in lines)
    assert CAPTION.rsplit(maxsplit=1)[-1] in lines[-1]


def test_a_screen_with_no_room_at_all_still_has_a_line_of_the_tree() -> None:
    screen = Console(width=40, height=2, color_system=None)
    with screen.capture() as capture:
        screen.print(picture(V3, START, (START.caption,), screen))
    assert "● root" in capture.get()


def test_without_a_terminal_there_is_a_line_of_the_log_and_what_is_said_about_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    quiet, loud = START._replace(caption="", log="  1.0s  a"), START._replace(caption="Look\x1b[2J!", log="  2.0s  b")
    report([quiet, loud, START._replace(log="")])
    assert capsys.readouterr().out.splitlines() == [
        "  1.0s  a",
        "  2.0s  b",
        "        Look␛[2J!",
        f"        {START.caption}",
    ]
