"""What a run leaves behind, and how it goes."""

from pathlib import Path

from tests.git.place import RUN, Stage, git, repository, run
from treadle.git.checkout import Checkouts
from treadle.git.cleanup import Spare, forget, remove_spare


def test_a_forgotten_run_leaves_its_result_and_nothing_else(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await Stage(repository(tmp_path)).start()
        commit = await stage.work({"a.txt": "a\n"})
        result = stage.integration.names(RUN).result
        await stage.refs.put(result, commit)
        other = stage.integration.names("r2").integration("root")
        await stage.refs.put(other, commit)
        assert await remove_spare(stage.project.worktrees) == Spare()
        assert await forget(stage.lanes, RUN, keep=result)
        assert await forget(stage.lanes, RUN, keep=result) == []
        assert git(stage.root, "for-each-ref", "--format=%(refname)").splitlines() == ["refs/heads/main", result, other]
        assert await forget(stage.lanes, RUN) == [result]
        checkouts = Checkouts(stage.repository, stage.recorder, stage.project.worktrees)
        async with checkouts.clean(commit) as held:
            found = await remove_spare(stage.project.worktrees, dry=True)
            removed = await remove_spare(stage.project.worktrees)
            assert [path.name for path in removed.paths] == ["lane-1"]
            assert found == removed
            assert removed.bytes > 0
            assert held.exists()
        assert [path.name for path in (await remove_spare(stage.project.worktrees)).paths] == ["check-1"]
        assert sorted(path.name for path in stage.project.worktrees.iterdir()) == ["check-1.lock"]

    run(story())
