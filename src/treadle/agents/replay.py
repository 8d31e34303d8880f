"""`replay:RUN`: the agents of a recorded run once more, without any agent: their answers, and the files they left."""

import asyncio
import os
import re
import tempfile
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, Protocol
from urllib.parse import quote

import msgspec

from treadle.agents.activity import Activity, activity_of
from treadle.agents.answer import put_answer
from treadle.agents.environment import clean
from treadle.agents.lane_files import LaneFiles
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
    base: str = ""
    """What its lane was at; if that is not said, the parent of the commit."""
    objects: str = ""
    """A folder with git's objects, for lanes that cannot see those of their repository."""
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
        return self.folder / f"{quote(activity.id, safe='')}.json"

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
                raise PortError(
                    f"{path} is no recorded activity: {error}; record it again", code="recording.damaged"
                ) from None


class Replay(msgspec.Struct, frozen=True, kw_only=True):
    """Hands back what was recorded at the same place of the run."""

    recording: Recording
    abilities: Abilities = Abilities(tells="prices")

    async def start(self, work: Work, watch: Watch) -> Session:
        """Begin to play an activity; a `PortError` if the recording does not hold it."""
        activity = activity_of(work)
        recorded = await self.recording.find(activity)
        if recorded is None:
            raise PortError(
                f"the recording {self.recording.name} holds no {activity}: this run has taken another course; "
                "start it with another agent",
                code="recording.diverged",
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
        raise PortError(
            f"the recording {name} cannot give back the files of {activity}: {what}; record the run again",
            code="recording.damaged",
        )


async def _play(work: Work, watch: Watch, recorded: Recorded) -> Ended:
    if recorded.changed and (trouble := await _restore(work.lane, recorded)):
        return Ended(how="failed", detail=trouble)
    watch(Progress(recorded.final[-200:], recorded.usage))
    if recorded.answer is not None:
        put_answer(work, recorded.answer)
    return Ended(
        how=recorded.how, code=recorded.code, final=recorded.final, detail=recorded.detail, usage=recorded.usage
    )


async def _restore(lane: Path, recorded: Recorded) -> str:
    """Change in a lane what the recorded work changed, its files alone; why that failed, or nothing."""
    commit, base = recorded.commit, recorded.base or f"{recorded.commit}^"
    with tempfile.TemporaryDirectory(prefix="treadle-index-") as folder:
        git = _Git(lane, {"GIT_INDEX_FILE": f"{folder}/index", "GIT_ALTERNATE_OBJECT_DIRECTORIES": recorded.objects})
        try:
            if (await git("cat-file", "-e", f"{commit}^{{commit}}")).code:
                return (
                    f"the recorded commit {commit} is not in this repository; fetch it, or replay where it was recorded"
                )
            said = await git("diff-tree", "-r", "-z", "--no-renames", "--name-status", base, commit)
            gone, there = _sorted(said.output)
            for path in gone:
                LaneFiles(lane).delete(path)
            said = said if said.code else await git("read-tree", commit)
            names = b"".join(os.fsencode(path) + b"\0" for path in there)
            said = said if said.code else await git("checkout-index", "-f", "-z", "--stdin", stdin=names)
        except (OSError, PortError) as error:
            return f"the files of commit {commit} cannot be put into {lane}: {error}"
    return f"the files of commit {commit} cannot be put into {lane}: {said.errors}" if said.code else ""


def _sorted(listed: bytes) -> tuple[list[str], list[str]]:
    """The paths that a difference removes, and those that it puts there."""
    words = os.fsdecode(listed).split("\0")
    pairs = list(zip(words[::2], words[1::2], strict=False))
    return [path for kind, path in pairs if kind == "D"], [path for kind, path in pairs if kind != "D"]


class _Said(NamedTuple):
    code: int
    output: bytes
    errors: str


class _Git(NamedTuple):
    """Git in a lane, without hooks."""

    lane: Path
    env: dict[str, str]

    async def __call__(self, *arguments: str, stdin: bytes = b"") -> _Said:
        process = await asyncio.create_subprocess_exec(
            "git",
            *_QUIET,
            *arguments,
            cwd=self.lane,
            env={**clean(), "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C", **self.env},
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            output, errors = await process.communicate(stdin)
        except asyncio.CancelledError:
            process.kill()
            await process.wait()
            raise
        return _Said(process.returncode or 0, output, errors.decode("utf-8", "replace").strip()[:1000])
