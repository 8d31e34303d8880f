"""Recorded activities, played in a real repository."""

import asyncio
import subprocess
from pathlib import Path

import msgspec
import pytest

from tests.refusals import refused
from treadle.agents.contract import ActivityKey, activity_of, has_answer
from treadle.agents.replay import FolderRecording, RecordedActivity, Replay
from treadle.errors import PortError
from treadle.kernel.events import Usage
from treadle.ports import Ended, Work
from treadle.testing.runner_contract import PATIENCE, Behaviour, Clause, clauses, make_work

GIT = ("git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main")


def git(folder: Path, *arguments: str) -> str:
    return subprocess.run([*GIT, *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


def record(folder: Path, work: Work, recorded: RecordedActivity) -> Replay:
    recording = FolderRecording(folder / "recording")
    recording.folder.mkdir(exist_ok=True)
    recording.path(activity_of(work)).write_bytes(msgspec.json.encode(recorded))
    return Replay(recording=recording)


class ReplayBench:
    behaviours: tuple[Behaviour, ...] = ("answers",)

    def lane(self, folder: Path) -> Path:
        """A repository whose second commit is the recorded one, and that stands at its first."""
        lane = folder / "lane"
        lane.mkdir()
        git(lane, "init", "-q")
        (lane / "kept").write_text("kept")
        (lane / "dropped").write_text("dropped")
        git(lane, "add", ".")
        git(lane, "commit", "-qm", "first")
        (lane / "dropped").unlink()
        (lane / "new").mkdir()
        (lane / "new" / "file").write_text("new")
        git(lane, "add", "-A")
        git(lane, "commit", "-qm", "second")
        git(lane, "branch", "recorded")
        git(lane, "reset", "-q", "--hard", "HEAD~1")
        return lane

    def runner(self, behaviour: Behaviour, work: Work) -> Replay:  # noqa: ARG002
        commit = git(work.lane, "rev-parse", "recorded")
        recorded = RecordedActivity(answer={"type": "Ok"}, commit=commit, final="hello", usage=Usage(3, 4), code=0)
        return record(work.home.parent, work, recorded)

    async def help(self, behaviour: Behaviour, work: Work) -> None:
        """Nothing has to be done."""


BENCH = ReplayBench()


@pytest.mark.parametrize("clause", clauses(BENCH), ids=lambda clause: clause.name)
def test_contract(clause: Clause, tmp_path: Path) -> None:
    clause.hold(BENCH, tmp_path)


def play(replay: Replay, work: Work) -> Ended:
    async def played() -> Ended:
        session = await replay.start(work, lambda _: None)
        return await asyncio.wait_for(session.wait(), PATIENCE)

    return asyncio.run(played())


@pytest.fixture
def work(tmp_path: Path) -> Work:
    return make_work(tmp_path, BENCH.lane(tmp_path))


def test_the_files_become_those_of_the_recorded_commit(work: Work) -> None:
    head = git(work.lane, "rev-parse", "HEAD")
    ended = play(BENCH.runner("answers", work), work)
    assert ended == Ended(how="done", code=0, final="hello", usage=Usage(3, 4))
    assert has_answer(work)
    files = sorted(path.relative_to(work.lane).as_posix() for path in work.lane.rglob("*") if path.is_file())
    assert [file for file in files if not file.startswith(".git/")] == ["kept", "new/file"]
    assert git(work.lane, "rev-parse", "HEAD") == head
    assert git(work.lane, "status", "--porcelain").splitlines() == ["D dropped", "?? new/"], "nothing is staged"


def test_no_hook_of_the_repository_is_run(work: Work, tmp_path: Path) -> None:
    hook = work.lane / ".git" / "hooks" / "post-index-change"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/hooked\n")
    hook.chmod(0o755)
    play(BENCH.runner("answers", work), work)
    assert not (tmp_path / "hooked").exists()


@pytest.mark.parametrize(
    ("recorded", "message"),
    [
        (RecordedActivity(answer={"type": "Ok"}), "no commit is recorded; record the run again"),
        (RecordedActivity(commit="--output=x"), "'--output=x' is not a commit"),
    ],
)
def test_a_recording_without_the_files(recorded: RecordedActivity, message: str, work: Work, tmp_path: Path) -> None:
    with pytest.raises(PortError, match=message):
        play(record(tmp_path, work, recorded), work)
    assert not has_answer(work)


def test_a_commit_that_is_not_here(work: Work, tmp_path: Path) -> None:
    ended = play(record(tmp_path, work, RecordedActivity(answer={"type": "Ok"}, commit="0" * 40)), work)
    assert ended.how == "failed"
    assert "0" * 12 in ended.detail
    assert not has_answer(work)


def test_an_activity_without_changes_needs_no_commit(work: Work, tmp_path: Path) -> None:
    assert play(record(tmp_path, work, RecordedActivity(answer={"type": "Ok"}, changed=False)), work).how == "done"
    assert has_answer(work)


def test_a_run_that_diverges_from_its_recording_is_refused(work: Work, tmp_path: Path) -> None:
    replay = record(tmp_path, work, RecordedActivity(changed=False))
    other = msgspec.structs.replace(work, act="root/b:tests#2.1")
    with refused("recording.diverged", "'tests'", "'root/b'", "visit 2", "attempt 1"):
        play(replay, other)


def test_a_damaged_recording(work: Work, tmp_path: Path) -> None:
    replay = record(tmp_path, work, RecordedActivity(changed=False))
    FolderRecording(tmp_path / "recording").path(activity_of(work)).write_text("{")
    with refused("recording.damaged"):
        play(replay, work)


@pytest.mark.parametrize("act", ["", "tests", "root:tests", "root:tests#1", "root:tests#x.1", ":tests#1.1"])
def test_a_malformed_activity_id_is_refused(act: str, work: Work) -> None:
    with refused("agent.activity", repr(act)):
        activity_of(msgspec.structs.replace(work, act=act))


def test_the_id_of_an_activity(work: Work) -> None:
    found = activity_of(msgspec.structs.replace(work, act="root/a:b/c:tests#2.13"))
    assert found == ActivityKey("root/a:b/c", "tests", 2, 13)
