"""`scripted:FILE`: an agent that plays prepared turns, for demonstrations and tests.

It runs in this process. The answer comes last and in one step, so an interrupted turn has no answer and is played
again.
"""

import asyncio
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import unquote

import msgspec

from treadle.agents.contract import (
    ActivityKey,
    PlayedRunner,
    activity_of,
    clean_environment,
    contract_variables,
    put_answer,
    start_playing,
)
from treadle.agents.files import MAX_FINAL, MAX_LINE
from treadle.agents.lane_files import LaneFiles
from treadle.agents.processes import missing_support
from treadle.agents.program import KeeperFiles, Patience, ProgramPlace, end_all, start_program
from treadle.agents.script import CRITERIA, AgentScript, Channel, ScriptTurn, fill, fill_text
from treadle.enclosures.port import OPEN, Enclosure
from treadle.errors import PortError
from treadle.ports import Abilities, Ended, Progress, Session, Watch, Work
from treadle.protocol.findings import suggest
from treadle.protocol.items import Json


class Scripted(PlayedRunner, frozen=True, kw_only=True):
    """Plays the turns of a script."""

    script: AgentScript
    allowed: tuple[str, ...] = ()
    patience: Patience = Patience()
    enclosure: Enclosure = OPEN
    """The enclosure for the commands of its turns."""

    @property
    def abilities(self) -> Abilities:
        """It reports prices if every turn of its script has one."""
        used = [turn.usage for rule in self.script.rules for turn in rule.turns]
        if any(one.unpriced for one in used):
            return Abilities(tells="tokens")
        return Abilities(tells="prices" if any(one.cost for one in used) else "nothing")

    async def start(self, work: Work, watch: Watch) -> Session:
        """Start the turn for this activity; raise a `PortError` if there is none."""
        activity = activity_of(work)
        context = context_of(work, activity)
        rule = self.script.rule(facts_of(context))
        if rule is None:
            steps = {pattern for rule in self.script.rules for pattern in rule.when.get("step", ())}
            hint = suggest(activity.step, steps) if activity.step not in steps else "its other criteria do not fit"
            raise PortError(
                f"{self.script.file} has no turn for {activity}, role '{context['role']}'"
                f"{f' ({hint})' if hint else ''}; add a rule for it under `agents:`",
                code="script.no_turn",
            )
        part = _ScriptedPart(work, watch, rule.turn(activity.visit, activity.attempt), context, self)

        async def play() -> Ended:
            try:
                return await part.play()
            except (PortError, OSError) as error:  # it cannot be played as written
                return Ended(how="failed", detail=f"{self.script.file}:{rule.line}: {error}; correct the script")

        return await start_playing(work, play)


