"""Rebases: without an agent where they go through, prepared for one where they do not."""

from pathlib import Path

import pytest

from tests.git.place import RUN, Stage, git, repository, run, write
from tests.git.test_merge import Checks, merge
from treadle.git.lanes import LaneRules
from treadle.git.merge import MergeRefusal, rebase_instance

CHILD = "root/k0"
GRANDCHILD = "root/k0/g"


async def scene(tmp_path: Path, files: dict[str, str], sibling: dict[str, str]) -> Stage:
    """A child with two commits, and a sibling that was merged meanwhile."""
    stage = await Stage(repository(tmp_path)).start()
    stage.add(CHILD)
    stage.add("root/k1")
    await stage.work({"src/k0.py": "k = 0\n"}, inst=CHILD, step="tests")
    await stage.work(files, inst=CHILD)
    await stage.head(CHILD)
    await stage.work(sibling, inst="root/k1")
    await merge(stage, inst="root/k1", act="root/k1:merge#1.1")
    return stage


def test_a_clean_rebase_replays_each_commit(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await scene(tmp_path, {"src/more.py": "m\n"}, {"src/k1.py": "k\n"})
        old, parent = await stage.head(CHILD), await stage.head()
        done = await rebase_instance(stage.integration, stage.state, CHILD)
        assert done.is_clean
        assert done.base == parent
        head = await stage.integration.integrate(stage.state, CHILD)
        assert (head.base, head.drift) == (parent, "")
        assert git(stage.root, "rev-list", "--count", f"{parent}..{head.commit}") == "2"
        assert stage.cat(head.commit, "src/k1.py") == "k"
        assert head.commit != old
        assert await rebase_instance(stage.integration, stage.state, CHILD) == done
        assert await stage.head(CHILD) == head.commit

    run(story())


def test_leftovers_of_a_step_that_keeps_them_follow(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await scene(tmp_path, {"src/more.py": "m\n"}, {"src/k1.py": "k\n"})
        stage.rules = LaneRules(keep_work=True)
        job = stage.job(CHILD, "fix", "1.1")
        lane = await stage.lanes.open(stage.state, job)
        write(lane.path, {"src/half.py": "half\n"})
        await rebase_instance(stage.integration, stage.state, CHILD)
        again = await stage.lanes.open(stage.state, stage.job(CHILD, "fix", "1.2"))
        assert again.base == await stage.head(CHILD) != lane.base
        assert (again.path / "src/half.py").read_text() == "half\n"
        assert (again.path / "src/k1.py").exists()
        recorded = await stage.lanes.record(RUN, f"{CHILD}:fix#1.2", at=0)
        assert recorded.paths == ("src/half.py",)

    run(story())


def test_a_conflict_is_prepared_for_an_agent_and_resolved_by_its_work(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await scene(tmp_path, {"README.md": "child\n"}, {"README.md": "sibling\n"})
        old, parent = await stage.head(CHILD), await stage.head()
        done = await rebase_instance(stage.integration, stage.state, CHILD)
        assert (done.is_clean, done.base, done.files) == (False, parent, ("README.md",))
        assert await stage.head(CHILD) == old
        assert (await rebase_instance(stage.integration, stage.state, CHILD)).files == ("README.md",)
        job = stage.job(CHILD, "adapt")
        lane = await stage.lanes.open(stage.state, job)
        text = (lane.path / "README.md").read_text()
        assert "<<<<<<<" in text
        assert "sibling" in text
        assert (lane.path / "src/k0.py").exists()
        write(lane.path, {"README.md": "sibling and child\n"})
        recorded = await stage.lanes.record(RUN, job.id, at=0)
        assert recorded.paths == ("README.md",)
        assert git(stage.root, "rev-parse", f"{recorded.commit}^") == parent
        await stage.passed(job, recorded.commit, "RebaseAdapted")
        stage.ended(job, "RebaseAdapted")
        head = await stage.integration.integrate(stage.state, CHILD)
        assert (head.commit, head.base, head.drift) == (recorded.commit, parent, "")
        assert (await rebase_instance(stage.integration, stage.state, CHILD)).is_clean

    run(story())


@pytest.mark.parametrize(("merged", "files"), [({"src/g.py": "g"}, ()), ({"README.md": "grandchild"}, ("README.md",))])
def test_merges_of_a_child_during_its_parents_adaptation_are_kept(
    tmp_path: Path, merged: dict[str, str], files: tuple[str, ...]
) -> None:
    async def story() -> None:
        stage = await scene(tmp_path, {"README.md": "child\n"}, {"README.md": "sibling\n"})
        parent = await stage.head()
        await rebase_instance(stage.integration, stage.state, CHILD)
        job = stage.job(CHILD, "adapt")
        lane = await stage.lanes.open(stage.state, job)
        stage.add(GRANDCHILD)
        await stage.work({path: f"{text}\n" for path, text in merged.items()}, inst=GRANDCHILD)
        await merge(stage, inst=GRANDCHILD, act=f"{GRANDCHILD}:merge#1.1")
        write(lane.path, {"README.md": "sibling and child\n"})
        recorded = await stage.lanes.record(RUN, job.id, at=0)
        await stage.passed(job, recorded.commit, "RebaseAdapted")
        stage.ended(job, "RebaseAdapted")
        head = await stage.integration.integrate(stage.state, CHILD)
        assert head.base == parent
        assert await stage.integration.integrate(stage.state, CHILD) == head
        assert ((await stage.integration.drift(head)).files if head.drift else ()) == files
        for path, text in merged.items():
            assert text in stage.cat(head.start, path)
        assert "sibling and child" in stage.cat(head.start, "README.md")
        assert stage.cat(head.commit, "README.md") == "sibling and child"

    run(story())


def test_an_unresolved_conflict_is_not_merged(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await scene(tmp_path, {"README.md": "child\n"}, {"README.md": "sibling\n"})
        await rebase_instance(stage.integration, stage.state, CHILD)
        refused = await merge(stage)
        assert isinstance(refused, MergeRefusal)
        assert (refused.details, refused.files) == ("not resolved yet: README.md", ("README.md",))

    run(story())


def test_tests_that_changed_their_verdict_are_a_drift(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await scene(tmp_path, {"src/more.py": "m\n"}, {"src/k1.py": "k\n"})
        old = await stage.head(CHILD)
        done = await rebase_instance(stage.integration, stage.state, CHILD, Checks("same_colour"))
        assert (done.is_clean, done.changed_tests, done.files) == (False, ("t::one",), ())
        assert await rebase_instance(stage.integration, stage.state, CHILD) == done
        assert await stage.head(CHILD) == old
        lane = await stage.lanes.open(stage.state, stage.job(CHILD, "adapt"))
        assert (lane.path / "src/k1.py").exists()
        assert (lane.path / "src/more.py").exists()

    run(story())


def test_a_root_follows_the_users_branch(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await Stage(repository(tmp_path)).start()
        await stage.work({"a.txt": "a\n"})
        write(stage.root, {"users.txt": "u\n"})
        git(stage.root, "add", "users.txt")
        git(stage.root, "commit", "-q", "-m", "the user goes on")
        done = await rebase_instance(stage.integration, stage.state, "root")
        assert done.base == git(stage.root, "rev-parse", "main")
        assert stage.cat(await stage.head(), "users.txt") == "u"

    run(story())


def test_work_recorded_before_a_child_merged_is_folded_on_top(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await Stage(repository(tmp_path)).start()
        stage.add(CHILD)
        await stage.work({"src/k0.py": "k = 0\n"}, inst=CHILD)
        job = stage.job(step="tests")
        lane = await stage.lanes.open(stage.state, job)
        await merge(stage)
        merged = await stage.head()
        write(lane.path, {"tests/test_root.py": "assert 1\n"})
        recorded = await stage.lanes.record(RUN, job.id, at=0)
        assert recorded.paths == ("tests/test_root.py",)
        await stage.passed(job, recorded.commit, "TestsReady")
        stage.ended(job, "TestsReady")
        head = await stage.head()
        assert git(stage.root, "rev-parse", f"{head}^") == merged
        assert stage.cat(head, "src/k0.py") == "k = 0"
        assert stage.cat(head, "tests/test_root.py") == "assert 1"
        assert await stage.head() == head

    run(story())


def test_parallel_work_in_one_file_goes_to_the_next_agent(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await Stage(repository(tmp_path)).start()
        stage.add(CHILD)
        await stage.work({"README.md": "child\n"}, inst=CHILD)
        job = stage.job(step="tests")
        lane = await stage.lanes.open(stage.state, job)
        await merge(stage)
        base = (await stage.integration.integrate(stage.state, "root")).base
        write(lane.path, {"README.md": "parent\n"})
        recorded = await stage.lanes.record(RUN, job.id, at=0)
        await stage.passed(job, recorded.commit)
        stage.ended(job, "Done")
        next_ = stage.job(step="impl")
        lane = await stage.lanes.open(stage.state, next_)
        assert "<<<<<<<" in (lane.path / "README.md").read_text()
        write(lane.path, {"README.md": "both\n"})
        solved = await stage.lanes.record(RUN, next_.id, at=0)
        await stage.passed(next_, solved.commit)
        stage.ended(next_, "Done")
        head = await stage.integration.integrate(stage.state, "root")
        assert (head.commit, head.base, head.drift) == (solved.commit, base, "")

    run(story())
