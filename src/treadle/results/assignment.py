"""The agent's side: read the activity from the environment, and hand an answer in."""

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from treadle.errors import TreadleError
from treadle.protocol.answers.claim import Claim
from treadle.protocol.answers.values import quote_text
from treadle.protocol.fields import EnumType, ScalarType, TypeExpr, agent_fields, bare
from treadle.results.emit import (
    FILE,
    FORMAT,
    MAX_NOTES,
    NOTES_FILE,
    TAKEN,
    EmittedAnswer,
    Via,
    outsized,
    pack,
    unpack,
)
from treadle.results.exits import StepExits, exit_object, mark_of, read_exits, wrap_exit
from treadle.results.intake import Faulty, faulty, read_file, replace_file

BUNDLE, OUT, ACT, TOKEN, RETRY = "TREADLE_BUNDLE", "TREADLE_OUT", "TREADLE_ACT", "TREADLE_TOKEN", "TREADLE_RETRY"
MEMORY: Final = "TREADLE_MEMORY"
"""The variable with the path of the memory that holds the activity's dialogue; unset if it has none."""
RECEIVED: Final = "received; you can stop now. The checks decide whether it is accepted."


class Assignment(msgspec.Struct, frozen=True, kw_only=True):
    """An activity as its own agent sees it."""

    act: str
    token: str
    retry: int | None
    bundle: Path
    out: Path
    step_exits: StepExits
    mark: str = ""
    """The mark of the token that this session was started with; empty: not known."""
    lane: Path | None = None
    """The folder in which its agent works; None: the current one."""

    def hand_in(self, answer: object, via: Via, by: str = "") -> Claim | Faulty:
        """Check an answer and write it to the activity's out folder; the last answer before the session ends counts.

        `by` names the person handing it in; programs leave it empty.
        """
        full = wrap_exit(answer)
        claim = self.step_exits.parse(full)
        if isinstance(claim, Faulty) or not isinstance(full, dict):
            return claim
        if refusal := self._closed() or outsized(full, self.step_exits):
            return refusal
        now = time.time_ns() // 1_000_000
        emitted = EmittedAnswer(
            format=FORMAT, act=self.act, token=self.token, retry=self.retry, at=now, via=via, by=by, answer=full
        )
        return self._write(FILE, pack(emitted)) or claim

    def leave_notes(self, text: str) -> Faulty | None:
        """Keep the agent's words for its successor."""
        if len(text) > MAX_NOTES:
            return faulty(f"the hand-over has {len(text)} characters, the limit is {MAX_NOTES}; shorten it")
        return self._write(NOTES_FILE, text.encode(errors="replace"))

    def handed_in(self) -> str:
        """Return the exit that the last answer claims; empty if there is none yet."""
        found = self._earlier()
        claim = self.step_exits.parse(found.answer) if found and found.token == self.token else None
        return claim.key if isinstance(claim, Claim) else ""

    @property
    def is_taken(self) -> bool:
        """Whether the run has already collected an answer of this session."""
        return read_file(self.out, TAKEN) == self.token.encode()

    def _write(self, name: str, data: bytes) -> Faulty | None:
        try:
            replace_file(self.out, name, data)
        except OSError as error:
            return faulty(f"{self.out / name} cannot be written: {(error.strerror or str(error)).lower()}")
        return None

    def _closed(self) -> Faulty | None:
        """Return why this session may not answer, or not any more; None if it may."""
        if self.mark and mark_of(self.token) != self.mark:
            return faulty(
                f"{TOKEN} is not the token of this session: the step was started again, or the variable was changed;"
                " an answer from here would not count. Hand it in with the variables that the session was started with"
            )
        if self.is_taken:
            return faulty("the run has already collected your answer, so this one comes too late; you can stop now")
        earlier = self._earlier()
        if earlier and self.retry is not None and (earlier.retry or 0) > self.retry:
            return faulty("this step was started again, and another session has answered; you can stop now")
        return None

    def _earlier(self) -> EmittedAnswer | None:
        data = read_file(self.out, FILE)
        found = unpack(data) if isinstance(data, bytes) else None
        return found if isinstance(found, EmittedAnswer) and found.act == self.act else None


def is_inside(env: Mapping[str, str]) -> bool:
    """Whether the environment is that of an activity, or is meant to be."""
    return any(env.get(name) for name in (BUNDLE, OUT, ACT, TOKEN))


def assignment(env: Mapping[str, str]) -> Assignment:
    """Return the activity that this process is part of; raise a `TreadleError` outside of one."""
    missing = [name for name in (BUNDLE, OUT, ACT, TOKEN) if not env.get(name)]
    if missing:
        raise TreadleError(
            f"this command works only inside a step that Treadle has started: {', '.join(missing)} not set."
            " Treadle sets these variables for the programs of agents; if you are the agent yourself,"
            " hand in your work with `treadle done`",
            code="emit.outside",
        )
    bundle, out = Path(env[BUNDLE]), Path(env[OUT])
    for name, folder in ((BUNDLE, bundle), (OUT, out)):
        if not folder.is_dir():
            raise TreadleError(f"{name} names {folder}, which does not exist; has the step ended?", code="emit.outside")
    retry = env.get(RETRY, "")
    step_exits = read_exits(bundle)
    return Assignment(
        act=env[ACT],
        token=env[TOKEN],
        retry=int(retry) if retry.isascii() and retry.isdigit() else None,
        bundle=bundle,
        out=out,
        step_exits=step_exits,
        mark=step_exits.mark,
    )


# An answer from the arguments of a command line: `--type TestsReady --field note=… --field report=@report.md`.


def from_arguments(
    step_exits: StepExits, type_: str, arguments: Sequence[str], option: str = "--type"
) -> dict[str, Any] | Faulty:
    """Build an answer from command-line arguments; values other than text and choices are JSON."""
    name = step_exits.codes.get(type_)
    if name is None:
        return faulty(f"{option} {quote_text(type_)} {step_exits.stranger(type_)}")
    known = list(agent_fields(step_exits.protocol.exits[name].fields))
    types = {other: expr for _, field, expr in known for other in field.also} | {own: expr for own, _, expr in known}
    fields: dict[str, Any] = {}
    for argument in arguments:
        field, equals, text = argument.partition("=")
        if not equals:
            return faulty(f"--field {quote_text(argument)} has no `=`; write --field name=value")
        if field in fields:
            return faulty(f"--field {quote_text(field)} is given twice; write a list as JSON: --field '{field}=[…]'")
        value = _read(field, text) if text.startswith("@") else text
        if isinstance(value, Faulty):
            return value
        fields[field] = _value(types.get(field), value)
    return exit_object(name, fields)


def _read(field: str, text: str) -> str | Faulty:
    """Return the text of the file that `@FILE` names; `@@` stands for an @ itself."""
    if text.startswith("@@"):
        return text[1:]
    path = Path(text[1:])
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        cause = (error.strerror if isinstance(error, OSError) else "") or str(error)
        why = "is no text in UTF-8" if isinstance(error, UnicodeDecodeError) else f"cannot be read: {cause.lower()}"
        return faulty(
            f"--field {field}: the file {quote_text(str(path))} {why}; a value that begins with @ is written @@"
        )


def _value(expr: TypeExpr | None, text: str) -> Any:
    """Convert a text to the type of its field; leave a misfit as text, for validation to refuse."""
    match bare(expr) if expr else None:
        case None | ScalarType(name="text" | "path"):
            return text
        case EnumType(values=values):
            return next((value for value in values if str(value) == text), text)
        case _:
            try:
                return json.loads(text)
            except (ValueError, RecursionError):
                return text
