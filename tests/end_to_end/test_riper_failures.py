"""RIPER's failure protocols: no retry, straight to Ω₆ⱽ with a failure analysis, and then a person decides."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.cast import holds
from tests.end_to_end.ending import RUN, End
from tests.end_to_end.riper import ANALYSIS, CYCLE, LABEL, PRICE, SHOP, critique, says, world_of
from tests.end_to_end.world import Move, World
from tests.fakes import StillClock
from treadle.runtime.world import SystemClock

pytestmark = pytest.mark.soak

TI = says("TI", issues=[{"test": "test_label", "issue": "One cup is no cups.", "suggestion": "Say 1 cup."}])
BL = says("BL", "The disk is read-only; I tried twice.")


def failed(end: End, left: str, said: str = "") -> str:
    """The cycle has failed there, at once, and what the analysis was told about it."""
    step = left.split(".", maxsplit=1)[0]
    attempts = [act for act in end.deeds if act.startswith(f"{LABEL.at}:{step}#")]
    assert attempts == [f"{LABEL.at}:{step}#1.1"], "no retry"
    assert end.outcomes[LABEL.at] == "Failed"
    assert PRICE.at not in end.outcomes, "the next cycle has not begun"
    told = end.prompt("root:O6V_failed#1.1")
    assert f"It stopped at {left}. What was said there:" in told
    assert said in told
    return told


@pytest.mark.parametrize(("step", "turn", "said"), [("green", TI, "One cup is no cups."), ("red", BL, "read-only")])
def test_a_blocked_agent_stops_the_execution(place: Path, step: str, turn: dict[str, Any], said: str) -> None:
    world = World(place, **world_of(SHOP))
    world.agent(step, LABEL.at, exit=turn)

    end = world.run({"root:manual": "close"})

    assert (end.outcome, end.steps()[-2:]) == ("Failed", ["O6V_failed FailureReport", "manual close"])
    failed(end, f"{step}.{turn['type']}", said)
    question = end.ask("root:manual")
    assert " GREEN_GATE, classified as DE." in " ".join(question.split())
    assert "> The implementation forgets the plural." in question
    assert "> Plan the plural as a cycle of its own." in question
    written = end.git(
        "show", f"{end.payload('root:O6V_failed#1.1').get('commit', 'treadle/story/root/int')}:{ANALYSIS}"
    )
    assert written.startswith("# Failure analysis")


def test_a_session_that_breaks_stops_the_execution(place: Path) -> None:
    """→EX, AGENT_FAILURE: the program is started again by itself, which is no attempt; then it is over."""
    world = World(place, **world_of(SHOP))
    world.agent("green", LABEL.at, write={LABEL.file: "half = \n"}, misbehave="crash")

    end = world.run({"root:manual": "abort"})

    assert end.outcome == "Aborted"
    assert end.steps(LABEL.at) == ["red RC", "green !crash"]
    failed(end, "green.!crash")


def test_a_session_that_takes_too_long_stops_the_execution(place: Path) -> None:
    """→TO."""
    clock = StillClock(SystemClock().now())  # a person's word has the time of the system
    world = World(place, clock=clock, **world_of(SHOP))
    world.agent("red", LABEL.at, misbehave="hang")
    passing: list[asyncio.Future[None]] = []

    async def too_long() -> None:
        while not holds(world.cast.state, LABEL.at):
            await clock.advance(60)
            await asyncio.sleep(0.05)

    end = world.run(
        {"root:manual": "close"},
        moves=[Move((f"{LABEL.at}:red#1.1",), lambda _: passing.append(asyncio.ensure_future(too_long())))],
    )

    assert end.steps(LABEL.at) == ["red !timeout"], end.told
    failed(end, "red.!timeout")


def test_a_dialogue_that_cannot_be_kept_stops_the_execution(place: Path) -> None:
    """→ME."""
    world = World(place, **world_of(SHOP))
    world.agent("O4C", run=[["sh", "-c", f"echo broken > {world.root}/.treadle/local/memory.db"]], exit=says("PA"))

    end = world.run({"root:manual": "close"})

    assert end.steps(LABEL.at) == ["red !store"], end.told
    failed(end, "red.!store", "memory")


def test_a_person_replans_the_rest_and_finished_cycles_stay(place: Path) -> None:
    world = World(place, **world_of(SHOP))
    world.agent("green", PRICE.at, exit=BL)
    world.agent(
        "O6V_failed",
        exit=says(
            "FailureReport",
            classification="Environment",
            failedGate="green",
            rootCause="The disk was full.",
            options=["Try again."],
            failure_analysis="# Failure analysis\nThe disk.\n",
        ),
    )

    end = world.run({"root:manual": ("replan", "There is room again.")})

    assert end.outcome == "Done", end.told
    assert [end.steps(cycle) for cycle in (LABEL.at, PRICE.at, f"{PRICE.at}~2")] == [
        CYCLE,
        ["red RC", "green BL"],
        CYCLE,
    ]
    assert "Finished: TDD1." in end.prompt("root:O6V_failed#1.1")
    planner = end.prompt("root:O3P#2.1")
    assert "(Environment, at green)\n> The disk was full." in planner
    assert " finished stay so" in planner
    assert "## A person says\n> There is room again." in planner
    assert end.standings() == {"AC-1": "verified by root/TDD1", "AC-2": "verified by root/TDD2~2"}


def test_a_person_goes_back_to_plan_mode_with_the_analysis(place: Path) -> None:
    world = World(place, **world_of(SHOP))
    fault = critique("Prices have no currency.", "the design", "Say which.")
    world.agent("de_cross_review", LABEL.at, exit=says("QUALITY_FAILURE", gate="design", critiques=[fault]))

    end = world.run(
        {"root:manual": ("redesign", "Name the currency.")},
        goes=False,
        moves=[
            Move(("root:O1P",), lambda client: client.go(RUN)),
            Move(("root:manual.redesign", "root:O1P"), lambda client: client.abort(RUN)),
        ],
    )

    assert end.steps()[-3:] == ["O6V_failed FailureReport", "manual redesign", "person abort"], end.told
