"""What a check says: problems that an agent can mend, notes for whoever reads, and the run it rests on."""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from treadle.protocol.items import Json

MOST: Final = 40
"""Problems of one check that are told; the rest is counted."""
_LONGEST: Final = 2_000
_OUTPUT: Final = 20_000


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """One thing to mend."""

    what: str
    file: str = ""
    line: int = 0
    test: str = ""
    expected: str = ""
    """What would be right."""
    code: str = ""
    """Stable name of the kind of problem, listed in `codes.py`; programs and tests compare it."""

    def __str__(self) -> str:
        where = self.test or (f"{self.file}:{self.line}" if self.file and self.line else self.file)
        head = f"{where}: {self.what}" if where else self.what
        text = f"{head}. Expected: {self.expected}" if self.expected else head
        return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


class Ran(msgspec.Struct, frozen=True, kw_only=True):
    """A command that a check rests on."""

    command: tuple[str, ...] = ()
    exit: int | None = None
    duration: float = 0.0
    output: str = ""
    isolation: str = ""
    limits: tuple[str, ...] = ()

    @property
    def evidence(self) -> dict[str, Json]:
        """As it is kept; of a long output, the end."""
        cut = self.output if len(self.output) <= _OUTPUT else f"…{self.output[-_OUTPUT:]}"
        return {
            "command": list(self.command),
            "exit": self.exit,
            "duration": round(self.duration, 3),
            "output": cut,
            "isolation": self.isolation,
            "limits": list(self.limits),
        }


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a check; it has passed if there is no problem."""

    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()
    """Worth reading, and no reason to refuse."""
    ran: Ran | None = None
    tree: str = ""
    """The tree that was measured, if it is not the recorded one."""
    skipped: bool = False
    """It was not looked at, because an earlier check left nothing to say."""
    facts: dict[str, Json] = {}
    """What else belongs to the evidence."""
    took: float = 0.0
    """Seconds that looking took, whether a command was run for it or not."""

    @property
    def ok(self) -> bool:
        return not self.problems

    @property
    def report(self) -> str:
        """What it has to say, a line each."""
        lines = [f"- {problem}" for problem in self.problems[:MOST]]
        if len(self.problems) > MOST:
            lines.append(f"- and {len(self.problems) - MOST} more of the kind")
        return "\n".join([*lines, *(f"- (note) {note}" for note in self.notes[:MOST])])


def found(problems: Iterable[Problem] = (), notes: Iterable[str] = (), ran: Ran | None = None, tree: str = "") -> Found:
    """An outcome, without repetitions."""
    return Found(problems=tuple(dict.fromkeys(problems)), notes=tuple(dict.fromkeys(notes)), ran=ran, tree=tree)


def problem(
    what: str, file: str = "", line: int = 0, test: str = "", expected: str = "", *, code: str = ""
) -> Problem:
    """A problem; `code` names its kind."""
    return Problem(what=what, file=file, line=line, test=test, expected=expected, code=code)


def failed(what: str, file: str = "", expected: str = "") -> Found:
    """An outcome with one problem."""
    return Found(problems=(problem(what, file, expected=expected),))


def some(names: Sequence[str], most: int = 5) -> str:
    """A few names for a sentence."""
    shown = ", ".join(names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown
