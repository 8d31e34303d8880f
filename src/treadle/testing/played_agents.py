"""A model that plays scripted agents, so that real programs follow a script for agents.

The prompt identifies the part: it is the prompt of a project's activity, and the activity's folder has its details.
"""

import base64
import shlex
from pathlib import Path, PurePosixPath
from threading import Lock
from typing import Final

import msgspec

from played_model.script import ModelFailure, ModelStep, Script, ScriptedCall, Tokens
from treadle.agents.contract import activity_of
from treadle.agents.script import AgentScript, ScriptTurn, fill, fill_text
from treadle.agents.scripted import answer_files, answer_words, context_of, facts_of
from treadle.errors import TreadleError
from treadle.kernel.events import Outages, Usage
from treadle.ports import Work
from treadle.protocol.items import Json
from treadle.results.tools import EMIT
from treadle.runtime.agent import REMINDER
from treadle.runtime.dispatch import load_work

_SHELLS: Final = {"Bash": "command", "exec_command": "cmd", "run_shell_command": "command", "bash": "command"}
_WRITERS: Final = {"Write": "file_path", "write_file": "file_path", "write": "filePath"}
_FAILURES: Final[dict[Outages, tuple[int, str]]] = {
    "rate": (429, "Rate limit reached."),
    "quota": (429, "You have exceeded your current quota."),
    "billing": (402, "Your credit balance is too low."),
    "login": (401, "Invalid API key."),
}
"""The status and message of each outage; any other outage gives status 503."""
_REMINDED: Final = ", reminded"
_DONE: Final = ModelStep(say="Done.")


class PlayedAgents:
    """Plays scripted agents to the programs that work for a project: the library of scripts of a played model.

    It reports the usage that the script declares or, with `is_counted`, the usage of the real traffic.
    """

    def __init__(self, parts: AgentScript, runs: Path, *, is_counted: bool = False) -> None:
        self._parts, self._runs, self._is_counted = parts, runs, is_counted
        self._known: dict[str, Work] = {}
        self._seen: set[tuple[int, Path]] = set()
        self._lock = Lock()

    @property
    def names(self) -> tuple[str, ...]:
        return (f"the parts of {self._parts.file}",)

    def named_by(self, text: str, current: str) -> str:
        """Return the activity with this prompt; empty if there is none. After a reminder, the agent only answers."""
        if current and REMINDER in text:
            return f"{current.removesuffix(_REMINDED)}{_REMINDED}"
        with self._lock:  # several conversations run at once
            self._read_new_activities()
            # A restarted activity has the same prompt as before: of equal prompts the latest counts, else the longest.
            fits = [
                (len(work.prompt), at, name)
                for at, (name, work) in enumerate(self._known.items())
                if work.prompt.strip() in text
            ]
            return max(fits)[2] if fits else ""

    def script(self, name: str) -> Script | None:
        """Return the work of an activity's agent as turns of a model."""
        work = self._known.get(name.removesuffix(_REMINDED))
        if work is None:
            return None
        try:
            activity = activity_of(work)
            context = context_of(work, activity)
            rule = self._parts.rule(facts_of(context))
            if rule is None:
                raise TreadleError(
                    f"{self._parts.file} has no turn for {work.act}, role '{work.role}'", code="script.no_turn"
                )
            turn = rule.turn(activity.visit, activity.attempt)
            used = Usage() if self._is_counted else turn.usage
            if name.endswith(_REMINDED):
                return Script(steps=_charge(used, _answer(work, turn, context), is_first=False))
            return Script(steps=_charge(used, _perform(work, turn, context)))
        except TreadleError as error:
            return Script(steps=(ModelStep(say=f"model server: {error}"),))

    def _read_new_activities(self) -> None:
        """Read the activities that were sent out since the last call; the latest comes last."""
        there = {(path.stat().st_mtime_ns, path) for path in self._runs.glob("*/acts/*/work.json")}
        for one in sorted(there - self._seen):
            work = load_work(one[1].parent)
            if work and work.prompt.strip() and not work.round:
                self._known.pop(name := f"{work.act}~{work.retry} of {work.run}", None)
                self._known[name] = work
        self._seen |= there


