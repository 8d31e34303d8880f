"""Lanes: where they start, what they keep, and that nothing an agent wrote is lost."""

import asyncio
import os
from pathlib import Path
from typing import TypeVar

import msgspec
import pytest
from immutables import Map

from tests.git.place import FILES, RUN, Stage, git, repository, run, write
from treadle.errors import PortError
from treadle.git.lanes import Bystanders, LaneRules, describe_changes, open_git
from treadle.git.slots import SlotLease
from treadle.kernel.commands import RunAgent, RunChecks
from treadle.kernel.reduce import outstanding
from treadle.kernel.state import State
from treadle.ports import Workspace
from treadle.protocol.load import load
from treadle.testing.scenario import Scenario


def snapshot(root: Path) -> tuple[str, ...]:
    """Everything of the user's that a run must not touch."""
    refs = [line for line in git(root, "for-each-ref").splitlines() if "treadle" not in line]
    index = (root / ".git" / "index").read_bytes().hex()
    config = (root / ".git" / "config").read_text()
    return (*refs, index, config, git(root, "rev-parse", "HEAD"), git(root, "status", "--porcelain"))


def test_a_lane_starts_at_the_commit_where_the_run_started(tmp_path: Path) -> None:
    root = repository(tmp_path)
    write(root, {"dirty.txt": "the user's own", "src/app.py": "changed by the user\n"})
    before = snapshot(root)

    async def story() -> None:
        stage = await Stage(root).start()
        lane = await stage.lanes.open(stage.state, stage.job())
        assert lane.base == git(root, "rev-parse", "HEAD")
        assert (lane.path / "src/app.py").read_text() == FILES["src/app.py"]
        assert not (lane.path / "dirty.txt").exists()
        assert git(lane.path, "status", "--porcelain") == ""
        assert git(lane.path, "log", "--format=%s") == "first"

    run(story())
    assert snapshot(root) == before


