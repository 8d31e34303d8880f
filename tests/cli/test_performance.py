"""The parts of a demo: scenes on a screen, the stand-in for a person, and the driver process."""

from pathlib import Path
from typing import Any, Final

import pytest
from rich.console import Console

from tests.refusals import refused
from treadle.cli.driver_process import DriverProcess, call_treadle
from treadle.cli.performance import Scene, StandIn, draw_scene, report
from treadle.protocol.load import load
from treadle.testing.demos import Demo, DemoAnswer
from treadle.testing.scenario import Scenario, items

V3 = load("v3")
START = Scene("A run starts: the planner reads the spec.", Scenario(V3).state)
CAPTION = "The planner writes interfaces and a contract suite, and hands two parts to children. Both begin at once."


def split() -> Scene:
    return Scene(CAPTION, Scenario(V3).says("InitWork", childSpecs=items("lexer", "parser")).state)


@pytest.mark.parametrize(("width", "height"), [(80, 24), (80, 8), (30, 10), (200, 6)])
def test_a_scene_fits_and_shows_working_instances_and_the_last_caption(width: int, height: int) -> None:
    screen = Console(width=width, height=height, color_system=None)
    with screen.capture() as capture:
        screen.print(draw_scene(V3, split(), (*[START.caption] * 7, CAPTION), screen))
    lines = capture.get().splitlines()
    assert len(lines) < height
    assert any("● lexer" in line or "● parser" in line for line in lines)
    assert CAPTION.rsplit(maxsplit=1)[-1] in lines[-1]


def test_a_screen_with_no_room_at_all_still_has_a_line_of_the_tree() -> None:
    screen = Console(width=40, height=2, color_system=None)
    with screen.capture() as capture:
        screen.print(draw_scene(V3, START, (START.caption,), screen))
    assert "● root" in capture.get()


def test_without_a_terminal_each_scene_prints_its_log_line_and_its_caption(
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


RIPER: Final = load("riper")


def stand_in(**told: Any) -> StandIn:
    return StandIn(Demo(title="", run="it", scenes=(), further=(), **told))


def words(who: StandIn, run: Scenario) -> list[str]:
    return [" ".join(deed.words) for deed in who.due(run.protocol, run.state)]


def test_each_step_that_waits_for_a_go_gets_it_once_per_visit() -> None:
    run, who = Scenario(RIPER, {"modules": ()}), stand_in(starts=("root:O1P",))
    assert words(who, run) == ["go it O1P"]
    assert words(who, run) == []
    run.signals("go", step="O1P").says("Designed", modules=items("a"))
    assert words(who, run) == []
    run.says("REVISE")
    assert words(who, run) == ["go it O1P"]


def test_a_step_that_the_demo_does_not_name_waits_for_a_person() -> None:
    run = Scenario(RIPER, {"modules": ()})
    assert words(stand_in(), run) == words(stand_in(starts=("root/*:O1P",)), run) == []


def test_a_go_below_the_root_names_its_instance() -> None:
    run = Scenario(load("dptr"), {"modules": items("a")})
    run.signals("go", step="architecture").says("Architecture", modules=()).signals("go", step="audit").says("ACCEPT")
    assert words(stand_in(starts=("root/*:*",)), run) == ["go it design --at root/a/design"]


def test_a_question_is_answered_by_its_step_even_if_it_was_entered_from_another() -> None:
    run = Scenario(RIPER, {"modules": ()}).signals("go", step="O1P").fails("blocked")
    who = stand_in(answers=(DemoAnswer("root:stopped", "retry", "Once more."), DemoAnswer("root:manual", "close")))
    assert [id_.partition("#")[0] for id_ in run.state.asks] == ["root:stopped@O1P"]
    assert words(who, run) == ["answer it root:stopped retry --note Once more."]
    assert words(who, run) == []


def test_a_command_that_fails_is_an_error_with_its_words(tmp_path: Path) -> None:
    with refused("demo.failed", "`treadle status`", str(tmp_path)):
        call_treadle(tmp_path, "status")


def test_a_driver_can_be_killed_and_leaves_its_words(tmp_path: Path) -> None:
    with DriverProcess(tmp_path) as driving:
        assert driving.is_gone
        driving.start("serve")
        driving.kill()
        assert driving.is_gone
        driving.start("resume", "nothing")
        driving.wait()
        assert driving.last_words.startswith("treadle: ")


def test_the_driver_ends_with_its_context(tmp_path: Path) -> None:
    with DriverProcess(tmp_path) as driving:
        driving.start("protocol", "sim", "v3", "--runs", "100000")
        pid = driving.pid
        assert not driving.is_gone
    assert not Path("/proc", str(pid)).exists()
