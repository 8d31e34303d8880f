"""`replay:RUN`: the agents of a recorded run once more, without any agent: their answers, and the files they left."""

import asyncio
import os
import re
from pathlib import Path
from typing import Any, Final, Literal, Protocol
from urllib.parse import quote

import msgspec

from treadle.agents.activity import Activity, activity_of
from treadle.agents.answer import put_answer
from treadle.agents.environment import clean
from treadle.agents.played import record_of, start_playing
from treadle.agents.tail import open_regular
from treadle.errors import PortError
from treadle.kernel.events import Usage
from treadle.ports import Abilities, Ended, Progress, Session, Watch, Work

_COMMIT: Final = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_MAX_RECORD: Final = 16 << 20
_QUIET: Final = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false")


class Recorded(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What an agent did in an activity: how it ended, what it answered, and the commit of what it left in its lane."""

    how: Literal["done", "failed", "lost"] = "done"
    answer: dict[str, Any] | None = None
    """The exit with its tag and fields; None if it gave none."""
    changed: bool = True
    """Whether it left anything in its lane; if so, there must be a commit."""
    commit: str = ""
    final: str = ""
    detail: str = ""
    code: int | None = None
    usage: Usage = Usage()


class Recording(Protocol):
    """A recorded run, wherever it is kept."""

    @property
    def name(self) -> str: ...

    async def find(self, activity: Activity) -> Recorded | None:
        """What happened at this place of the run; None if it was never there."""
        ...


class FolderRecording(msgspec.Struct, frozen=True):
    """A recording with one JSON file for each activity, named by the activity's id."""

    folder: Path

    @property
    def name(self) -> str:
        return str(self.folder)

    def path(self, activity: Activity) -> Path:
        """The file of an activity."""
        id_ = f"{activity.instance}:{activity.step}#{activity.visit}.{activity.attempt}"
        return self.folder / f"{quote(id_, safe='')}.json"

    async def find(self, activity: Activity) -> Recorded | None:
        """What the activity's file says."""
        path = self.path(activity)
        file = open_regular(path)
        if file is None:
            return None
        with os.fdopen(file, "rb") as opened:
            try:
                return msgspec.json.decode(opened.read(_MAX_RECORD), type=Recorded)
            except msgspec.DecodeError as error:
                raise PortError(f"{path} is no recorded activity: {error}; record it again") from None


class Replay(msgspec.Struct, frozen=True, kw_only=True):
    """Hands back what was recorded at the same place of the run."""

    recording: Recording
    abilities: Abilities = Abilities()

    async def start(self, work: Work, watch: Watch) -> Session:
        """Begin to play an activity; a `PortError` if the recording does not hold it."""
        activity = activity_of(work)
        recorded = await self.recording.find(activity)
        if recorded is None:
            raise PortError(
                f"the recording {self.recording.name} holds no {activity}: this run has taken another course; "
                "start it with another agent"
            )
        _playable(recorded, activity, self.recording.name)
        return await start_playing(work, lambda: _play(work, watch, recorded))

    async def attach(self, work: Work, watch: Watch) -> Session | None:  # noqa: ARG002
        """A replay ends with the process that plays it."""
        return None

    async def harvest(self, work: Work) -> Ended | None:
        """How the activity ended, if it was played."""
        return record_of(work)


def _playable(recorded: Recorded, activity: Activity, name: str) -> None:
    if recorded.changed and not _COMMIT.fullmatch(recorded.commit):
        what = f"'{recorded.commit[:80]}' is no commit" if recorded.commit else "no commit is recorded"
        raise PortError(f"the recording {name} cannot give back the files of {activity}: {what}; record the run again")


async def _play(work: Work, watch: Watch, recorded: Recorded) -> Ended:
    if recorded.changed and (trouble := await _restore(work.lane, recorded.commit)):
        return Ended(how="failed", detail=trouble)
    watch(Progress(recorded.final[-200:], recorded.usage))
    if recorded.answer is not None:
        put_answer(work, recorded.answer)
    return Ended(
        how=recorded.how, code=recorded.code, final=recorded.final, detail=recorded.detail, usage=recorded.usage
    )


async def _restore(lane: Path, commit: str) -> str:
    """Make the lane's files those of a commit, and leave its branch where it is; why that failed, or nothing."""
    try:
        code, _ = await _git(lane, "cat-file", "-e", f"{commit}^{{commit}}")
        if code:
            return f"the recorded commit {commit} is not in this repository; fetch it, or replay where it was recorded"
        code, output = await _git(lane, "read-tree", "--reset", "-u", commit)
    except OSError as error:
        return f"git cannot be run in {lane}: {error.strerror}; install git"
    return f"the files of commit {commit} cannot be put into {lane}: {output}" if code else ""


async def _git(lane: Path, *arguments: str) -> tuple[int, str]:
    """Run git without hooks; its exit code and what it complained about."""
    process = await asyncio.create_subprocess_exec(
        "git",
        *_QUIET,
        *arguments,
        cwd=lane,
        env={**clean(), "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        _, errors = await process.communicate()
    except asyncio.CancelledError:
        process.kill()
        await process.wait()
        raise
    return process.returncode or 0, errors.decode("utf-8", "replace").strip()[:1000]
