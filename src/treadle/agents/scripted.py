"""`scripted:FILE`: an agent whose every turn is written down in advance, for demonstrations and tests.

It is played in this process. The answer comes last and in one step, so a turn that was interrupted has no answer and is
played again.
"""

import asyncio
import json
import os
import shutil
from collections.abc import Awaitable, Mapping
from pathlib import Path
from typing import Final
from urllib.parse import unquote

import msgspec

from treadle.agents.activity import Activity, activity_of
from treadle.agents.answer import put_answer
from treadle.agents.ending import end_all
from treadle.agents.environment import clean, contract
from treadle.agents.kept import Kept
from treadle.agents.lane_files import LaneFiles
from treadle.agents.placeholders import fill, fill_text
from treadle.agents.played import record_of, start_playing
from treadle.agents.process import Patience, Place, start_program
from treadle.agents.processes import lacks
from treadle.agents.script import CRITERIA, Channel, Rule, Script, Turn
from treadle.agents.script_reading import load_script
from treadle.agents.tail import MAX_FINAL, MAX_LINE
from treadle.enclosures.enclosure import OPEN, Enclosure
from treadle.errors import PortError
from treadle.ports import Abilities, Ended, Progress, Session, Watch, Work
from treadle.protocol.findings import suggest
from treadle.protocol.items import Json

_REFUSED: Final = "a command: the script says so"
_CRASHED: Final = 1


class Scripted(msgspec.Struct, frozen=True, kw_only=True):
    """Plays the turns of a script."""

    script: Script
    allowed: tuple[str, ...] = ()
    patience: Patience = Patience()
    enclosure: Enclosure = OPEN
    """What the commands of its turns run in."""

    @property
    def abilities(self) -> Abilities:
        """It tells a price if every turn of its script has one."""
        used = [turn.usage for rule in self.script.rules for turn in rule.turns]
        if any(one.unpriced for one in used):
            return Abilities(tells="tokens")
        return Abilities(tells="prices" if any(one.cost for one in used) else "nothing")

    @classmethod
    def load(
        cls,
        path: Path,
        *,
        allowed: tuple[str, ...] = (),
        patience: Patience | None = None,
        enclosure: Enclosure = OPEN,
    ) -> "Scripted":
        """The agent that a file describes."""
        script = load_script(path)
        return cls(script=script, allowed=allowed, patience=patience or Patience(), enclosure=enclosure)

    async def start(self, work: Work, watch: Watch) -> Session:
        """Begin the turn that is for this activity; a `PortError` if there is none."""
        activity = activity_of(work)
        context = context_of(work, activity)
        rule = self.script.rule(facts_of(context))
        if rule is None:
            raise PortError(_no_turn(self.script, activity, context), code="script.no_turn")
        part = _Part(work, watch, rule.turn(activity.visit, activity.attempt), context, self)
        return await start_playing(work, lambda: _told(part.play(), self.script, rule))

    async def attach(self, work: Work, watch: Watch) -> Session | None:  # noqa: ARG002
        """A turn ends with the process that plays it."""
        return None

    async def harvest(self, work: Work) -> Ended | None:
        """How the turn ended, if it was played."""
        return record_of(work)


