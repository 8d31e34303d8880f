"""A model that plays the parts of scripted agents, so that real programs do what a script for agents says.

Which part it is, the prompt tells: it is that of an activity of a project, whose folder has all that the part is about.
"""

import base64
import shlex
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from threading import Lock
from typing import Final

import msgspec

from treadle.agents.activity import activity_of
from treadle.agents.placeholders import fill, fill_text
from treadle.agents.script import Rule, Turn
from treadle.agents.script import Script as Parts
from treadle.agents.scripted import answer_files, answer_words, context_of, facts_of
from treadle.errors import TreadleError
from treadle.kernel.events import Outages, Usage
from treadle.ports import Work
from treadle.protocol.items import Json
from treadle.results.mcp_tool import EMIT
from treadle.runtime.agent import REMINDER
from treadle.runtime.dispatch import sent_work
from treadle.testing.model_server.script import Call, Failure, Script, Step, Tokens

_SHELLS: Final = {"Bash": "command", "exec_command": "cmd", "run_shell_command": "command", "bash": "command"}
_WRITERS: Final = {"Write": "file_path", "write_file": "file_path", "write": "filePath"}
_FAILURES: Final[dict[Outages, tuple[int, str]]] = {
    "rate": (429, "Rate limit reached."),
    "quota": (429, "You have exceeded your current quota."),
    "billing": (402, "Your credit balance is too low."),
    "login": (401, "Invalid API key."),
}
"""How a service says so; what is not listed, it does not survive to say."""
_REMINDED: Final = ", reminded"
_DONE: Final = Step(say="Done.")
_NOTHING: Final = Tokens(tokens_in=0, tokens_out=0)


class Actors:
    """Plays scripted agents to the programs that work for a project.

    What a part says that it uses is what its program is told; or (`is_counted`) what was really sent is.
    """

    def __init__(self, parts: Parts, runs: Path, *, is_counted: bool = False) -> None:
        self._parts, self._runs, self._is_counted = parts, runs, is_counted
        self._known: dict[str, Work] = {}
        self._seen: set[tuple[int, Path]] = set()
        self._lock = Lock()

    @property
    def names(self) -> tuple[str, ...]:
        return (f"the parts of {self._parts.file}",)

    def named_by(self, text: str, current: str) -> str:
        """The activity whose prompt a text is; empty if it is none. Whoever is reminded has only to answer."""
        if current and REMINDER in text:
            return f"{current.removesuffix(_REMINDED)}{_REMINDED}"
        with self._lock:  # conversations are led at once
            self._look()
            return self._find(text)

    def script(self, name: str) -> Script | None:
        """What the agent of an activity does, as turns of a model."""
        work = self._known.get(name.removesuffix(_REMINDED))
        if work is None:
            return None
        try:
            rule, context = self._part(work)
            activity = activity_of(work)
            turn = rule.turn(activity.visit, activity.attempt)
            used = Usage() if self._is_counted else turn.usage
            if name.endswith(_REMINDED):
                return Script(steps=_consuming(used, _answer(work, turn, context), is_first=False))
            return Script(steps=_consuming(used, _steps(work, turn, context)))
        except TreadleError as error:
            return Script(steps=(Step(say=f"model server: {error}"),))

    def _part(self, work: Work) -> tuple[Rule, dict[str, Json]]:
        context = context_of(work, activity_of(work))
        rule = self._parts.rule(facts_of(context))
        if rule is None:
            raise TreadleError(
                f"{self._parts.file} has no turn for {work.act}, role '{work.role}'", code="script.no_turn"
            )
        return rule, context

    def _find(self, text: str) -> str:
        """The longest prompt that it has, and of equal ones the latest: an activity that starts again has the same."""
        fits = [(len(work.prompt), at, name) for at, (name, work) in enumerate(self._known.items())]
        return max((one for one in fits if self._known[one[2]].prompt.strip() in text), default=(0, 0, ""))[2]

    def _look(self) -> None:
        """For activities that were sent out since; the latest comes last."""
        there = {(path.stat().st_mtime_ns, path) for path in self._runs.glob("*/acts/*/work.json")}
        for one in sorted(there - self._seen):
            work = sent_work(one[1].parent)
            if work and work.prompt.strip() and not work.round:
                self._known.pop(name := f"{work.act}~{work.retry} of {work.run}", None)
                self._known[name] = work
        self._seen |= there


