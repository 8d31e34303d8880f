"""RIPER's five commands, given as a person gives them: each starts a mode again, if what the mode needs is there."""

from collections.abc import Callable
from contextlib import chdir
from pathlib import Path

import pytest

from tests.cli.treadle import treadle
from tests.end_to_end.ending import RUN
from tests.end_to_end.riper import CYCLE, LABEL, critique, says, world_of
from tests.end_to_end.world import Move, World
from tests.refusals import refused
from treadle.engines.client import Client

pytestmark = pytest.mark.soak

EN = says("EN", reason="Whether zero things have a plural.")


def given(*words: str) -> Callable[[Client], object]:
    return lambda client: client.go(RUN, *words)


def refuses(why: str, *words: str) -> Callable[[Client], object]:
    def tried(client: Client) -> None:
        with refused("go.refused", why):
            client.go(RUN, *words)

    return tried


def test_every_command_starts_its_mode_and_none_before_its_time(place: Path) -> None:
    world = World(place, **world_of())
    for _ in range(4):
        world.agent("O4C", exit=EN)
    world.agent("green", LABEL.at, exit=says("BL", "No disk."))
    fault = critique("Zero is not tested.", LABEL.test_file, "Test it.")
    world.agent(
        "O6V",
        exit=says("Validated", verdict="Failed", report="# Validation\nZero things are open.\n", findings=[fault]),
    )
    world.as_usual("O6V")
    early = [
        ("/arch-critic", "O2A needs O1P.Designed"),
        ("/p", "O3P needs O1P.Designed, O2A_found.AllOk"),
        ("/plan-critic", "O4C needs O1P.Designed, O2A_found.AllOk"),
        ("/tdd-execute", "O5T needs O1P.Designed, O2A_found.AllOk, O4C.PA"),
        ("/rev", "O6V needs O1P.Designed, O2A_found.AllOk, O4C.PA, O5T.AllOk"),
    ]

    end = world.run(
        goes=False,
        moves=[
            *(Move(("root:O1P",), refuses(why, command)) for command, why in early),
            Move(("root:O1P",), given("O1P")),
            Move(("root:O4C.EN", "root:escalate"), given("/arch-critic", "Λ₁")),
            Move(("root:O4C#2.1", "root:escalate"), given("/arch-critic", "Λ₂", "labels")),
            Move(("root:O4C#3.1", "root:escalate"), given("/p")),
            Move(("root:O4C#4.1", "root:escalate"), given("/plan-critic")),
            Move(("root:manual",), given("/tdd-execute")),
            Move(("root:findings",), given("/rev")),
        ],
    )

    assert end.outcome == "Done", end.told
    loop = ["O3P PC", "O4C EN", "person go"]
    assert end.steps() == [
        *("person go", "O1P Designed", "O2A ACCEPT", *loop),
        *("O2A ACCEPT", *loop),
        *loop,
        *loop,
        *("O4C PA", "O6V_failed FailureReport", "person go"),
        *("O6V Validated.Failed", "person go", "O6V Validated.Passed", "deliver MergeComplete"),
    ]
    assert [id_ for id_ in end.outcomes if "labels" in id_] == ["root/labels", "root/labels~2", "root/labels~3"]
    assert [end.steps(LABEL.at), end.steps(f"{LABEL.at}~2")] == [["red RC", "green BL"], CYCLE]


def test_a_command_with_bad_arguments_is_refused_with_the_right_form(place: Path) -> None:
    world = World(place, **world_of())
    world.agent("O4C", exit=EN)
    end = world.run()
    assert [question.id for question in end.open] == ["root:escalate#1.1"]

    def lacks(words: str, code: str, *data: str) -> list[str]:
        with chdir(end.root):
            result = treadle("go", RUN, *words.split())
        assert (result.code, result.error) == (2, code), result.out
        said = " ".join(f"{result.out} {result.err}".split())
        return [it for it in data if it not in said]

    first, second = "`treadle go story /arch-critic Λ₁`", "`treadle go story /arch-critic Λ₂ MODULE`"
    assert lacks("/arch-critic Λ3", "go.unknown", "'Λ3'") == []
    assert lacks("/arch-critic x", "go.unknown", "'x'", f"{first} or {second}") == []
    assert lacks("/arch-critic modul", "go.unknown", "did you mean 'module'?") == []
    assert lacks("/arch-critic Λ2", "go.words", "which module", f"{second}; choose from labels") == []
    assert lacks("/arch-critic 2 label", "go.unknown", "'label'", "did you mean 'labels'? choose from labels") == []
    assert lacks("/arch-critic 1 labels", "go.words", "too many words", first) == []
    assert lacks("/p labels", "go.words", "/p takes no words", "`treadle go story /p`") == []
    assert lacks("/arch-critik", "go.unknown", "did you mean '/arch-critic'?") == []
    assert lacks("/rev", "go.refused", "root of story", "/rev now: O6V needs O4C.PA, O5T.AllOk") == []
    with chdir(end.root):
        again = treadle("go", RUN, "/arch-critic", "module", "labels")
        log = treadle("log", RUN).out
    assert "/arch-critic (O2A_modules for labels)" in again.out
    assert " next (root/labels~2:audit#1.1)" in again.out
    assert " go to root:O2A_modules for labels" in log


def test_a_plan_for_an_earlier_design_is_not_executed(place: Path) -> None:
    """ENTRY: the accepted plan is there, but the design was made anew since."""
    world = World(place, **world_of())
    world.agent("green", LABEL.at, exit=says("BL", "No disk."))
    world.as_usual("O2A")
    world.agent("O2A", exit=says("REVISE", "Not so.", critiques=[critique("Zero.", "the design", "Say it.")]))
    stale = "O4C.PA again, because O1P.Designed has changed"
    end = world.run(
        {"root:manual": "redesign"},
        goes=False,
        moves=[
            Move(("root:O1P",), given("O1P")),
            Move(("root:manual.redesign", "root:O1P"), given("O1P")),
            Move(("root:O2A.REVISE", "root:O1P"), refuses(stale, "/tdd-execute")),
            Move(("root:O2A.REVISE", "root:O1P"), lambda client: client.abort(RUN)),
        ],
    )

    assert end.outcome == "Aborted", end.told
    assert end.steps()[-4:] == ["person go", "O1P Designed", "O2A REVISE", "person abort"], end.steps()
