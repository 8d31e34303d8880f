"""Which step of which script answers a request. Nothing is remembered but how often a step has failed."""

import re
from collections import Counter
from fnmatch import fnmatchcase
from threading import Lock
from typing import Any, Final

import msgspec

from treadle.protocol.findings import suggest
from treadle.protocol.items import Json
from treadle.testing.model_server.answer import Answer, Made, new_id
from treadle.testing.model_server.counting import counted
from treadle.testing.model_server.request import Asked, Tool
from treadle.testing.model_server.script import Call, Library, Script, Step

_MANY: Final = 40


class Player:
    """Plays scripts to any number of conversations at once."""

    def __init__(self, scripts: Library) -> None:
        self.scripts = scripts
        self._failed: Counter[tuple[str, int]] = Counter()
        self._lock = Lock()

    def answer(self, asked: Asked) -> Answer:
        """The next turn of the model; what cannot be played is said as text."""
        named = self._named(asked)
        if named is None:
            known = ", ".join(self.scripts.names)
            return _complaint(asked, f"the prompt has no marker such as [[script:NAME]]; there are {known}")
        name, step = named
        script = self.scripts.script(name)
        if script is None:
            hint = suggest(name, self.scripts.names) or f"there are {', '.join(self.scripts.names)}"
            return _complaint(asked, f"there is no script '{name}' ({hint})")
        if step >= len(script.steps):
            why = f"the script '{name}' has ended: turn {step + 1} of {len(script.steps)}"
            return _complaint(asked, why, name, step)
        return self._played(script, name, step, asked)

    def _named(self, asked: Asked) -> tuple[str, int] | None:
        """The script that the last prompt names, and how many turns of the model came after it."""
        found: tuple[str, int] | None = None
        before = ""
        for entry in asked.entries:
            if entry.by == "model" and before != "model" and found:
                found = (found[0], found[1] + 1)
            before = entry.by
            if entry.by in {"system", "prompt"} and (
                name := self.scripts.named_by(entry.text, found[0] if found else "")
            ):
                found = (name, 0)
        return found

    def _played(self, script: Script, name: str, step: int, asked: Asked) -> Answer:
        turn = _filled(script, script.steps[step], asked)
        if script.calls_tools and not asked.tools:  # a title or a summary, beside the conversation
            title = turn.say or f"Script {name}"
            return Answer(text=title, usage=turn.usage or counted(asked, title), script=name, step=step)
        if turn.fail and self._fails(name, step, turn.fail.times):
            return Answer(failure=turn.fail, sleep=turn.sleep, script=name, step=step)
        calls, missing = _made(turn, asked.tools)
        text = "\n\n".join(filter(None, (turn.say, missing)))
        return Answer(
            text=text,
            calls=calls,
            usage=turn.usage or counted(asked, text, calls),
            stop_reason=turn.stop_reason or ("tool_use" if calls else "end_turn"),
            sleep=turn.sleep,
            misbehave=turn.misbehave,
            script=name,
            step=step,
            note=missing,
        )

    def _fails(self, name: str, step: int, times: int) -> bool:
        with self._lock:
            self._failed[name, step] += 1
            return times == 0 or self._failed[name, step] <= times


def _complaint(asked: Asked, what: str, script: str = "", step: int = 0) -> Answer:
    text = f"model server: {what}"
    return Answer(text=text, usage=counted(asked, text), script=script, step=step, note=what)


def _made(turn: Step, offered: tuple[Tool, ...]) -> tuple[tuple[Made, ...], str]:
    """The calls that can be made, and what to say about those that cannot."""
    calls, missing = [], []
    for alternatives in turn.calls:
        fits = ((call, tool) for call in alternatives if (tool := _first_offered(call, offered)))
        call, tool = next(fits, (None, None))
        if call and tool:
            calls.append(_call(call, tool))
        else:
            missing.append(_not_offered(alternatives, offered))
    return tuple(calls), "\n".join(f"model server: {each}" for each in missing)


def _call(call: Call, tool: Tool) -> Made:
    """The arguments as the tool that was found takes them."""
    if tool.takes_text:
        return Made(
            new_id("call"),
            tool,
            {},
            call.input if call.input is not None else msgspec.json.encode(call.arguments).decode(),
        )
    return Made(new_id("call"), tool, call.arguments if call.input is None else {"input": call.input}, "")


def _first_offered(call: Call, offered: tuple[Tool, ...]) -> Tool | None:
    for wanted in call.tools:
        for tool in offered:
            if any(fnmatchcase(name, wanted) for name in tool.names):
                return tool
    return Tool(call.tools[0], takes_text=call.input is not None) if call.unoffered else None


def _not_offered(alternatives: tuple[Call, ...], offered: tuple[Tool, ...]) -> str:
    wanted = [name for call in alternatives for name in call.tools]
    names = sorted(tool.names[0] for tool in offered)
    hint = suggest(wanted[0], names) or f"offered are {', '.join(names[:_MANY])}{'' if len(names) <= _MANY else ', …'}"
    return f"no tool {' or '.join(wanted)} is offered ({hint})"


def _filled(script: Script, turn: Step, asked: Asked) -> Step:
    """The step with what was looked for in the request in the place of its names."""
    if not script.find:
        return turn
    everything = "\n".join(entry.text for entry in asked.entries)
    found = {name: _last(pattern, everything) for name, pattern in script.find.items()}

    def fill(value: Any) -> Any:
        match value:
            case str():
                for name, text in found.items():
                    value = value.replace("{" + name + "}", text)
                return value
            case list():
                return [fill(each) for each in value]
            case dict():
                return {key: fill(each) for key, each in value.items()}
            case _:
                return value

    def filled(call: Call) -> Call:
        arguments: dict[str, Json] = fill(call.arguments)
        return msgspec.structs.replace(call, arguments=arguments, input=fill(call.input))

    calls = tuple(tuple(filled(call) for call in alternatives) for alternatives in turn.calls)
    return msgspec.structs.replace(turn, say=fill(turn.say), calls=calls)


def _last(pattern: str, text: str) -> str:
    found = re.findall(pattern, text)
    return str(found[-1]) if found else ""
