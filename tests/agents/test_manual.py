"""A person as the agent, played by the test."""

import asyncio
from pathlib import Path

import pytest

from treadle.agents.contract import put_answer
from treadle.agents.manual import Manual
from treadle.ports import Work
from treadle.testing.runner_contract import Behaviour, Clause, Stage, again, clauses, make_work


class ManualBench:
    behaviours: tuple[Behaviour, ...] = ("answers", "works")

    def lane(self, folder: Path) -> Path:
        lane = folder / "lane"
        lane.mkdir()
        return lane

    def runner(self, behaviour: Behaviour, work: Work) -> Manual:  # noqa: ARG002
        return Manual()

    async def help(self, behaviour: Behaviour, work: Work) -> None:
        if behaviour == "answers":
            put_answer(work, {"type": "Ok"})


BENCH = ManualBench()


@pytest.mark.parametrize("clause", clauses(BENCH), ids=lambda clause: clause.name)
def test_contract(clause: Clause, tmp_path: Path) -> None:
    clause.hold(BENCH, tmp_path)


def test_the_person_sees_the_prompt_the_lane_and_the_command(tmp_path: Path) -> None:
    stage = Stage(BENCH, "works", make_work(tmp_path, BENCH.lane(tmp_path)), [])
    session = asyncio.run(Manual().start(stage.work, stage.watch))
    [instructions] = [progress.text for progress in stage.heard]
    for part in (str(stage.work.bundle / "prompt.md"), str(stage.work.lane), "`treadle done`"):
        assert part in instructions
    assert asyncio.run(session.nudge("Still there?"))
    assert stage.heard[1].text == "Still there?"


def test_the_answer_of_an_earlier_try_does_not_count(tmp_path: Path) -> None:
    work = make_work(tmp_path, BENCH.lane(tmp_path))
    put_answer(work, {"type": "Ok"})

    async def restart() -> None:
        session = await Manual().start(again(work), lambda _: None)
        assert await Manual().harvest(again(work)) is None
        put_answer(again(work), {"type": "Ok"})
        assert (await session.wait()).how == "done"

    asyncio.run(restart())