def _perform(work: Work, turn: ScriptTurn, context: dict[str, Json]) -> list[ModelStep]:
    """Turn the messages, files, commands and answer of a scripted turn into turns of the model, in that order.

    Only the last may come without calls: to a client, a turn without calls is the end.
    """

    def text(value: str) -> str:
        return fill_text(value, context)

    def quote(value: str) -> str:
        return shlex.quote(text(value))

    def make_folder(value: str) -> str:
        parent = str(PurePosixPath(text(value)).parent)
        return "" if parent == "." else f"mkdir -p {shlex.quote(parent)} && "

    def encode(content: str) -> str:
        return base64.b64encode(text(content).encode()).decode()

    writes = tuple(_write(work.lane, text(path), text(content)) for path, content in turn.write.items())
    commands = [
        *(
            f"{make_folder(path)}printf %s {encode(content)} | base64 -d >> {quote(path)}"
            for path, content in turn.append.items()
        ),
        *(f"{make_folder(to)}mv {quote(path)} {quote(to)}" for path, to in turn.rename.items()),
        *(f"rm -f {quote(path)}" for path in turn.delete),
        *(f"chmod +x {quote(path)}" for path in turn.executable),
        *(shlex.join([text(word) for word in argv]) for argv in turn.run),
    ]
    steps = [ModelStep(calls=writes)] if writes else []
    steps += [ModelStep(calls=(_shell(command),)) for command in commands]
    if turn.misbehave == "blocked":
        steps.append(ModelStep(say="I was refused what I need."))
    elif turn.misbehave:
        steps.append(ModelStep(misbehave="hang" if turn.misbehave == "hang" else "cut"))
    else:
        steps += _answer(work, turn, context)

    failure = None
    if turn.outage and work.retry < turn.outage.times:
        status, message = _FAILURES.get(turn.outage.why, (503, "Overloaded."))
        wait = turn.outage.wait
        failure = ModelFailure(
            status=status,
            message=f"{message} Try again in {wait} s." if wait else message,
            headers={"retry-after": str(wait)} if wait else {},
        )
    words = "\n".join(filter(None, [*map(text, turn.say), steps[0].say]))
    steps[0] = msgspec.structs.replace(steps[0], say=words, sleep=turn.delay, fail=failure)
    return steps


def _answer(work: Work, turn: ScriptTurn, context: dict[str, Json]) -> list[ModelStep]:
    """Return the turns that submit an answer; the last one only confirms it, or is the answer itself."""
    answer = fill(dict(turn.exit), context) if turn.exit is not None else {}
    assert isinstance(answer, dict)
    if not answer:
        return [_DONE]
    if turn.channel == "answer":
        return [ModelStep(calls=((ScriptedCall(tools=(f"*{EMIT}",), arguments={"exit": answer}),),)), _DONE]
    files = answer_files(work, turn.channel, answer)
    last = ModelStep(say=answer_words(turn.channel, answer) or _DONE.say)
    return [*(ModelStep(calls=(_write(work.lane, path, content),)) for path, content in files.items()), last]


def _charge(used: Usage, steps: list[ModelStep], *, is_first: bool = True) -> tuple[ModelStep, ...]:
    """Charge the usage that a script declares to the first turn; without a declaration, turns are counted."""
    if not (used.tokens_in or used.tokens_out):
        return tuple(steps)
    cached = min(used.cached, used.tokens_in)
    declared = Tokens(tokens_in=used.tokens_in - cached, cache_read=cached, tokens_out=used.tokens_out)
    nothing = Tokens(tokens_in=0, tokens_out=0)
    return tuple(
        msgspec.structs.replace(step, usage=declared if is_first and not at else nothing)
        for at, step in enumerate(steps)
    )


def _write(lane: Path, name: str, content: str) -> tuple[ScriptedCall, ...]:
    """Write a file with the client's own tool, with a command or, without either, with a patch."""
    path = lane / name
    calls = tuple(
        ScriptedCall(tools=(tool,), arguments={at: str(path), "content": content}) for tool, at in _WRITERS.items()
    )
    lines = "".join(f"+{line}\n" for line in content.splitlines())
    patch = ScriptedCall(tools=("apply_patch",), input=f"*** Begin Patch\n*** Add File: {name}\n{lines}*** End Patch\n")
    data = base64.b64encode(content.encode()).decode()
    folder, file = shlex.quote(str(path.parent)), shlex.quote(str(path))
    return (*calls, *_shell(f"mkdir -p {folder} && printf %s {data} | base64 -d > {file}"), patch)


def _shell(command: str) -> tuple[ScriptedCall, ...]:
    more = {"run_shell_command": {"description": "a step"}, "bash": {"description": "a step"}}
    return tuple(
        ScriptedCall(tools=(tool,), arguments={at: command, **more.get(tool, {})}) for tool, at in _SHELLS.items()
    )
