"""What was left for later: `no_undefined`, `no_todo`."""

import re
from typing import Final

from treadle.evidence.diffs import added_lines
from treadle.evidence.findings import Found, Problem, found, problem
from treadle.evidence.python_stubs import stubs
from treadle.evidence.subject import Subject
from treadle.evidence.suite import is_one_by_one

_UNDEFINED: Final = re.compile(
    r"\b(todo!\(|unimplemented!\(|NotImplementedException|TODO\(\)|panic\(\"(not implemented|unimplemented|TODO)"
    r"|throw new Error\([\"'](not implemented|unimplemented|todo)|fatalError\(\"not implemented"
    r"|UnsupportedOperationException\(\)"
    r"|undefined\s*--|=\s*undefined\s*$)",
    re.IGNORECASE,
)
_SOURCES: Final = re.compile(
    r"\.(py|pyi|go|rs|java|kt|scala|cs|ts|tsx|js|jsx|mjs|swift|hs|rb|php|c|cc|cpp|h|hpp|sql|sh)\Z"
)
_TODO: Final = re.compile(r"(?:#|//|/\*|--|;|<!--|\*|\"\"\")\s*.*?\b(TODO|FIXME|XXX|HACK)\b(?!\s*\()", re.IGNORECASE)


async def no_undefined(s: Subject) -> Found:
    """No unimplemented bodies are left in what the instance has written."""
    origin = await s.git.origin(s.case.state, s.job.inst)
    changed = {change.path for change in await s.git.changes(origin, s.work.commit) if change.kind != "deleted"}
    problems: list[Problem] = []
    for path in sorted(changed):
        if s.tests.is_code(path) and _SOURCES.search(path):
            text = await s.text(path) or ""
            problems += _python(path, text) if path.endswith(".py") else _others(path, text)
    since = s.work.base if is_one_by_one(s) else origin if _writes_its_stubs(s) else ""
    return found([one for one in problems if not since or not await _was_there(s, one, since)])


def _writes_its_stubs(s: Subject) -> bool:
    """Whether the instance itself adds the stubs that it has to replace: what else is missing is for others."""
    return any(step.stubs for step in s.graph.steps.values())


async def _was_there(s: Subject, one: Problem, since: str) -> bool:
    """Whether the same body was missing already then: its turn has not come."""
    text = await s.text(one.file, since) or ""
    before = _python(one.file, text) if one.file.endswith(".py") else _others(one.file, text)
    return any(other.what == one.what for other in before)


def _python(path: str, text: str) -> list[Problem]:
    try:
        missing = stubs(text)
    except (SyntaxError, ValueError, RecursionError) as error:
        return [problem(f"cannot be parsed: {error}", path, getattr(error, "lineno", 0) or 0, code="code.unparsable")]
    return [
        problem(f"{name} is not implemented", path, line, expected="a body", code="code.unfinished")
        for name, line in missing
    ]


def _others(path: str, text: str) -> list[Problem]:
    lines = enumerate(text.splitlines(), 1)
    found_ = [(number, line.strip()) for number, line in lines if _UNDEFINED.search(line)]
    return [
        problem(f"is not implemented: {line[:120]}", path, number, expected="a body", code="code.unfinished")
        for number, line in found_
    ]


async def no_todo(s: Subject) -> Found:
    """No TODO without an owner: `TODO(name): …` is fine."""
    diff = await s.git.diff(await s.git.origin(s.case.state, s.job.inst), s.work.commit)
    return found(
        problem(
            f"leaves something open: {line.strip()[:120]}",
            file,
            number,
            expected="do it, or name an owner: TODO(name)",
            code="code.todo",
        )
        for file, number, line in added_lines(diff)
        if _SOURCES.search(file) and _TODO.search(line)
    )