def _steps(work: Work, turn: Turn, context: dict[str, Json]) -> list[Step]:
    """What is said, written, run and answered, in the order of a turn's fields, each a turn of the model.

    Only the last may come without calls: a client takes such a turn for the end.
    """

    def text(value: str) -> str:
        return fill_text(value, context)

    writes = tuple(_write(work.lane, text(path), text(content)) for path, content in turn.write.items())
    commands = [*_files(turn, text), *(shlex.join([text(word) for word in argv]) for argv in turn.run)]
    steps = [*([Step(calls=writes)] if writes else []), *(Step(calls=(_shell(command),)) for command in commands)]
    if turn.misbehave == "blocked":
        steps.append(Step(say="I was refused what I need."))
    elif turn.misbehave:
        steps.append(Step(misbehave="hang" if turn.misbehave == "hang" else "cut"))
    else:
        steps += _answer(work, turn, context)
    said = "\n".join(filter(None, [*map(text, turn.say), steps[0].say]))
    first = msgspec.structs.replace(steps[0], say=said, sleep=turn.delay, fail=_failure(turn, work))
    return [first, *steps[1:]]


def _consuming(used: Usage, steps: list[Step], *, is_first: bool = True) -> tuple[Step, ...]:
    """What a script says that its agent uses, all of it in the first turn; where it says nothing, turns are counted."""
    if not (used.tokens_in or used.tokens_out):
        return tuple(steps)
    cached = min(used.cached, used.tokens_in)
    told = Tokens(tokens_in=used.tokens_in - cached, cache_read=cached, tokens_out=used.tokens_out)
    return tuple(
        msgspec.structs.replace(step, usage=told if is_first and not at else _NOTHING) for at, step in enumerate(steps)
    )


def _answer(work: Work, turn: Turn, context: dict[str, Json]) -> list[Step]:
    """The turns by which an answer is handed in; the last one says only that, or the answer itself."""
    given = fill(dict(turn.exit), context) if turn.exit is not None else {}
    assert isinstance(given, dict)
    if not given:
        return [_DONE]
    if turn.channel == "answer":
        return [Step(calls=((Call(tools=(f"*{EMIT}",), arguments={"exit": given}),),)), _DONE]
    files = answer_files(work, turn.channel, given)
    said = msgspec.structs.replace(_DONE, say=answer_words(turn.channel, given) or _DONE.say)
    return [*(Step(calls=(_write(work.lane, path, content),)) for path, content in files.items()), said]


def _failure(turn: Turn, work: Work) -> Failure | None:
    """An outage, for as long as the script says so."""
    broken = turn.outage
    if broken is None or work.retry >= broken.times:
        return None
    status, said = _FAILURES.get(broken.why, (503, "Overloaded."))
    wait = {"retry-after": str(broken.wait)} if broken.wait else {}
    later = f" Try again in {broken.wait} s." if broken.wait else ""
    return Failure(status=status, message=said + later, headers=wait)


def _write(lane: Path, name: str, content: str) -> tuple[Call, ...]:
    """A file by the client's own tool for it, by a command, or, where there is neither, by a patch."""
    path = lane / name
    calls = tuple(Call(tools=(tool,), arguments={at: str(path), "content": content}) for tool, at in _WRITERS.items())
    lines = "".join(f"+{line}\n" for line in content.splitlines())
    patch = Call(tools=("apply_patch",), input=f"*** Begin Patch\n*** Add File: {name}\n{lines}*** End Patch\n")
    data = base64.b64encode(content.encode()).decode()
    folder, file = shlex.quote(str(path.parent)), shlex.quote(str(path))
    return (*calls, *_shell(f"mkdir -p {folder} && printf %s {data} | base64 -d > {file}"), patch)


def _shell(command: str) -> tuple[Call, ...]:
    more = {"run_shell_command": {"description": "a step"}, "bash": {"description": "a step"}}
    return tuple(Call(tools=(tool,), arguments={at: command, **more.get(tool, {})}) for tool, at in _SHELLS.items())


def _files(turn: Turn, text: Callable[[str], str]) -> list[str]:
    """Files that are changed otherwise than by writing them anew."""

    def quote(value: str) -> str:
        return shlex.quote(text(value))

    def folder(value: str) -> str:
        parent = str(PurePosixPath(text(value)).parent)
        return "" if parent == "." else f"mkdir -p {shlex.quote(parent)} && "

    data = {path: base64.b64encode(text(content).encode()).decode() for path, content in turn.append.items()}
    return [
        *(f"{folder(path)}printf %s {content} | base64 -d >> {quote(path)}" for path, content in data.items()),
        *(f"{folder(to)}mv {quote(path)} {quote(to)}" for path, to in turn.rename.items()),
        *(f"rm -f {quote(path)}" for path in turn.delete),
        *(f"chmod +x {quote(path)}" for path in turn.executable),
    ]