class _ScriptedPart:
    """One turn, being played."""

    def __init__(self, work: Work, watch: Watch, turn: ScriptTurn, context: dict[str, Json], agent: Scripted) -> None:
        self.work, self.watch, self.turn, self.context, self.agent = work, watch, turn, context, agent
        self.lines: list[str] = []

    async def play(self) -> Ended:
        turn, text = self.turn, self._text
        await asyncio.sleep(turn.delay)
        for line in turn.say:
            self._say(text(line))
        if turn.run and (lacking := missing_support()):
            raise PortError(lacking, code="script.command")
        for at in range(len(turn.run)):  # of a turn that was interrupted, they may still be at work
            await end_all(KeeperFiles.of(self._inside(at)), self.agent.patience.asked)

        files = LaneFiles(self.work.lane)
        for path, content in turn.write.items():
            files.write(text(path), text(content))
        for path, content in turn.append.items():
            files.append(text(path), text(content))
        for path, to in turn.rename.items():
            files.rename(text(path), text(to))
        for path in turn.delete:
            files.delete(text(path))
        for path in turn.executable:
            files.make_executable(text(path))
        for at, argv in enumerate(turn.run):
            await self._run(at, tuple(text(word) for word in argv))
        self.watch(Progress(usage=turn.usage))

        if (broken := turn.outage) and self.work.retry < broken.times:
            detail = f"the script plays an outage: {broken.why}"
            return Ended(how="failed", detail=detail, usage=turn.usage, outage=broken.why, wait=broken.wait)
        if turn.misbehave == "hang":
            await asyncio.Event().wait()
        if turn.misbehave == "crash":
            return Ended(how="lost", code=1, final=self._final(), usage=turn.usage, detail="it crashed")
        if turn.misbehave == "blocked":
            refused = ("a command: the script says so",)
            return Ended(how="done", code=0, final=self._final(), usage=turn.usage, refused=refused)
        if turn.exit is not None:
            answer = fill(dict(turn.exit), self.context)
            assert isinstance(answer, dict)
            if turn.channel == "answer":
                put_answer(self.work, answer)
            for path, content in answer_files(self.work, turn.channel, answer).items():
                files.write(path, content)
            if words := answer_words(turn.channel, answer):
                self._say(words)
        return Ended(how="done", code=turn.exit_code, final=self._final(), usage=turn.usage)

    async def _run(self, at: int, argv: tuple[str, ...]) -> None:
        """Run a program under its own keeper, so that none of its processes is left behind."""
        env = {**clean_environment(self.agent.allowed), **contract_variables(self.work)}
        name = str(self.work.lane / argv[0]) if os.sep in argv[0] else argv[0]
        program = name if self.agent.enclosure.is_apart else shutil.which(name, path=env["PATH"])
        if program is None:
            raise PortError(f"there is no program '{argv[0]}'", code="script.command")
        place = ProgramPlace(enclosure=self.agent.enclosure, readable=(self.work.bundle,), writable=(self.work.out,))
        session = await start_program(
            self._inside(at), (program, *argv[1:]), env, self.watch, self.agent.patience, place=place
        )
        try:
            ended = await session.wait()
        except asyncio.CancelledError:
            await session.cancel()
            raise
        if ended.code != 0:
            raise PortError(f"`{' '.join(argv)}`: {ended.detail}", code="script.command")

    def _inside(self, at: int) -> Work:
        """Return the activity with a separate home for one of its commands."""
        return msgspec.structs.replace(self.work, home=self.work.home / "commands" / str(at))

    def _say(self, line: str) -> None:
        self.lines.append(line)
        self.watch(Progress(line[:MAX_LINE]))

    def _final(self) -> str:
        return "\n".join(self.lines)[-MAX_FINAL:]

    def _text(self, text: str) -> str:
        return fill_text(text, self.context)


def answer_files(work: Work, channel: Channel, answer: Mapping[str, Json]) -> dict[str, str]:
    """Return the files of the lane that contain the answer."""
    match channel:
        case "executor-result":
            return {".ai/executor-result": _json({"exit": dict(answer)})}
        case "handoff":
            front: dict[str, Json] = {"step": work.step, "attempt": work.attempt, "exit": dict(answer)}
            # JSON values are valid YAML and need no quoting rules.
            lines = "".join(f"{name}: {_json(value)}\n" for name, value in front.items())
            return {".ai/HANDOFF.md": f"---\n{lines}---\n"}
        case _:
            return {}


def answer_words(channel: Channel, answer: Mapping[str, Json]) -> str:
    """Return the final output that contains the answer."""
    match channel:
        case "message":
            return _json({"exit": dict(answer)})
        case "code":
            return f"→[{answer['type']},{answer.get('message', '')}]"
        case _:
            return ""


def context_of(work: Work, activity: ActivityKey) -> dict[str, Json]:
    """Return the values for placeholders and rules: the bundle's context and inputs, and the activity's id."""
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
    """Return the values that the criteria of rules are matched with."""
    return {name: str(context.get(name, "")) for name in CRITERIA}


def _json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)
