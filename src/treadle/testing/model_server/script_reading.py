"""Scripts from YAML: everything that is wrong with them is found at once, each with its line."""

import re
from pathlib import Path
from typing import Final, cast

from treadle.agents.script_reading import script_text
from treadle.protocol.findings import Finding, Place
from treadle.protocol.items import Json
from treadle.protocol.reading.part import FIELD, NAME, Log, Part
from treadle.protocol.reading.source import read
from treadle.testing.model_server.script import (
    MISBEHAVIOURS,
    STOP_REASONS,
    Call,
    Failure,
    Script,
    Scripts,
    Step,
    Tokens,
)

_STEP: Final = ("say", "call", "fail", "sleep", "misbehave", "usage", "stop_reason")
_CALL: Final = ("tool", "with", "input", "unoffered")
_FAILURE: Final = ("status", "times", "message", "type", "headers", "body")
_LONGEST_SLEEP: Final = 3600
_HEADER: Final = re.compile(r"[A-Za-z0-9-]{1,80}")


def load_scripts(path: Path) -> Scripts:
    """The scripts in a file; a `TreadleError` says all that is wrong with them."""
    return read_scripts(script_text(path), str(path))


def read_scripts(text: str, file: str) -> Scripts:
    """The scripts in a text."""
    log = _Log()
    top = Part(read(text, file), "", "", log)
    if not isinstance(top.node.value, dict):
        top.problem("must be a mapping", "write `scripts:` and below it `NAME:` with a list of steps")
    top.known("scripts")
    scripts = {name: _script(part) for name, part in top.named("scripts", NAME)}
    if not scripts and not log.findings:
        top.problem("there is no script", "write `scripts:` and below it `NAME:` with a list of steps")
    log.settle(file, "script.invalid")
    return Scripts(file, scripts)


class _Log(Log):
    """Says exactly where something is wrong, and not which step of a protocol it belongs to."""

    def add(self, place: Place, path: str, message: str, hint: str = "") -> None:
        super().add(place, path, message, hint)
        last = self.findings[-1]
        self.findings[-1] = Finding(last.place, path, last.message, last.hint, code="script.invalid")


def _script(part: Part) -> Script:
    if not isinstance(part.node.value, dict):
        return Script(steps=_steps(part))
    part.known("steps", "when", "find")
    steps = part.get("steps")
    if steps is None:
        part.problem("there are no 'steps'", "write `steps:` and below it a list")
    find = {name: _pattern(entry) for name, entry in part.named("find", FIELD)}
    return Script(steps=_steps(steps) if steps else (), when=part.texts("when"), find=find)


def _steps(part: Part) -> tuple[Step, ...]:
    if not isinstance(part.node.value, list):
        part.expected("a list", "write each step after `- `, such as `- say: Done.`")
        return ()
    if not part.node.value:
        part.problem("there is no step", "write at least one: `- say: Done.`")
    return tuple(_step(each) for each in part.items())


def _step(part: Part) -> Step:
    part.known(*_STEP)
    calls, fail, usage = part.get("call"), part.get("fail"), part.get("usage")
    if not isinstance(part.node.value, dict):
        part.expected("a mapping", f"of {', '.join(_STEP)}")
    return Step(
        say=part.text("say"),
        calls=tuple(_alternatives(each) for each in calls.items()) if calls else (),
        fail=_failure(fail) if fail else None,
        sleep=_seconds(part),
        misbehave=part.one_of("misbehave", MISBEHAVIOURS, ""),
        usage=_tokens(usage) if usage else None,
        stop_reason=part.one_of("stop_reason", STOP_REASONS, ""),
    )


def _alternatives(part: Part) -> tuple[Call, ...]:
    first = part.get("first")
    if first is None:
        return (_call(part, "first"),)
    part.known("first")
    if not first.node.value:
        first.problem("there is no call", "write the calls of which the first that can be made is: `- {tool: NAME}`")
    return tuple(_call(each) for each in first.items())


def _call(part: Part, *more: str) -> Call:
    part.known(*_CALL, *more)
    tools, given = part.texts("tool"), part.get("with")
    if not isinstance(part.node.value, dict):
        part.expected("a mapping", "write `call: {tool: NAME, with: {…}}`")
    elif not tools:
        part.problem(
            "does not say which tool", "write `tool: NAME`, or a list of names of which the first offered wins"
        )
    if given is not None and part.get("input") is not None:
        part.problem("has both 'with' and 'input'", "`with` is for a tool that has a schema, `input` for one without")
    if part.flag("unoffered") and tools and set(tools[0]) & set("*?["):
        part.problem("a pattern cannot be called", "with `unoffered`, write a whole name first")
    return Call(
        tools=tools,
        arguments=_data(given) if given else {},
        input=part.text("input") if part.get("input") else None,
        unoffered=part.flag("unoffered"),
    )


def _failure(part: Part) -> Failure:
    if not isinstance(part.node.value, dict):
        return Failure(status=_status(part))
    part.known(*_FAILURE)
    status, headers, body = part.get("status"), part.get("headers"), part.get("body")
    if status is None:
        part.problem("does not say which status", "write `status: 429`")
    return Failure(
        status=_status(status) if status else 500,
        times=part.whole("times", 0, least=1),
        message=part.text("message"),
        type=part.text("type"),
        headers=_headers(headers) if headers else {},
        body=_data(body) if body else None,
    )


def _status(part: Part) -> int:
    status = part.as_whole(500)
    if not 400 <= status <= 599:
        part.problem(f"{status} is no status of a failure", "write one from 400 to 599, such as 429 or 529")
    return status


def _headers(part: Part) -> dict[str, str]:
    found = {}
    for name, entry in part.entries():
        value = entry.node.value
        text = str(value) if isinstance(value, int) and not isinstance(value, bool) else entry.as_text()
        if not _HEADER.fullmatch(name) or not (text.isascii() and text.isprintable()):
            entry.problem("is no header", "a name has letters, digits and -, a value printable ASCII on one line")
        found[name] = text
    return found


def _tokens(part: Part) -> Tokens:
    known = Tokens.__struct_fields__
    part.known(*known)
    if not isinstance(part.node.value, dict):
        part.expected("a mapping", f"of {', '.join(known)}")
    return Tokens(**{name: part.whole(name, 0) for name in known if part.get(name)})


def _seconds(part: Part) -> float:
    given = part.get("sleep")
    value = given.node.value if given else 0
    if given and (isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _LONGEST_SLEEP):
        given.problem("must be a number of seconds", f"write one from 0 to {_LONGEST_SLEEP}")
        return 0.0
    return float(cast(float, value))


def _data(part: Part) -> dict[str, Json]:
    if not isinstance(part.node.value, dict):
        part.expected("a mapping", "write `key: value`")
        return {}
    return cast(dict[str, Json], part.node.plain())


def _pattern(part: Part) -> str:
    text = part.as_text()
    try:
        if re.compile(text).groups != 1:
            part.problem("must have one group", r"put what is looked for in brackets: `Directory: (\S+)`")
    except re.error as error:
        part.problem(
            f"is no regular expression: {error}", "put it in single quotes, and escape what is meant literally"
        )
    return text
