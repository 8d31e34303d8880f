"""The last section of every prompt: how to answer, by which exits, with which fields, and what is checked then."""

import shlex
from collections.abc import Iterator, Mapping
from typing import Any, Final

from treadle.prompts.done import done_command
from treadle.prompts.example import example
from treadle.prompts.foreign import inline
from treadle.protocol.answers.schema import TAG, Schema, schema
from treadle.protocol.catalogue import CHECKS, CheckSpec
from treadle.protocol.exit_name import exit_name
from treadle.protocol.items import Json
from treadle.protocol.model import CheckRef, Exit, Protocol, Step, exit_keys, tag_of

Commands = Mapping[str, Json]
"""The project's commands by name; empty where there is none."""
_WAYS: Final = """\
## How to answer

You end by exactly one of the exits below. It is a claim: what can be checked is checked, and a claim that does not hold
comes back with a report. Give it, in the form of the exit's example, in the first of these ways that you have:

1. the tool `emit_exit`: it says at once what is wrong with it;
2. the command `treadle emit FILE`, or `treadle emit -` for standard input: it says so, too;
3. your last output: one line that is nothing but this JSON object.
"""
_BY_HAND: Final = """\
## How to answer

You end by exactly one of the exits below. It is a claim: what can be checked is checked, and a claim that does not hold
comes back with a report. Hand it in by the command of the exit, in your checkout or in your folder; or write an answer
in the form of its example to a file, for `treadle done {run} FILE`. `treadle status {run}` shows the commands again. An
agent that does this for you, and whose program calls `treadle hook`, writes `status: EXIT` and a line for each field to
`.ai/executor-result` in its folder instead.
"""
_WHOLE_BY_HAND: Final = """\
Where the text above says `[cut: …]`, the whole is in `inputs/`, beside this file.
"""
_WHOLE: Final = """\
Where the text above says `[cut: …]`, the whole is in the folder that TREADLE_BUNDLE names, in `inputs/`.
"""


def answer_section(
    protocol: Protocol, step: Step, commands: Commands, *, cut: bool = False, by_hand_in: str = ""
) -> str:
    """How an agent ends a step; `cut` if something above could not be shown whole.

    `commands` are those of the project. `by_hand_in` is the run, if the agent is a person.
    """
    document = schema(protocol, step)
    whole = _WHOLE_BY_HAND if by_hand_in else _WHOLE
    parts = [*([whole] if cut else []), _BY_HAND.format(run=shlex.quote(by_hand_in)) if by_hand_in else _WAYS]
    bodies = document["properties"]["exit"]["anyOf"]
    for name, body in zip(step.exits, bodies, strict=True):
        checks = _checked(protocol, step, name, commands)
        called = exit_name(protocol, name) if by_hand_in else name
        shown = example(protocol, name, called)
        parts.append(_exit(protocol.exits[name], shown, called, body, [*checks], by_hand_in))
    records = document.get("$defs", {})
    if records:
        parts.append("### Records\n\n" + "\n".join(_record(name, body) for name, body in records.items()))
    return "\n".join(part.rstrip("\n") + "\n" for part in parts)


def _exit(found: Exit, shown: str, name: str, body: Schema, checks: list[str], by_hand_in: str) -> str:
    lines = [f"### `{name}`", "", *_about(found), *_fields(body, skip=TAG), *checks]
    lines += [f"Command: `{_command(by_hand_in, name, body)}`"] if by_hand_in else []
    return "\n".join([*lines, f"Example: `{shown}`"])


def _command(run: str, name: str, body: Schema) -> str:
    fields = [field for field in body["properties"] if field != TAG]
    needed = [field for field in fields if field in body["required"]]
    return done_command(run, name, needed, [field for field in fields if field not in needed])


def _about(exit_: Exit) -> Iterator[str]:
    if exit_.help:
        yield inline(exit_.help)


def _checked(protocol: Protocol, step: Step, name: str, commands: Commands) -> Iterator[str]:
    """What a claim by this exit must pass, once for each way it is refined."""
    seen: dict[tuple[CheckRef, ...], list[str]] = {}
    for key in exit_keys(protocol, step):
        if tag_of(key) == name and (checks := step.gates.get(key) or step.gates.get(name)):
            seen.setdefault(tuple(checks), []).append(key)
    for checks, keys in seen.items():
        yield "Checked:" if len(seen) == 1 else f"Checked ({', '.join(keys)}):"
        yield from (f"- {_check(check, commands)}" for check in checks)


def _check(check: CheckRef, commands: Commands) -> str:
    known = CHECKS.get(check.name)
    argument = f" ({inline(check.arg)})" if check.arg else ""
    by = _by(known, commands) if known else ""
    return f"{known.help if known else check.name}{argument}{by}{' (reported only)' if check.advisory else ''}"


def _by(check: CheckSpec, commands: Commands) -> str:
    """The project's command that a check runs, so that whoever works can run it first."""
    command = commands.get(check.runs or "test", "") if check.runs or check.needs == ("test",) else ""
    return f": `{inline(command)}`" if command else ""


def _record(name: str, body: Schema) -> str:
    about = f": {inline(body['description'])}" if body.get("description") else ""
    return "\n".join([f"`{name}`{about}", *_fields(body)])


def _fields(body: Schema, skip: str = "") -> Iterator[str]:
    properties: Mapping[str, Schema] = body["properties"]
    for name, field in properties.items():
        if name != skip:
            optional = "" if name in body["required"] else ", may be left out"
            help_ = f": {inline(field['description'])}" if field.get("description") else ""
            yield f"- `{name}` ({_type(field)}{optional}){help_}"


def _type(body: Mapping[str, Any]) -> str:
    if "$ref" in body:
        return str(body["$ref"]).rpartition("/")[2]
    if "anyOf" in body:
        return next(_type(option) for option in body["anyOf"] if option.get("type") != "null")
    if "enum" in body:
        return "one of " + ", ".join(f"`{value}`" for value in body["enum"] if value is not None)
    kinds = body["type"] if isinstance(body["type"], list) else [body["type"]]
    kind = next(kind for kind in kinds if kind != "null")
    return f"list of {_type(body['items'])}" if kind == "array" else str(kind)
