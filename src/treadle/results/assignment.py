"""The agent's side: what the environment of an activity says, and how an answer is handed in from there."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from treadle.errors import TreadleError
from treadle.protocol.answers.answer import Claim
from treadle.results.emit import FILE, FORMAT, Emitted, Via, is_taken, outsized, pack, unpack
from treadle.results.exits import mark_of, read_demands
from treadle.results.faulty import Faulty, faulty
from treadle.results.files import look, replace
from treadle.results.notes import FILE as NOTES
from treadle.results.notes import MAX_NOTES
from treadle.results.ways import Ways, wrapped

BUNDLE, OUT, ACT, TOKEN, RETRY = "TREADLE_BUNDLE", "TREADLE_OUT", "TREADLE_ACT", "TREADLE_TOKEN", "TREADLE_RETRY"
MEMORY: Final = "TREADLE_MEMORY"
"""Where the memory is in which the activity has a dialogue; not set if it has none."""
ACCEPTED: Final = "accepted; you can stop now"


class Assignment(msgspec.Struct, frozen=True, kw_only=True):
    """An activity, seen from inside of it."""

    act: str
    token: str
    retry: int | None
    bundle: Path
    out: Path
    ways: Ways
    mark: str = ""
    """The mark of the token that this session was started with; empty: not known."""
    lane: Path | None = None
    """Where its agent works; None: in the current folder."""

    def hand_in(self, answer: object, via: Via, by: str = "") -> Claim | Faulty:
        """Check an answer and put it where the run finds it; the last one before the session ends counts.

        `by` names the person who hands it in; programs leave it empty.
        """
        full = wrapped(answer)
        claim = self.ways.accept(full)
        if isinstance(claim, Faulty) or not isinstance(full, dict):
            return claim
        if refusal := self._closed() or outsized(full, self.ways):
            return refusal
        return self._deposit(full, via, by) or claim

    def leave_notes(self, text: str) -> Faulty | None:
        """Keep the agent's words for its successor."""
        if len(text) > MAX_NOTES:
            return faulty(f"the hand-over has {len(text)} characters, the limit is {MAX_NOTES}; shorten it")
        try:
            replace(self.out, NOTES, text.encode(errors="replace"))
        except OSError as error:
            return faulty(_unwritable(self.out / NOTES, error))
        return None

    def handed_in(self) -> str:
        """The exit that the last answer claims; empty if there is none yet."""
        found = self._earlier()
        claim = self.ways.accept(found.answer) if found and found.token == self.token else None
        return claim.key if isinstance(claim, Claim) else ""

    @property
    def is_taken(self) -> bool:
        """Whether an answer of this session has been taken, and is being checked, or was."""
        return is_taken(self.out, self.token)

    def _deposit(self, answer: dict[str, Any], via: Via, by: str) -> Faulty | None:
        now = time.time_ns() // 1_000_000
        emitted = Emitted(
            format=FORMAT, act=self.act, token=self.token, retry=self.retry, at=now, via=via, by=by, answer=answer
        )
        try:
            replace(self.out, FILE, pack(emitted))
        except OSError as error:
            return faulty(_unwritable(self.out / FILE, error))
        return None

    def _closed(self) -> Faulty | None:
        """Why no answer is taken here, or not any more."""
        if self.mark and mark_of(self.token) != self.mark:
            return faulty(
                f"{TOKEN} is not the token of this session: the step was started again, or the variable was changed;"
                " an answer from here would not count. Hand it in with the variables that the session was started with"
            )
        if self.is_taken:
            return faulty("your answer has already been taken, this one comes too late; you can stop now")
        earlier = self._earlier()
        if earlier and self.retry is not None and (earlier.retry or 0) > self.retry:
            return faulty("this step was started again, and another session has answered; you can stop now")
        return None

    def _earlier(self) -> Emitted | None:
        data = look(self.out, FILE)
        found = unpack(data) if isinstance(data, bytes) else None
        return found if isinstance(found, Emitted) and found.act == self.act else None


def is_inside(env: Mapping[str, str]) -> bool:
    """Whether the environment is that of an activity, or is meant to be."""
    return any(env.get(name) for name in (BUNDLE, OUT, ACT, TOKEN))


def assignment(env: Mapping[str, str]) -> Assignment:
    """The activity that this process is part of; a `TreadleError` outside of one."""
    missing = [name for name in (BUNDLE, OUT, ACT, TOKEN) if not env.get(name)]
    if missing:
        raise TreadleError(
            f"this works only inside of a step that treadle has started: {', '.join(missing)} not set;"
            " an agent's program has these variables in its environment; if you are the agent yourself,"
            " `treadle done` hands your work in",
            code="emit.outside",
        )
    bundle, out = Path(env[BUNDLE]), Path(env[OUT])
    for name, folder in ((BUNDLE, bundle), (OUT, out)):
        if not folder.is_dir():
            raise TreadleError(
                f"{name} names {folder}, and there is no such folder; has the step ended?", code="emit.outside"
            )
    retry = env.get(RETRY, "")
    demands = read_demands(bundle)
    return Assignment(
        act=env[ACT],
        token=env[TOKEN],
        retry=int(retry) if retry.isascii() and retry.isdigit() else None,
        bundle=bundle,
        out=out,
        ways=demands.ways,
        mark=demands.token,
    )


def _unwritable(path: Path, error: OSError) -> str:
    return f"{path} cannot be written: {(error.strerror or str(error)).lower()}"
