"""Chooses the script and the step that answer a request. The only state is how often each step has failed."""

import re
from collections import Counter
from fnmatch import fnmatchcase
from threading import Lock
from typing import Any, Final

import msgspec

from played_model.script import Library, ModelStep, Script, ScriptedCall, suggest
from played_model.wire import ModelAnswer, ModelRequest, Tool, ToolCall, count_tokens, new_id

_MOST_TOOLS: Final = 40
"""How many offered tools a message lists."""


class Player:
    """Plays scripts to any number of conversations at once."""

    def __init__(self, scripts: Library) -> None:
        self.scripts = scripts
        self._failed: Counter[tuple[str, int]] = Counter()
        self._lock = Lock()

    def answer(self, asked: ModelRequest) -> ModelAnswer:
        """Return the next turn of the model; a request that matches no script gets an explanation as text."""
        name, step = self._place(asked)
        if not name:
            known = ", ".join(self.scripts.names)
            return _explanation(asked, f"the prompt has no marker such as [[script:NAME]]; there are {known}")
        script = self.scripts.script(name)
        if script is None:
            hint = suggest(name, self.scripts.names) or f"choose from {', '.join(self.scripts.names)}"
            return _explanation(asked, f"there is no script '{name}' ({hint})")
        if step >= len(script.steps):
            why = f"the script '{name}' has ended: turn {step + 1} of {len(script.steps)}"
            return _explanation(asked, why, name, step)

        turn = _fill(script, script.steps[step], asked)
        if script.calls_tools and not asked.tools:  # a title or a summary, beside the conversation
            title = turn.say or f"Script {name}"
            return ModelAnswer(text=title, usage=turn.usage or count_tokens(asked, title), script=name, step=step)
        if turn.fail and self._fails(name, step, turn.fail.times):
            return ModelAnswer(failure=turn.fail, sleep=turn.sleep, script=name, step=step)
        calls, missing = _make_calls(turn, asked.tools)
        text = "\n\n".join(filter(None, (turn.say, missing)))
        return ModelAnswer(
            text=text,
            calls=calls,
            usage=turn.usage or count_tokens(asked, text, calls),
            stop_reason=turn.stop_reason or ("tool_use" if calls else "end_turn"),
            sleep=turn.sleep,
            misbehave=turn.misbehave,
            script=name,
            step=step,
            note=missing,
        )

    def _place(self, asked: ModelRequest) -> tuple[str, int]:
        """Return the script that the last prompt names, and how many turns of the model came after it.

        Entries of the model that follow each other are one turn.
        """
        name, step, before = "", 0, ""
        for entry in asked.entries:
            if entry.by == "model" and before != "model":
                step += 1
            elif entry.by in {"system", "prompt"} and (named := self.scripts.named_by(entry.text, name)):
                name, step = named, 0
            before = entry.by
        return name, step

    def _fails(self, name: str, step: int, times: int) -> bool:
        with self._lock:
            self._failed[name, step] += 1
            return times == 0 or self._failed[name, step] <= times


def _explanation(asked: ModelRequest, why: str, script: str = "", step: int = 0) -> ModelAnswer:
    text = f"model server: {why}"
    return ModelAnswer(text=text, usage=count_tokens(asked, text), script=script, step=step, note=why)


def _make_calls(turn: ModelStep, offered: tuple[Tool, ...]) -> tuple[tuple[ToolCall, ...], str]:
    """Return the calls with an offered tool, and a message about the others."""
    calls, missing = [], []
    for alternatives in turn.calls:
        for call in alternatives:
            if tool := _choose_tool(call, offered):
                calls.append(_make_call(call, tool))
                break
        else:
            wanted = [name for call in alternatives for name in call.tools]
            names = sorted(tool.names[0] for tool in offered)
            more = ", …" if len(names) > _MOST_TOOLS else ""
            hint = suggest(wanted[0], names) or f"offered are {', '.join(names[:_MOST_TOOLS])}{more}"
            missing.append(f"model server: no tool {' or '.join(wanted)} is offered ({hint})")
    return tuple(calls), "\n".join(missing)


def _choose_tool(call: ScriptedCall, offered: tuple[Tool, ...]) -> Tool | None:
    for wanted in call.tools:
        for tool in offered:
            if any(fnmatchcase(name, wanted) for name in tool.names):
                return tool
    return Tool(call.tools[0], takes_text=call.input is not None) if call.unoffered else None


def _make_call(call: ScriptedCall, tool: Tool) -> ToolCall:
    """Make a call with its arguments in the form of the tool: JSON, or plain text."""
    if not tool.takes_text:
        return ToolCall(new_id("call"), tool, call.arguments if call.input is None else {"input": call.input}, "")
    text = call.input if call.input is not None else msgspec.json.encode(call.arguments).decode()
    return ToolCall(new_id("call"), tool, {}, text)


def _fill(script: Script, turn: ModelStep, asked: ModelRequest) -> ModelStep:
    """Fill the step's `{name}` placeholders with the last matches in the request."""
    if not script.find:
        return turn
    request = "\n".join(entry.text for entry in asked.entries)
    values = {name: (re.findall(pattern, request) or [""])[-1] for name, pattern in script.find.items()}

    def fill(value: Any) -> Any:
        match value:
            case str():
                for name, text in values.items():
                    value = value.replace("{" + name + "}", text)
                return value
            case list():
                return [fill(each) for each in value]
            case dict():
                return {key: fill(each) for key, each in value.items()}
            case _:
                return value

    calls = tuple(
        tuple(msgspec.structs.replace(call, arguments=fill(call.arguments), input=fill(call.input)) for call in each)
        for each in turn.calls
    )
    return msgspec.structs.replace(turn, say=fill(turn.say), calls=calls)