class _Part:
    """One turn, being played."""

    def __init__(self, work: Work, watch: Watch, turn: Turn, context: dict[str, Json], agent: Scripted) -> None:
        self.work, self.watch, self.turn, self.context, self.agent = work, watch, turn, context, agent
        self.said: list[str] = []

    async def play(self) -> Ended:
        await asyncio.sleep(self.turn.delay)
        for line in self.turn.say:
            self._say(self._text(line))
        if self.turn.run and (lacking := lacks()):
            raise PortError(lacking, code="script.command")
        for at in range(len(self.turn.run)):  # of a turn that was interrupted, they may still be at work
            await end_all(Kept.of(self._inside(at)), self.agent.patience.asked)
        self._change_files()
        for at, argv in enumerate(self.turn.run):
            await self._run(at, tuple(self._text(word) for word in argv))
        self.watch(Progress(usage=self.turn.usage))
        if (broken := self.turn.outage) and self.work.retry < broken.times:
            detail = f"the script says that there is an outage: {broken.why}"
            return Ended(how="failed", detail=detail, usage=self.turn.usage, outage=broken.why, wait=broken.wait)
        match self.turn.misbehave:
            case "hang":
                await asyncio.Event().wait()
            case "crash":
                return Ended(how="lost", code=_CRASHED, final=self._final(), usage=self.turn.usage, detail="it crashed")
            case "blocked":
                return Ended(how="done", code=0, final=self._final(), usage=self.turn.usage, refused=(_REFUSED,))
            case _:
                self._answer()
        return Ended(how="done", code=self.turn.exit_code, final=self._final(), usage=self.turn.usage)

    def _change_files(self) -> None:
        files, text = LaneFiles(self.work.lane), self._text
        for path, content in self.turn.write.items():
            files.write(text(path), text(content))
        for path, content in self.turn.append.items():
            files.append(text(path), text(content))
        for path, to in self.turn.rename.items():
            files.rename(text(path), text(to))
        for path in self.turn.delete:
            files.delete(text(path))
        for path in self.turn.executable:
            files.make_executable(text(path))

    async def _run(self, at: int, argv: tuple[str, ...]) -> None:
        """Run a program under a keeper of its own, so that nothing it starts is left behind either."""
        env = {**clean(self.agent.allowed), **contract(self.work)}
        words = (self._program(argv[0], env["PATH"]), *argv[1:])
        place = Place(enclosure=self.agent.enclosure, readable=(self.work.bundle,), writable=(self.work.out,))
        session = await start_program(self._inside(at), words, env, self.watch, self.agent.patience, place=place)
        try:
            ended = await session.wait()
        except asyncio.CancelledError:
            await session.cancel()
            raise
        if ended.code != 0:
            raise PortError(f"`{' '.join(argv)}`: {ended.detail}", code="script.command")

    def _program(self, name: str, path: str) -> str:
        where = str(self.work.lane / name) if os.sep in name else name
        program = where if self.agent.enclosure.is_apart else shutil.which(where, path=path)
        if program is None:
            raise PortError(f"there is no program '{name}'", code="script.command")
        return program

    def _inside(self, at: int) -> Work:
        """The activity with a home of its own for one of its commands."""
        return msgspec.structs.replace(self.work, home=self.work.home / "commands" / str(at))

    def _answer(self) -> None:
        if self.turn.exit is None:
            return
        given = fill(dict(self.turn.exit), self.context)
        assert isinstance(given, dict)
        if self.turn.channel == "answer":
            put_answer(self.work, given)
        for path, text in answer_files(self.work, self.turn.channel, given).items():
            LaneFiles(self.work.lane).write(path, text)
        if said := answer_words(self.turn.channel, given):
            self._say(said)

    def _say(self, line: str) -> None:
        self.said.append(line)
        self.watch(Progress(line[:MAX_LINE]))

    def _final(self) -> str:
        return "\n".join(self.said)[-MAX_FINAL:]

    def _text(self, text: str) -> str:
        return fill_text(text, self.context)


def answer_files(work: Work, channel: Channel, given: Mapping[str, Json]) -> dict[str, str]:
    """The files of the lane that an answer is handed in by."""
    front: dict[str, Json] = {"step": work.step, "attempt": work.attempt, "exit": dict(given)}
    match channel:
        case "executor-result":
            return {".ai/executor-result": _json({"exit": dict(given)})}
        case "handoff":
            return {".ai/HANDOFF.md": f"---\n{_lines(front)}---\n"}
        case _:
            return {}


def answer_words(channel: Channel, given: Mapping[str, Json]) -> str:
    """The last words that an answer is handed in by."""
    match channel:
        case "message":
            return _json({"exit": dict(given)})
        case "code":
            return f"→[{given['type']},{given.get('message', '')}]"
        case _:
            return ""


def context_of(work: Work, activity: Activity) -> dict[str, Json]:
    """What placeholders and rules may look at: the bundle's context and inputs, and what the activity's id says."""
    found = _read(work.bundle / "context.json") if (work.bundle / "context.json").exists() else {}
    inputs: dict[str, Json] = {unquote(path.stem): _read(path) for path in sorted(work.bundle.glob("inputs/*.json"))}
    own: dict[str, Json] = {
        "run": work.run,
        "act": work.act,
        "instance": activity.instance,
        "step": work.step,
        "role": work.role,
        "mode": work.mode,
        "visit": activity.visit,
        "attempt": work.attempt,
        "inputs": inputs,
    }
    return {**(found if isinstance(found, dict) else {}), **own}


def _read(path: Path) -> Json:
    try:
        value: Json = msgspec.json.decode(path.read_bytes())
    except (OSError, msgspec.DecodeError) as error:
        raise PortError(f"{path} cannot be read: {error}", code="file.unreadable") from None
    return value


def facts_of(context: dict[str, Json]) -> dict[str, str]:
    """What the criteria of rules are held against."""
    return {name: str(context.get(name, "")) for name in CRITERIA}


async def _told(play: Awaitable[Ended], script: Script, rule: Rule) -> Ended:
    """A turn that cannot be played as it is written is a failure of the script, and says where to mend it."""
    try:
        return await play
    except (PortError, OSError) as error:
        return Ended(how="failed", detail=f"{script.file}:{rule.line}: {error}; mend the script")


def _no_turn(script: Script, activity: Activity, context: dict[str, Json]) -> str:
    steps = {pattern for rule in script.rules for pattern in rule.when.get("step", ())}
    hint = suggest(activity.step, steps) if activity.step not in steps else "its other criteria do not fit"
    role = context["role"]
    return (
        f"{script.file} has no turn for {activity}, role '{role}'"
        f"{f' ({hint})' if hint else ''}; add a rule for it under `agents:`"
    )


def _json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)


def _lines(front: dict[str, Json]) -> str:
    """JSON is YAML too, and needs no care about quotes."""
    return "".join(f"{name}: {_json(value)}\n" for name, value in front.items())
