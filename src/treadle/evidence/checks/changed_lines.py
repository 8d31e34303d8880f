"""`coverage_kept`: what a refactoring does to the lines that the tests execute.

It looks at the lines of code that the instance has written since it started, as they are before the step and after it.
"""

from pathlib import PurePosixPath
from typing import Final

import msgspec

from treadle.evidence.findings import Found, Problem, failed, found, note, problem, some
from treadle.evidence.frozen import measured_tree
from treadle.evidence.line_moves import kept_lines, ranges
from treadle.evidence.python_lines import Lines, statement_lines
from treadle.evidence.subject import Subject
from treadle.evidence.suite import ran
from treadle.protocol.items import Json
from treadle.toolchains.line_coverage import LIMITS, LineCoverage

NOT_AVAILABLE: Final = "coverage is not available"
_CODE: Final = frozenset(
    ".py .js .mjs .cjs .jsx .ts .mts .cts .tsx .go .rs .java .kt .scala .rb .php .cs .c .cc .cpp .swift".split()
)
_NO_LINES: Final = Lines(frozenset(), frozenset())


class FileLines(msgspec.Struct, frozen=True):
    """One file: which of the instance's lines are executed, and what became of that."""

    path: str
    before: Lines
    """Only the lines that the instance has written."""
    after: Lines
    lost: frozenset[int] = frozenset()
    """Executed before, and not now."""
    fresh: frozenset[int] = frozenset()
    """Written in this step, and executed by no test."""


async def coverage_kept(s: Subject) -> Found:
    """Lines of this work that the tests ran before the step are run by them after it, and new ones are run."""
    changed = await _changed_code(s)
    python = [path for path in changed if path.endswith(".py")]
    if not changed:
        return found(notes=[note("no code was written", code="lines.none")])
    if not python:
        return failed(f"{NOT_AVAILABLE} for {some(changed)}: only Python is measured", code="lines.unmeasured")
    tree = await measured_tree(s)
    after = await s.measure.coverage(tree)
    before = await s.measure.coverage(await s.git.tree(s.work.base)) if after.is_known else after
    if not before.is_known or not after.is_known:
        return _unknown(before if not before.is_known else after)
    return await _compared(s, changed, before, after)


async def _changed_code(s: Subject) -> list[str]:
    """The files of code that the instance has written since it started."""
    origin = await s.git.origin(s.case.state, s.job.inst)
    changes = await s.git.changes(origin, s.work.commit)
    code = [one.path for one in changes if one.kind != "deleted" and s.tests.is_code(one.path)]
    return sorted(path for path in code if PurePosixPath(path).suffix in _CODE)


def _unknown(measured: LineCoverage) -> Found:
    reasons = tuple(problem(f"{NOT_AVAILABLE}: {one}", code="lines.unmeasured") for one in measured.problems)
    return Found(problems=reasons, ran=ran(measured.run) if measured.run else None)


async def _compared(s: Subject, changed: list[str], before: LineCoverage, after: LineCoverage) -> Found:
    files = {path: await _file(s, path, before, after) for path in changed if path.endswith(".py")}
    known = [one for one in files.values() if one is not None]
    unread = [path for path in changed if files.get(path) is None]
    problems = [one for file in known for one in _problems(file)]
    problems += [problem(f"{NOT_AVAILABLE} for this file", path, code="lines.unmeasured") for path in unread]
    return Found(
        problems=tuple(problems),
        notes=(note(said(known), code="lines.share"),),
        ran=ran(after.run) if after.run else None,
        facts={"coverage": facts(known), "not_measured": list(LIMITS)},
    )


async def _file(s: Subject, path: str, before: LineCoverage, after: LineCoverage) -> FileLines | None:
    origin = await s.text(path, await s.git.origin(s.case.state, s.job.inst)) or ""
    old, new = await s.text(path, s.work.base), await s.text(path) or ""
    then = _NO_LINES if old is None else statement_lines(old, before.lines.get(path, ()))
    now = statement_lines(new, after.lines.get(path, ()))
    if then is None or now is None:
        return None
    return compared(path, (origin, old or "", new), then, now)


def compared(path: str, texts: tuple[str, str, str], then: Lines, now: Lines) -> FileLines:
    """A file as it was when the instance started, before the step, and after it."""
    origin, old, new = texts
    moved = kept_lines(old, new)
    then, now = _own(origin, old, then), _own(origin, new, now)
    idle = now.statements - now.executed
    lost = frozenset(line for line in idle if moved.get(line) in then.executed)
    return FileLines(path, then, now, lost, frozenset(line for line in idle if line not in moved))


def _own(origin: str, text: str, lines: Lines) -> Lines:
    """The lines that were not there when the instance started."""
    foreign = kept_lines(origin, text).keys()
    return Lines(lines.statements - foreign, lines.executed - foreign)


def _problems(file: FileLines) -> list[Problem]:
    told = (
        (
            file.lost,
            "the tests ran this before the step and do not run it now",
            "tests that run it still",
            "lines.lost",
        ),
        (
            file.fresh,
            "this was written in this step and no test runs it",
            "only what the tests ask for",
            "lines.untested",
        ),
    )
    return [
        problem(f"{_lines(first, last)}: {what}", file.path, first, expected=wanted, code=code)
        for lines, what, wanted, code in told
        for first, last in ranges(set(lines), set(file.after.statements))
    ]


def _lines(first: int, last: int) -> str:
    return f"line {first}" if first == last else f"lines {first} to {last}"


def said(files: list[FileLines]) -> str:
    """Before and after in one sentence."""
    before, after = _share(files, "before"), _share(files, "after")
    return f"of the changed lines the tests run {before} before the step and {after} after it"


def _share(files: list[FileLines], when: str) -> str:
    lines: list[Lines] = [getattr(one, when) for one in files]
    return f"{sum(len(one.executed) for one in lines)} of {sum(len(one.statements) for one in lines)}"


def facts(files: list[FileLines]) -> dict[str, Json]:
    """Per file, for the evidence."""
    return {
        one.path: {
            "before": {"lines": len(one.before.statements), "run": len(one.before.executed)},
            "after": {"lines": len(one.after.statements), "run": len(one.after.executed)},
            "lost": [list(pair) for pair in ranges(set(one.lost), set(one.after.statements))],
            "fresh": [list(pair) for pair in ranges(set(one.fresh), set(one.after.statements))],
        }
        for one in files
    }