def test_the_next_activity_starts_from_accepted_work(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await Stage(repository(tmp_path)).start()
        commit = await stage.work({"src/new.py": "x = 1\n"}, step="tests")
        lane = await stage.lanes.open(stage.state, stage.job(step="impl"))
        assert lane.base == commit
        assert (lane.path / "src/new.py").read_text() == "x = 1\n"
        names = stage.integration.names(RUN)
        assert await stage.refs.get(names.integration("root")) == commit
        assert await stage.refs.get(names.of_activity("root:tests#1.1", "accepted")) == commit

    run(story())


@pytest.mark.parametrize("key", ["!gate", "!timeout", "!crash"])
def test_refused_and_failed_work_is_not_folded(tmp_path: Path, key: str) -> None:
    async def story() -> None:
        stage = await Stage(repository(tmp_path)).start()
        commit = await stage.work({"src/new.py": "x = 1\n"}, key=key)
        lane = await stage.lanes.open(stage.state, stage.job(n="1.2"))
        assert lane.base == git(stage.root, "rev-parse", "HEAD")
        assert not (lane.path / "src/new.py").exists()
        wip = await stage.refs.get(stage.integration.names(RUN).of_activity("root:impl#1.1", "wip"))
        assert stage.cat(wip, "src/new.py") == "x = 1"
        assert await stage.refs.get(stage.integration.names(RUN).of_activity("root:impl#1.1", "recorded")) == commit

    run(story())


def test_a_state_from_before_the_end_of_an_activity_folds_no_work(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await Stage(repository(tmp_path)).start()
        stage.ended(stage.job(step="tests", n="1.1"), "Done")
        root = stage.insts["root"].draft()
        older = State(run=RUN, seq=stage.seq, insts=Map({"root": root}))
        await stage.work({"src/new.py": "x = 1\n"}, step="tests", n="2.1")
        base = git(stage.root, "rev-parse", "HEAD")
        assert (await stage.integration.integrate(older, "root")).commit == base
        assert await stage.head() != base

    run(story())


def test_only_a_claim_that_the_kernel_accepted_is_folded(tmp_path: Path) -> None:
    """Work of a refused claim, of an accepted one, and of one that used up its attempts."""

    async def story() -> None:
        stage = await Stage(repository(tmp_path)).start()
        play = Scenario(load("v3"))
        for fails, attempt in ((["build"], "1.1"), ([], "1.2")):
            job = one(play.state, RunAgent)
            lane = await stage.lanes.open(play.state, job)
            write(lane.path, {"src/work.py": f"attempt {attempt}\n"})
            assert job.id.endswith(attempt)
            play.claims("InitWork", children=())
            checks = one(play.state, RunChecks)
            recorded = await stage.lanes.record(play.state.run, job.id, at=0)
            await stage.integration.note_pending(play.state, checks, recorded.commit)
            before = (await stage.integration.integrate(play.state, "root")).commit
            assert before == git(stage.root, "rev-parse", "HEAD")
            play.checked(fails=fails)
        head = await stage.integration.integrate(play.state, "root")
        assert stage.cat(head.commit, "src/work.py") == "attempt 1.2"

    run(story())


T = TypeVar("T", RunAgent, RunChecks)


def one(state: State, kind: type[T]) -> T:
    return next(command for command in outstanding(state) if isinstance(command, kind))


def test_kept_work_is_there_again_and_other_leftovers_are_not(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await Stage(repository(tmp_path), LaneRules(keep_work=True)).start()
        lane = await stage.lanes.open(stage.state, stage.job(n="1.1"))
        write(lane.path, {"src/half.py": "half\n"})
        again = await stage.lanes.open(stage.state, stage.job(n="1.2"))
        assert again.path == lane.path
        assert (again.path / "src/half.py").read_text() == "half\n"
        other = await stage.lanes.open(stage.state, stage.job(step="review"))
        assert not (other.path / "src/half.py").exists()
        write(other.path, {"sneaky.py": "a reviewer's edit\n"})
        back = await stage.lanes.open(stage.state, stage.job(n="1.3"))
        assert not (back.path / "sneaky.py").exists()

    run(story())


def test_a_half_filled_lane_is_cleaned_and_used_again(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await Stage(repository(tmp_path), LaneRules(keep_work=True)).start()
        job = stage.job()
        lane = await stage.lanes.open(stage.state, job)
        write(lane.path, {"src/other.py": "of nobody\n"})
        note = lane.path.with_name("lane-1.json")
        note.write_bytes(msgspec.json.encode(SlotLease(run=RUN, inst="root", lane="main")))
        lane.path.with_name("lane-1.index").write_bytes(b"DIRC cut off")
        lane.path.with_name("lane-1.index.lock").touch()
        again = await (await Stage(stage.root).start()).lanes.open(stage.state, job)
        assert again == lane
        assert not (again.path / "src/other.py").exists()
        assert git(again.path, "status", "--porcelain") == ""

    run(story())


def test_lanes_may_be_opened_all_at_once(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await Stage(repository(tmp_path)).start()
        for n in range(5):
            stage.add(f"root/k{n}")
        jobs = [stage.job(f"root/k{n}") for n in range(5)]
        lanes = await asyncio.gather(*(stage.lanes.open(stage.state, job) for job in jobs))
        assert len({lane.path for lane in lanes}) == 5
        assert {lane.base for lane in lanes} == {git(stage.root, "rev-parse", "HEAD")}

    run(story())


def test_opening_a_project_gives_lanes_and_checkouts(tmp_path: Path) -> None:
    async def story() -> None:
        stage = Stage(repository(tmp_path))
        opened = await open_git(stage.project, lambda *_: LaneRules(), prefix="bot")
        workspace: Workspace = opened.lanes
        lane = await workspace.open(stage.state, stage.job())
        async with opened.checkouts.clean(lane.base) as path:
            assert (path / "README.md").exists()
        assert git(lane.path, "symbolic-ref", "--short", "HEAD") == "bot/r1/root/main", "as its agent sees it"
        assert git(stage.root, "branch", "--format=%(refname:short)") == "main", "none while the work goes on"

    run(story())


def test_the_same_activity_gets_the_same_lane_and_its_leftovers_are_saved(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await Stage(repository(tmp_path)).start()
        job = stage.job()
        lane = await stage.lanes.open(stage.state, job)
        write(lane.path, {"src/lost.py": "lost session\n"})
        again = await (await Stage(stage.root).start()).lanes.open(stage.state, job)
        assert again == lane
        assert not (again.path / "src/lost.py").exists()
        wip = await stage.refs.get(stage.integration.names(RUN).of_activity(job.id, "wip"))
        assert stage.cat(wip, "src/lost.py") == "lost session"

    run(story())


def test_lanes_of_an_instance_are_separate_and_released_when_the_run_ends(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await Stage(repository(tmp_path)).start()
        tests = await stage.lanes.open(stage.state, stage.job(step="tests", lane="tests"))
        impl = await stage.lanes.open(stage.state, stage.job(lane="impl"))
        assert tests.path != impl.path
        write(impl.path, {"src/open.py": "unfinished\n"})
        await stage.lanes.close(RUN)
        await stage.lanes.close(RUN)
        wip = await stage.refs.get(stage.integration.names(RUN).of_activity("root:impl#1.1", "wip"))
        assert stage.cat(wip, "src/open.py") == "unfinished"
        other = stage.state
        lane = await stage.lanes.open(type(other)(run="r2", insts=other.insts), stage.job())
        assert lane.path in (tests.path, impl.path)
        assert not (lane.path / "src/open.py").exists()

    run(story())


def test_save_returns_a_commit_only_for_changes(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await Stage(repository(tmp_path)).start()
        job = stage.job()
        lane = await stage.lanes.open(stage.state, job)
        assert await stage.lanes.save(RUN, job.id) == ""
        write(lane.path, {"a.txt": "a\n"})
        commit = await stage.lanes.save(RUN, job.id)
        assert stage.cat(commit, "a.txt") == "a"
        assert await stage.lanes.save(RUN, job.id) == commit
        assert await stage.lanes.save(RUN, "root:other#1.1") == ""

    run(story())


def test_a_child_starts_from_its_parents_head(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await Stage(repository(tmp_path)).start()
        commit = await stage.work({"src/interface.py": "class A: ...\n"}, step="scaffold")
        stage.add("root/k0")
        lane = await stage.lanes.open(stage.state, stage.job("root/k0"))
        assert lane.base == commit

    run(story())


def test_hidden_files_are_neither_in_the_lane_nor_in_its_git(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await Stage(repository(tmp_path), LaneRules(hidden=("tests/**",))).start()
        job = stage.job()
        lane = await stage.lanes.open(stage.state, job)
        assert not (lane.path / "tests").exists()
        assert git(lane.path, "status", "--porcelain") == ""
        blob = git(stage.root, "rev-parse", "HEAD:tests/test_app.py")
        assert git(lane.path, "cat-file", "-p", blob, ok=False) == ""
        assert git(lane.path, "show", "HEAD:src/app.py") != ""
        write(lane.path, {"src/app.py": "new\n"})
        recorded = await stage.lanes.record(RUN, job.id, at=0)
        assert recorded.paths == ("src/app.py",)
        assert stage.cat(recorded.commit, "tests/test_app.py") == "assert True"
        write(lane.path, {"tests/test_app.py": "assert False\n"})
        assert "tests/test_app.py" in (await stage.lanes.record(RUN, job.id, at=0)).paths

    run(story())


def test_an_activity_without_a_lane_is_a_clear_error(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await Stage(repository(tmp_path)).start()
        with pytest.raises(PortError, match=r"root:impl#1\.1.*has no lane"):
            await stage.lanes.record(RUN, "root:impl#1.1", at=0)

    run(story())


def test_lanes_that_an_instance_leaves_are_free_for_others_and_its_leftovers_are_saved(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await Stage(repository(tmp_path)).start()
        stage.add("root/k0")
        job = stage.job()
        lane = await stage.lanes.open(stage.state, job)
        write(lane.path, {"src/open.py": "unfinished\n"})
        await stage.lanes.free_lanes(RUN, "root")
        wip = await stage.refs.get(stage.integration.names(RUN).of_activity(job.id, "wip"))
        assert stage.cat(wip, "src/open.py") == "unfinished"
        with pytest.raises(PortError, match="has no lane"):
            await stage.lanes.record(RUN, job.id, at=0)
        other = await stage.lanes.open(stage.state, stage.job("root/k0"))
        assert other.path == lane.path
        again = await stage.lanes.open(stage.state, stage.job(n="2.1"))
        assert (again.base, again.path == lane.path) == (lane.base, False)
        assert not (again.path / "src/open.py").exists()

    run(story())


# What of the user's repository is not as it was.


def test_branches_settings_hooks_and_the_projects_setup_are_watched(tmp_path: Path) -> None:
    async def story() -> None:
        root = repository(tmp_path, {"a.txt": "a\n", ".treadle/overlays/v3.yaml": "x: 1\n"})
        git(root, "tag", "old")
        stage = await Stage(root).start()
        watch = Bystanders(stage.repository, stage.refs, "treadle")
        before = await watch.look()
        await stage.work({"a.txt": "b\n"})
        write(root, {".treadle/local/note": "ours\n"})
        assert describe_changes(before, await watch.look()) == (), "what runs do is no news"

        git(root, "tag", "-d", "old")
        git(root, "branch", "other")
        git(root, "config", "core.hooksPath", "/nowhere")
        write(root, {".git/hooks/pre-push": "true\n", ".treadle/overlays/v3.yaml": "x: 2\n", "treadle.toml": ""})
        assert describe_changes(before, await watch.look()) == (
            ".git/config was changed",
            ".git/hooks/pre-push was added",
            ".treadle/overlays/v3.yaml was changed",
            "refs/heads/other was added",
            "refs/tags/old was removed",
            "treadle.toml was added",
        )

    run(story())


def test_changes_to_the_users_own_files_are_described_in_one_line(tmp_path: Path) -> None:
    async def story() -> None:
        root = repository(tmp_path, {"a.txt": "a\n", "gone.txt": "g\n", "odd name.txt": "o\n", ".gitignore": "build\n"})
        write(root, {"a.txt": "the user works, too\n"})
        stage = await Stage(root).start()
        watch = Bystanders(stage.repository, stage.refs, "treadle")
        before = await watch.look()
        assert describe_changes(before, await watch.look()) == ()
        (root / "gone.txt").unlink()
        write(root, {"a.txt": "and works on\n", "odd name.txt": "x\n", "new/ü.txt": "n\n", "build/x": "ignored\n"})
        told = ("the files a.txt, gone.txt, new/ü.txt and 1 more were changed",)
        assert describe_changes(before, await watch.look()) == told

    run(story())


def test_the_file_that_standard_output_goes_to_is_no_change(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    async def story() -> None:
        root = repository(tmp_path)
        stage = await Stage(root).start()
        watch = Bystanders(stage.repository, stage.refs, "treadle")
        with (root / "log.txt").open("wb") as log, capfd.disabled():
            screen = os.dup(1)
            os.dup2(log.fileno(), 1)
            try:
                before = await watch.look()
                os.write(1, b"a line\n")
                write(root, {"other.txt": "x\n"})
                after = await watch.look()
            finally:
                os.dup2(screen, 1)
                os.close(screen)
        assert (root / "log.txt").read_text() == "a line\n"
        (change,) = describe_changes(before, after)
        assert ("other.txt" in change, "log.txt" in change) == (True, False)

    run(story())


def test_changes_to_refs_during_an_activity_are_recorded_with_its_work(tmp_path: Path) -> None:
    async def story() -> None:
        root = repository(tmp_path)
        stage = await Stage(root).start()
        job = stage.job()
        lane = await stage.lanes.open(stage.state, job)
        write(lane.path, {"src/app.py": "x = 1\n"})
        git(lane.path / "../../../..", "branch", "other")

        recorded = await stage.lanes.record(RUN, job.id, at=0)

        assert recorded.around == ("refs/heads/other was added",)
        await stage.lanes.open(stage.state, stage.job(n="1.2"))
        assert (await stage.lanes.record(RUN, "root:impl#1.2", at=0)).around == ()

    run(story())


def test_a_forged_lease_or_filter_does_not_change_the_recorded_work(tmp_path: Path) -> None:
    async def story() -> None:
        root = repository(tmp_path)
        stage = await Stage(root).start()
        job = stage.job()
        lane = await stage.lanes.open(stage.state, job)
        write(lane.path, {"src/app.py": "x = 1\n"})
        note = lane.path.with_suffix(".json")
        forged = git(root, "commit-tree", "-m", "forged", "main^{tree}")
        note.write_text(note.read_text().replace(lane.base, forged))
        own = stage.repository.own
        (own / "info" / "attributes").write_text("* filter=bend\n")
        with (own / "config").open("a") as config:
            config.write('[filter "bend"]\n\tclean = echo bent\n')

        recorded = await stage.lanes.record(RUN, job.id, at=0)

        assert (recorded.base, recorded.paths) == (lane.base, ("src/app.py",))
        assert git(root, "show", f"{recorded.commit}:src/app.py") == "x = 1"

    run(story())


def test_a_file_that_the_run_itself_writes_is_no_change(tmp_path: Path) -> None:
    async def story() -> None:
        root = repository(tmp_path, {"a.txt": "a\n"})
        stage = await Stage(root).start()
        watch = Bystanders(stage.repository, stage.refs, "treadle")
        watch.made.add("memory-bank/progress.md")
        before = await watch.look()
        write(root, {"memory-bank/progress.md": "ours\n"})
        assert describe_changes(before, await watch.look()) == ()
        write(root, {"memory-bank/mine.md": "a person's\n"})
        (change,) = describe_changes(before, await watch.look())
        assert ("memory-bank/mine.md" in change, "progress.md" in change) == (True, False)

    run(story())
