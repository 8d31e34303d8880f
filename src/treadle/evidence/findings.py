"""The findings of a check: problems that an agent can repair, notes for readers, and the command behind them."""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from treadle.protocol.items import Json

MOST: Final = 40
"""The number of problems of one check that a report shows; it only counts the others."""
_LONGEST: Final = 2_000
_OUTPUT: Final = 20_000


class CheckProblem(msgspec.Struct, frozen=True, kw_only=True):
    """One finding of a check: a thing to mend, or a note, which refuses nothing."""

    what: str
    file: str = ""
    line: int = 0
    test: str = ""
    expected: str = ""
    """The right state, or how to reach it."""
    criterion: str = ""
    """The id of the criterion that it is about."""
    code: str = ""
    """Stable name of the kind of problem, listed in `codes.py`; programs and tests compare it."""

    def __str__(self) -> str:
        where = self.test or (f"{self.file}:{self.line}" if self.file and self.line else self.file)
        head = f"{where}: {self.what}" if where else self.what
        text = _cut(f"{head}. Expected: {self.expected}" if self.expected else head)
        if not self.code:
            return text
        first, line_break, rest = text.partition("\n")  # many places show the first line alone
        return f"{first} [{self.code}]{line_break}{rest}"

    @property
    def data(self) -> dict[str, Json]:
        """The fields that have a value, for a record: always `code` and `what`."""
        fields: dict[str, Json] = {
            "file": self.file,
            "line": self.line,
            "test": self.test,
            "criterion": self.criterion,
            "expected": _cut(self.expected),
        }
        return {"code": self.code, "what": _cut(self.what), **{name: value for name, value in fields.items() if value}}


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


class CommandRun(msgspec.Struct, frozen=True, kw_only=True):
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


class CheckOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a check; it has passed if there is no problem."""

    problems: tuple[CheckProblem, ...] = ()
    notes: tuple[CheckProblem, ...] = ()
    """Worth reading, and no reason to refuse."""
    ran: CommandRun | None = None
    tree: str = ""
    """The tree that was measured, if it is not the recorded one."""
    skipped: bool = False
    """Whether the check did not run, because an earlier failure made it pointless."""
    facts: dict[str, Json] = {}
    """Further data for the evidence."""
    took: float = 0.0
    """Seconds that looking took, whether a command was run for it or not."""

    @property
    def ok(self) -> bool:
        return not self.problems

    @property
    def report(self) -> str:
        """Problems and notes, one line each."""
        lines = [f"- {problem}" for problem in self.problems[:MOST]]
        if len(self.problems) > MOST:
            lines.append(f"- and {len(self.problems) - MOST} more of the kind")
        return "\n".join([*lines, *(f"- (note) {one}" for one in self.notes[:MOST])])

    @property
    def findings(self) -> list[Json]:
        """Problems and notes as data, as many of each as the report shows."""
        return [
            *(one.data for one in self.problems[:MOST]),
            *({**one.data, "note": True} for one in self.notes[:MOST]),
        ]


def conclude(
    problems: Iterable[CheckProblem] = (),
    notes: Iterable[CheckProblem | str] = (),
    ran: CommandRun | None = None,
    tree: str = "",
) -> CheckOutcome:
    """An outcome, without repetitions. A note may be plain text, which has no code."""
    noted = [problem(one) if isinstance(one, str) else one for one in notes]
    return CheckOutcome(problems=tuple(dict.fromkeys(problems)), notes=tuple(dict.fromkeys(noted)), ran=ran, tree=tree)


def problem(
    what: str,
    file: str = "",
    line: int = 0,
    test: str = "",
    expected: str = "",
    *,
    criterion: str = "",
    code: str = "",
) -> CheckProblem:
    """A problem; `code` names its kind."""
    return CheckProblem(what=what, file=file, line=line, test=test, expected=expected, criterion=criterion, code=code)


def note(what: str, file: str = "", line: int = 0, test: str = "", *, criterion: str = "", code: str) -> CheckProblem:
    """Return a finding that refuses nothing, for `CheckOutcome.notes`."""
    return CheckProblem(what=what, file=file, line=line, test=test, criterion=criterion, code=code)


def refuse(what: str, file: str = "", expected: str = "", *, code: str) -> CheckOutcome:
    """An outcome with one problem."""
    return CheckOutcome(problems=(problem(what, file, expected=expected, code=code),))


def join_names(names: Sequence[str], most: int = 5) -> str:
    """A few names for a sentence."""
    shown = ", ".join(names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown
