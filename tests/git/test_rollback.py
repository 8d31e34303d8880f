"""Rollbacks: back to what was accepted, with nothing lost."""

from pathlib import Path

from tests.git.place import RUN, Stage, repository, run, write
from treadle.git.rollback import rollback


def test_a_lane_is_at_its_last_accepted_commit_again(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await Stage(repository(tmp_path)).start()
        accepted = await stage.work({"src/green.py": "g\n"}, step="green")
        job = stage.job(step="refactor")
        lane = await stage.lanes.open(stage.state, job)
        write(lane.path, {"src/green.py": "broken\n", "src/more.py": "m\n"})
        stage.ended(job, "!gate")
        for _ in range(2):
            assert await rollback(stage.lanes, stage.state, "root") == accepted
            assert (lane.path / "src/green.py").read_text() == "g\n"
            assert not (lane.path / "src/more.py").exists()
        wip = await stage.refs.get(stage.integration.names(RUN).of_activity(job.id, "wip"))
        assert stage.cat(wip, "src/green.py") == "broken"

    run(story())
