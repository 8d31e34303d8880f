"""AGENT_FAILURE: →EX, →TO, →ME and →BL halt where they happen, and a person says how it goes on."""

import asyncio
from pathlib import Path

import pytest

from tests.end_to_end.cast import holds
from tests.end_to_end.codes import shows
from tests.end_to_end.dptr import ONE, product
from tests.end_to_end.ending import RUN, End
from tests.end_to_end.world import Move, World
from tests.fakes import StillClock
from treadle.config.project import Project
from treadle.engines.client import Client
from treadle.memory.store import FILE
from treadle.runtime.world import SystemClock

PLAN, DESIGN = f"{ONE.at}/plan", f"{ONE.at}/design"
RETRIED = ["halt retry", "spec PC", "critic PA"]


def planned(place: Path, clock: StillClock | None = None) -> World:
    """A world whose story ends when the plan is accepted: nobody starts phase 0."""
    world = World(place, **product(ONE), clock=clock)
    world.agent("phase0", ONE.at, exit={"type": "BL", "message": "That is another story."})
    return world


@pytest.mark.soak
@shows("EX", "BL")
def test_an_agent_that_is_lost_is_started_again_twice_and_then_halts(place: Path) -> End:
    world = planned(place)
    world.agent("spec", PLAN, misbehave="crash")
    end = world.run({f"{PLAN}:halt": ("retry", "Go on.")})

    assert end.steps(PLAN) == ["spec !crash", *RETRIED], end.told
    asked = end.ask(f"{PLAN}:halt")
    assert [it for it in (f"HALT at spec of {PLAN}, after 1 of 3 ", "(→EX).") if it not in asked] == []
    assert "- abort: " in asked
    assert "## A person says\n> Go on." in end.prompt(f"{PLAN}:spec#2.1")
    return end


@pytest.mark.soak
@shows("BL")
def test_an_agent_without_a_needed_permission_is_blocked_and_halts(place: Path) -> End:
    world = planned(place)
    world.agent("spec", PLAN, misbehave="blocked")
    end = world.run({f"{PLAN}:halt": "retry"})

    assert end.steps(PLAN) == ["spec !blocked", *RETRIED], end.told
    asked = end.ask(f"{PLAN}:halt")
    assert [it for it in (f"HALT at spec of {PLAN}, after 1 of 3 ", "(→BL).") if it not in asked] == []
    assert "a command: the script says so" in asked
    return end


@pytest.mark.soak
@shows("TO")
def test_an_agent_that_takes_too_long_is_ended_and_halts(place: Path) -> End:
    clock, passing = StillClock(SystemClock().now()), list[asyncio.Future[None]]()  # as a person's word has it
    world = planned(place, clock)
    world.agent("spec", PLAN, misbehave="hang")

    async def half_an_hour() -> None:
        while not holds(world.cast.state, f"{PLAN}:halt"):
            await asyncio.sleep(0.02)
            await clock.advance(60)

    late = Move((f"{PLAN}:spec#1.1",), lambda _: passing.append(asyncio.ensure_future(half_an_hour())))
    end = world.run({f"{PLAN}:halt": "retry"}, [late])

    assert end.steps(PLAN) == ["spec !timeout", *RETRIED], end.told
    asked = end.ask(f"{PLAN}:halt")
    assert [it for it in (f"HALT at spec of {PLAN}, after 1 of 3 ", "(→TO).") if it not in asked] == []
    return end


@pytest.mark.soak
@shows("ME")
def test_a_damaged_memory_halts_agents_with_a_dialogue(place: Path) -> End:
    world = planned(place)
    said: list[str] = []
    memory = Project(world.root).local / FILE

    def damage(_: Client) -> None:
        memory.parent.mkdir(parents=True, exist_ok=True)
        memory.write_bytes(b"this is no memory, and nobody knows what it was\n" * 200)

    def mend(client: Client) -> None:
        memory.unlink()
        said.append(client.answer(RUN, "retry").id)

    end = world.run(moves=[Move((f"{DESIGN}:critic#1.1",), damage), Move((f"{PLAN}:halt",), mend)])

    assert end.steps(PLAN) == ["spec !store", *RETRIED], end.told
    assert any("cannot be kept" in it.text for it in end.heard if it.id == said[0])
    return end


@pytest.mark.soak
@shows("BL")
def test_aborting_a_part_ends_the_whole(place: Path) -> End:
    end = planned(place).run({f"{ONE.at}:halt": "abort", "root:failed": "abort"})

    assert end.outcomes == {"root": "Aborted", ONE.at: "Aborted", DESIGN: "Accepted", PLAN: "Planned"}
    assert " modules of the brief." in end.ask("root:failed")
    return end
