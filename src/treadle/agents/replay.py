"""`replay:RUN`: replays the agents of a recorded run without starting any: their answers and their files."""

import os
import re
from pathlib import Path
from typing import Any, Final, Literal, Protocol
from urllib.parse import quote

import msgspec

from treadle.agents.contract import ActivityKey, PlayedRunner, activity_of, put_answer, start_playing
from treadle.agents.files import open_regular
from treadle.agents.lane_files import LaneFiles
from treadle.errors import PortError
from treadle.git.files import temporary_folder
from treadle.git.process import run_git
from treadle.kernel.events import Usage
from treadle.ports import Abilities, Ended, Progress, Session, Watch, Work

_COMMIT: Final = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_MAX_RECORD: Final = 16 << 20


class RecordedActivity(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The record of an activity: how it ended, its answer, and the commit with its changes."""

    how: Literal["done", "failed", "lost"] = "done"
    answer: dict[str, Any] | None = None
    """The exit with its tag and fields; None if there was no answer."""
    changed: bool = True
    """Whether the agent changed files in its lane; if so, there must be a commit."""
    commit: str = ""
    base: str = ""
    """The base commit of its lane; if empty, the parent of the commit."""
    objects: str = ""
    """A folder with git objects, for lanes that cannot see those of their repository."""
    final: str = ""
    detail: str = ""
    code: int | None = None
    usage: Usage = Usage()


class Recording(Protocol):
    """A recorded run, in any storage."""

    @property
    def name(self) -> str: ...

    async def find(self, activity: ActivityKey) -> RecordedActivity | None:
        """Return the record of an activity; None if the run never reached it."""
        ...


class FolderRecording(msgspec.Struct, frozen=True):
    """A recording with one JSON file for each activity, named by the activity's id."""

    folder: Path

    @property
    def name(self) -> str:
        return str(self.folder)

    def path(self, activity: ActivityKey) -> Path:
        """Return the file of an activity."""
        return self.folder / f"{quote(activity.id, safe='')}.json"

    async def find(self, activity: ActivityKey) -> RecordedActivity | None:
        """Read the activity's file."""
        path = self.path(activity)
        file = open_regular(path)
        if file is None:
            return None
        with os.fdopen(file, "rb") as opened:
            try:
                return msgspec.json.decode(opened.read(_MAX_RECORD), type=RecordedActivity)
            except msgspec.DecodeError as error:
                raise PortError(
                    f"{path} is not a recorded activity: {error}; record it again", code="recording.damaged"
                ) from None


class Replay(PlayedRunner, frozen=True, kw_only=True):
    """Replays the activity recorded at the same place of the run."""

    recording: Recording
    abilities: Abilities = Abilities(tells="prices")

    async def start(self, work: Work, watch: Watch) -> Session:
        """Start to replay an activity; raise a `PortError` if the recording does not contain it."""
        activity = activity_of(work)
        recorded = await self.recording.find(activity)
        if recorded is None:
            raise PortError(
                f"the recording {self.recording.name} holds no {activity}: this run has taken another course; "
                "start it with another agent",
                code="recording.diverged",
            )
        if recorded.changed and not _COMMIT.fullmatch(recorded.commit):
            what = f"'{recorded.commit[:80]}' is not a commit" if recorded.commit else "no commit is recorded"
            raise PortError(
                f"the recording {self.recording.name} cannot give back the files of {activity}: {what}; "
                "record the run again",
                code="recording.damaged",
            )
        return await start_playing(work, lambda: _play(work, watch, recorded))


async def _play(work: Work, watch: Watch, recorded: RecordedActivity) -> Ended:
    if recorded.changed and (trouble := await _restore(work.lane, recorded)):
        return Ended(how="failed", detail=trouble)
    watch(Progress(recorded.final[-200:], recorded.usage))
    if recorded.answer is not None:
        put_answer(work, recorded.answer)
    return Ended(
        how=recorded.how, code=recorded.code, final=recorded.final, detail=recorded.detail, usage=recorded.usage
    )


async def _restore(lane: Path, recorded: RecordedActivity) -> str:
    """Apply the recorded changes to a lane's files, not its index; return why that failed, or an empty text."""
    commit, base = recorded.commit, recorded.base or f"{recorded.commit}^"
    with temporary_folder("index") as folder:
        env = {"GIT_INDEX_FILE": f"{folder}/index", "GIT_ALTERNATE_OBJECT_DIRECTORIES": recorded.objects}

        async def git(arguments: list[str], stdin: bytes = b"") -> str:
            answer = await run_git(arguments, cwd=lane, env=env, stdin=stdin)
            if answer.code:
                raise PortError(answer.stderr[:1000], code="recording.damaged")
            return os.fsdecode(answer.out)

        try:
            if (await run_git(["cat-file", "-e", f"{commit}^{{commit}}"], cwd=lane, env=env)).code:
                return (
                    f"the recorded commit {commit} is not in this repository; fetch it, or replay where it was recorded"
                )
            words = (await git(["diff-tree", "-r", "-z", "--no-renames", "--name-status", base, commit])).split("\0")
            changes = list(zip(words[::2], words[1::2], strict=False))
            for kind, path in changes:
                if kind == "D":
                    LaneFiles(lane).delete(path)
            await git(["read-tree", commit])
            written = b"".join(os.fsencode(path) + b"\0" for kind, path in changes if kind != "D")
            await git(["checkout-index", "-f", "-z", "--stdin"], stdin=written)
        except (OSError, PortError) as error:
            return f"the files of commit {commit} cannot be put into {lane}: {error}"
    return ""
