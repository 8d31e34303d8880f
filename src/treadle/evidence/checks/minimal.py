"""`minimal`, advice for whoever reviews: size, names that no test reaches, and code that knows its tests."""

import ast
import re
from collections.abc import Iterator
from typing import Final

from treadle.evidence.diffs import added_lines
from treadle.evidence.findings import Found, Problem, found, problem
from treadle.evidence.signatures import shapes
from treadle.evidence.subject import Subject

_LARGE: Final = 400
_FRAMEWORK: Final = re.compile(r"^\s*(import|from)\s+(pytest|_pytest|unittest|nose|hypothesis|mock)\b")
_KNOWS: Final = re.compile(
    r"PYTEST_CURRENT_TEST|\bsys\.modules\b|_getframe\b|inspect\.(stack|currentframe)\b|\bis_test(ing)?\b"
)


async def minimal(s: Subject) -> Found:
    """Size of the diff, public symbols that no test reaches, special cases that repeat literals of the tests."""
    diff = await s.git.diff(s.work.base, s.work.commit)
    lines = [one for one in added_lines(diff) if s.tests.is_code(one[0])]
    tests = await _tests(s)
    problems = [*_size(lines), *_knows_tests(lines), *await _unreached(s, tests), *await _hard_coded(s, tests)]
    return found(problems)


async def _tests(s: Subject) -> str:
    paths = [path for path in await s.entries() if s.tests.is_test(path) and not path.endswith(".json")]
    return "\n".join([await s.text(path) or "" for path in paths[:500]])


def _size(lines: list[tuple[str, int, str]]) -> list[Problem]:
    code = [line for _, _, line in lines if line.strip()]
    return [problem(f"{len(code)} lines were added: is all of that needed?")] if len(code) > _LARGE else []


def _knows_tests(lines: list[tuple[str, int, str]]) -> list[Problem]:
    return [
        problem(f"looks as if it knew that it is tested: {line.strip()[:100]}", file, number)
        for file, number, line in lines
        if _FRAMEWORK.search(line) or _KNOWS.search(line)
    ]


async def _unreached(s: Subject, tests: str) -> list[Problem]:
    """New public names that neither tests nor other code mention."""
    problems: list[Problem] = []
    names = {path: await _new_names(s, path) for path in _python_code(s)}
    code = {
        path: await s.text(path) or "" for path in await s.entries() if path.endswith(".py") and s.tests.is_code(path)
    }
    for path, new in names.items():
        for name in new:
            word = re.compile(rf"\b{re.escape(name)}\b")
            used = word.search(tests) or sum(len(word.findall(text)) for text in code.values()) > 1
            if not used:
                problems.append(problem(f"{name} is new and nothing uses it", path, expected="a test, or no such name"))
    return problems


def _python_code(s: Subject) -> list[str]:
    return [one.path for one in s.changed_files() if one.path.endswith(".py") and s.tests.is_code(one.path)]


async def _new_names(s: Subject, path: str) -> list[str]:
    try:
        before, now = shapes(await s.text(path, s.work.base) or ""), shapes(await s.text(path) or "")
    except (SyntaxError, ValueError):
        return []
    names = [name.rpartition(".")[2] for name in now if name not in before]
    return [name for name in dict.fromkeys(names) if not name.startswith("_")]


async def _hard_coded(s: Subject, tests: str) -> list[Problem]:
    """Branches on literals that the tests use too, with an answer that stands there as well."""
    known = _literals(tests)
    return [
        problem(f"special case: {text}", path, line, expected="the rule behind the examples of the tests")
        for path in _python_code(s)
        for line, text, values in special_cases(await s.text(path) or "")
        if values and values <= known
    ]


def special_cases(source: str) -> Iterator[tuple[int, str, set[str]]]:
    """`if x == <literal>: return <literal>` and tables of literals, each with the literals in it."""
    try:
        module = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return
    for node in ast.walk(module):
        match node:
            case ast.If(
                test=ast.Compare(ops=[ast.Eq()], comparators=[value]) as test, body=[ast.Return(value=answer)]
            ) if answer:
                values = _constants(value) | _constants(answer)
                if _constants(value) and _is_literal(answer):
                    yield node.lineno, f"if {ast.unparse(test)}: return {ast.unparse(answer)}"[:120], values
            case ast.Dict(keys=keys, values=answers) if len(keys) > 1:
                parts = [one for one in (*keys, *answers) if one is not None]
                if all(_is_literal(one) for one in parts):
                    yield node.lineno, ast.unparse(node)[:120], {value for one in parts for value in _constants(one)}


def _is_literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return True


def _constants(node: ast.expr) -> set[str]:
    plain = (one.value for one in ast.walk(node) if isinstance(one, ast.Constant))
    return {repr(value) for value in plain if value not in (None, True, False, "", 0, 1)}


def _literals(tests: str) -> set[str]:
    strings = re.findall(r"\"[^\"\n]{1,200}\"|'[^'\n]{1,200}'", tests)
    return {repr(one[1:-1]) for one in strings} | set(re.findall(r"(?<![\w.])\d+(?:\.\d+)?", tests))
