"""Whether an agent has to do with the work that a person has in hand, and with which.

An agent that works in the lane of a step belongs to it. One that was started elsewhere belongs to a step if its
conversation names the step's lane, or the folder with what it is told. Nobody else is any of our business.
"""

import os
from collections.abc import Iterable
from pathlib import Path

import msgspec

from treadle.errors import PortError
from treadle.hooks.call import Call
from treadle.hooks.transcript import began, names
from treadle.ports import Work
from treadle.results.files import look, replace
from treadle.results.prepare import FILE as SENT

_NOTE = "hook.json"


class Mine(msgspec.Struct, frozen=True):
    """Work that an agent belongs to."""

    work: Work
    is_owed: bool
    """Whether this session has to say how the step ended; one that was there before the step may not know of it."""


def belonging(call: Call, works: Iterable[Work]) -> list[Mine]:
    """The work that a session belongs to."""
    here = Path(os.path.realpath(call.cwd))
    found = []
    for work in works:
        if here.is_relative_to(os.path.realpath(work.lane)):
            found.append(Mine(work, _is_owed(call, work)))
        elif names(call.transcript, work.lane, work.bundle):
            found.append(Mine(work, is_owed=_is_told(call, work)))
    return found


def note(call: Call, work: Work) -> None:
    """Remember that a session was told to go on with a step; forgetting it would only make the hook more patient."""
    try:
        replace(work.home, _NOTE, call.session.encode(errors="replace"))
    except (OSError, PortError):
        return


def _is_owed(call: Call, work: Work) -> bool:
    start, sent = began(call.transcript), _moment(work)
    return start is None or sent is None or start >= sent or _is_told(call, work)


def _is_told(call: Call, work: Work) -> bool:
    """Whether the session knows of exactly this attempt: its prompt was named, or a hook has told of it."""
    noted = look(work.home, _NOTE) == call.session.encode(errors="replace") and bool(call.session)
    return noted or names(call.transcript, work.bundle)


def _moment(work: Work) -> float | None:
    """When the step was handed out."""
    try:
        return (work.home / SENT).stat().st_mtime
    except OSError:
        return None
