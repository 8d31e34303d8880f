"""The loop with real programs: what is posted is taken up, what is lost is tried again, what is silent is nudged."""

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from bench.driven import create, drive_to_end
from bench.ring import ring
from tests.runtime.stage import ONE_STEP, Stage, with_role
from treadle.agents.command import CommandRunner
from treadle.agents.program import Patience
from treadle.engines.driver import Driver
from treadle.errors import PortError
from treadle.kernel.events import Event, Exited, Failed, Idle, Signalled
from treadle.kernel.state import State
from treadle.protocol.model import Protocol, Step
from treadle.runtime.desk import Desk
from treadle.runtime.loop import awaits_only_people, has_ended
from treadle.store.sqlite import Store

LIARS = Path(__file__).with_name("liars.py")


def stage(root: Path, name: str, table: Protocol | None = None) -> Stage:
    argv = (sys.executable, str(LIARS), name)
    runner = CommandRunner(argv=argv, root=root, patience=Patience(answered=5, asked=1))
    return Stage(root, table or with_role(ONE_STEP), runner)


def changed(table: Protocol, **step: object) -> Protocol:
    main = table.graphs["main"]
    work: Step = msgspec.structs.replace(main.steps["work"], **step)
    return msgspec.structs.replace(table, graphs={"main": msgspec.structs.replace(main, steps={"work": work})})


def driven(play: Stage, meanwhile: Callable[[Desk], None] | None = None) -> State:
    return asyncio.run(asyncio.wait_for(play.drive(changed=meanwhile), 60))


def posting(root: Path, *events: Event) -> Callable[[Desk], None]:
    """What somebody in another process does as soon as the agent is at work."""
    waiting = list(events)

    def post(desk: Desk) -> None:
        if waiting and desk.state.acts:
            other = Store(root / "store.db")
            other.post("r", waiting.pop(0))
            other.close()

    return post


def test_an_agent_that_answers_ends_the_run(tmp_path: Path) -> None:
    assert driven(stage(tmp_path, "honest")).outcome == "Done"


def test_abort_reaches_a_run_that_another_process_drives(tmp_path: Path) -> None:
    play = stage(tmp_path, "hangs")
    abort = Signalled(id="s1", ts=0, inst="root", name="abort")
    assert driven(play, posting(tmp_path, abort)).outcome == "Aborted"
    assert "save r root:work#1.1" in (tmp_path / "journal").read_text()
    assert play.store.posted("r") == []


def test_a_paused_run_rests_at_its_next_safe_point(tmp_path: Path) -> None:
    table = changed(with_role(ONE_STEP), attempts=3, routes={**ONE_STEP.graphs["main"].steps["work"].routes})
    play = stage(tmp_path, "says_nothing", table)
    pause = Signalled(id="s1", ts=0, inst="root", name="pause")
    play.store.post("r", pause)
    state = driven(play)
    assert (state.outcome, state.insts["root"].paused) == ("", True)


def test_a_lost_agent_is_tried_again_without_costing_an_attempt(tmp_path: Path) -> None:
    play = stage(tmp_path, "breaks_once")
    state = driven(play)
    assert (state.outcome, state.insts["root"].attempts) == ("Done", {"work": 1})
    assert [(event.id, event.why) for event in play.events() if isinstance(event, Failed)] == [
        ("root:work#1.1:failed", "crash")
    ]


def test_a_silent_agent_is_nudged(tmp_path: Path) -> None:
    play = stage(tmp_path, "waits_to_be_nudged", changed(with_role(ONE_STEP), nudge_after=1))
    assert driven(play).outcome == "Done"
    kinds = [type(event) for event in play.events()]
    assert kinds.count(Idle) == 1
    [claim] = [event for event in play.events() if isinstance(event, Exited)]
    assert play.store.payloads.get(claim.envelope.payload_ref) == {
        "note": "REMINDER: Emit a decision to complete this phase."
    }


def test_a_second_driver_is_refused(tmp_path: Path) -> None:
    play = stage(tmp_path, "hangs")
    refused: list[str] = []

    async def run() -> None:
        first = asyncio.create_task(play.drive(has_ended))
        other = Store(tmp_path / "store.db")
        while not other.run("r").acts:
            await asyncio.sleep(0.01)
        with pytest.raises(PortError, match=r"process \d+ drives run") as error:
            await Driver(other, play).drive("r", rests=awaits_only_people)
        refused.append(str(error.value))
        other.close()
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)

    asyncio.run(run())
    assert "treadle answer" in refused[0]


def test_a_run_goes_on_after_its_driver_was_interrupted(tmp_path: Path) -> None:
    play = stage(tmp_path, "hangs")

    async def interrupted() -> None:
        driving = asyncio.create_task(play.drive())
        while not play.store.run("r").acts:
            await asyncio.sleep(0.01)
        driving.cancel()
        await asyncio.gather(driving, return_exceptions=True)

    asyncio.run(interrupted())
    assert play.store.run("r").owner == ""
    play.runner = CommandRunner(argv=(sys.executable, str(LIARS), "honest"), root=tmp_path)
    assert driven(play).outcome == "Done"


# How many commits a transition costs: one for a run alone, and the same one for all runs that are driven together.

LENGTH = 8
AROUND = 3
"""Commits that are no transition of the ring: to take the lease, to begin, to give the lease back."""


def commits(folder: Path, runs: int) -> int:
    store, names = Store(folder / "store.db", create=True), [f"r{number}" for number in range(runs)]
    for name in names:
        create(store, name, ring(LENGTH))

    async def everyone() -> list[str]:
        return [state.outcome for state in await asyncio.gather(*(drive_to_end(store, name) for name in names))]

    assert asyncio.run(everyone()) == ["Done"] * runs
    assert [store.run(name).seq for name in names] == [LENGTH + 1] * runs
    store.close()
    return store.writer.commits


def test_each_transition_of_a_run_is_committed_before_the_next(tmp_path: Path) -> None:
    assert commits(tmp_path, 1) == LENGTH + AROUND


@pytest.mark.parametrize("runs", [2, 40])
def test_runs_that_are_driven_together_share_their_commits(tmp_path: Path, runs: int) -> None:
    assert commits(tmp_path, runs) <= LENGTH + AROUND
