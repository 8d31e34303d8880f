"""`knows_tests`, advice for whoever reviews: code that looks at whether it is tested, or repeats the tests' answers."""

import ast
import re
from collections.abc import Iterator
from typing import Final

from treadle.evidence.borrowed import changed_constants
from treadle.evidence.diffs import added_lines
from treadle.evidence.examples import is_value
from treadle.evidence.findings import Found, Problem, found, problem
from treadle.evidence.peeking import peeks
from treadle.evidence.subject import Subject

_FRAMEWORK: Final = re.compile(
    r"^\s*(?:import|from)\s+(?:pytest|_pytest|unittest|nose|hypothesis|mock)\b"
    r"|(?:from|require\(|import)\s*[\"'](?:node:test|vitest|@?jest(?:/\w+)?|mocha|chai|sinon)[\"']"
    r"|^\s*(?:import\s+)?(?:\w+\s+)?\"testing\"\s*$"
)
_KNOWS: Final = re.compile(
    r"PYTEST_CURRENT_TEST|PYTEST_VERSION|[\"']PYTEST|\bsys\.modules\b|\b_getframe\b|inspect\.(?:stack|currentframe)\b"
    r"|\bis_test(?:ing)?\b|NODE_ENV\W+test\b|JEST_WORKER_ID|\bVITEST\b|testing\.Testing\(|flag\.Lookup\(\"test\."
)
_MOST: Final = 500


async def knows_tests(s: Subject) -> Found:
    """Imports of test frameworks, looks at whether a test is running, special cases that repeat the tests' literals."""
    return found(await tests_known(s, s.work.base))


async def tests_known(s: Subject, base: str) -> list[Problem]:
    """What has come since a commit and looks as if it knew its tests."""
    diff = await s.git.diff(base, s.work.commit)
    lines = [one for one in added_lines(diff) if s.tests.is_code(one[0])]
    added = {(file, number) for file, number, _ in lines}
    known = literals(await _tests(s))
    seen = _looks(lines)
    return [
        *seen,
        *await _peeking(s, added - {(one.file, one.line) for one in seen}),
        *await _hard_coded(s, known, added),
        *await _exchanged(s),
    ]


async def _exchanged(s: Subject) -> list[Problem]:
    """Values that tests take from the code instead of saying them, and that the code has others for now."""
    wanted = "the value that the tests were written with, or tests that say themselves what is right"
    return [
        problem(
            f"{now.name}, which {test}:{one.line} takes for right, was {before.value[:80]} and is {now.value[:80]}",
            now.file,
            now.line,
            expected=wanted,
            code="code.expectation_changed",
        )
        for test, one, before, now in await changed_constants(s)
    ]


def _looks(lines: list[tuple[str, int, str]]) -> list[Problem]:
    wanted = "code that does the same whether it is tested or not"
    return [
        problem(
            f"looks as if it knew that it is tested: {line.strip()[:100]}",
            file,
            number,
            expected=wanted,
            code="code.knows_tests",
        )
        for file, number, line in lines
        if _FRAMEWORK.search(line) or _KNOWS.search(line)
    ]


async def _peeking(s: Subject, added: set[tuple[str, int]]) -> list[Problem]:
    code = sorted({path for path, _ in added if path.endswith(".py")})
    return [
        problem(
            f"{what}: does its answer depend on it?",
            path,
            line,
            expected="the same for whoever calls it",
            code="code.peeks",
        )
        for path in code
        for line, what in peeks(await s.text(path) or "", path)
        if (path, line) in added
    ]


async def _tests(s: Subject) -> str:
    paths = [path for path in await s.entries() if s.tests.is_test(path) and not path.endswith(".json")]
    return "\n".join([await s.text(path) or "" for path in paths[:_MOST]])


async def _hard_coded(s: Subject, known: set[str], added: set[tuple[str, int]]) -> list[Problem]:
    """New branches on literals that the tests use too, with an answer that stands there as well."""
    code = sorted({path for path, _ in added if path.endswith(".py")})
    return [
        problem(
            f"special case: {text}",
            path,
            line,
            expected="the rule behind the examples of the tests",
            code="code.special_case",
        )
        for path in code
        for line, text, values in special_cases(await s.text(path) or "")
        if values and values <= known and (path, line) in added
    ]


def special_cases(source: str) -> Iterator[tuple[int, str, set[str]]]:
    """Branches on literals that return literals, and tables of literals, each with the literals in it."""
    try:
        module = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return
    for node in ast.walk(module):
        match node:
            case ast.If(test=test, body=[ast.Return(value=answer)]) if answer and _asks(test) and is_value(answer):
                shown = f"if {ast.unparse(test)}: return {ast.unparse(answer)}"
                yield node.lineno, shown[:120], _constants(test) | _constants(answer)
            case ast.IfExp(test=test, body=answer) if _asks(test) and is_value(answer):
                yield node.lineno, ast.unparse(node)[:120], _constants(test) | _constants(answer)
            case ast.match_case(pattern=ast.MatchValue(value=value), body=[ast.Return(value=answer)]) if answer:
                if _constants(value) and is_value(answer):
                    shown = f"case {ast.unparse(value)}: return {ast.unparse(answer)}"
                    yield value.lineno, shown[:120], _constants(value) | _constants(answer)
            case ast.Dict(keys=keys, values=answers) if len(keys) > 1:
                parts = [one for one in (*keys, *answers) if one is not None]
                if all(is_value(one) for one in parts):
                    yield node.lineno, ast.unparse(node)[:120], {value for one in parts for value in _constants(one)}


def _asks(test: ast.expr) -> bool:
    """Whether a condition is only about something being one literal, or one of some."""
    if isinstance(test, ast.BoolOp):
        return all(_asks(one) for one in test.values)
    return isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Eq | ast.In) and bool(_constants(test))


def _constants(node: ast.expr) -> set[str]:
    plain = (one.value for one in ast.walk(node) if isinstance(one, ast.Constant))
    return {repr(value) for value in plain if value not in (None, True, False, "", 0, 1)}


def literals(tests: str) -> set[str]:
    """The strings and numbers that stand in a text, as Python would show them."""
    strings = re.findall(r"\"[^\"\n]{1,200}\"|'[^'\n]{1,200}'", tests)
    return {repr(one[1:-1]) for one in strings} | set(re.findall(r"(?<![\w.])\d+(?:\.\d+)?", tests))
