"""The documents of the bank as files: each bears a seal, by which one that somebody has changed is known."""

import hashlib
import re
from typing import Final

from treadle.protocol.memory_bank import is_view
from treadle.views.bank.brief import brief
from treadle.views.bank.context import context
from treadle.views.bank.course import Course, View
from treadle.views.bank.progress import progress
from treadle.views.bank.protection import protection
from treadle.views.payload import Get

VIEWS: Final[dict[str, View]] = {"brief": brief, "context": context, "progress": progress, "protection": protection}
_SEAL: Final = re.compile(
    r"<!-- made by treadle from the log of (\S+); changes are not read: sha256 ([0-9a-f]{64}) -->\n"
)


def bank(course: Course, get: Get) -> dict[str, str]:
    """Path → text of the documents that are views of a run; none before it has started."""
    protocol = course.protocol
    if protocol is None:
        return {}
    shown = [artifact for artifact in protocol.artifacts.values() if is_view(artifact)]
    return {it.path: sealed(course.state.run, VIEWS[it.view](protocol, course, get)) for it in shown}


def sealed(run: str, text: str) -> str:
    """A document with its seal."""
    return f"<!-- made by treadle from the log of {run}; changes are not read: sha256 {_digest(run, text)} -->\n{text}"


def run_of(text: str) -> str:
    """The run that a document was made from; empty if it was made otherwise, or changed since."""
    found = _SEAL.match(text)
    return found[1] if found and _digest(found[1], text[found.end() :]) == found[2] else ""


def _digest(run: str, text: str) -> str:
    return hashlib.sha256(f"{run}\n{text}".encode(errors="replace")).hexdigest()
