"""`minimal`, advice for whoever reviews: size, and names that no test reaches."""

import re
from typing import Final

from treadle.evidence.diffs import added_lines
from treadle.evidence.findings import Found, Problem, found, problem
from treadle.evidence.subject import Subject
from treadle.git.api.languages import is_understood, read_api

_LARGE: Final = 400


async def minimal(s: Subject) -> Found:
    """Size of the diff, public symbols that no test reaches."""
    diff = await s.git.diff(s.work.base, s.work.commit)
    lines = [one for one in added_lines(diff) if s.tests.is_code(one[0])]
    tests = await _tests(s)
    return found([*_size(lines), *await _unreached(s, tests)])


async def _tests(s: Subject) -> str:
    paths = [path for path in await s.entries() if s.tests.is_test(path) and not path.endswith(".json")]
    return "\n".join((await s.texts(paths[:500])).values())


def _size(lines: list[tuple[str, int, str]]) -> list[Problem]:
    code = [line for _, _, line in lines if line.strip()]
    return (
        [problem(f"{len(code)} lines were added: is all of that needed?", code="code.large")]
        if len(code) > _LARGE
        else []
    )


async def _unreached(s: Subject, tests: str) -> list[Problem]:
    """New public names that neither tests nor other code mention."""
    problems: list[Problem] = []
    changed = [one.path for one in s.changed_files() if is_understood(one.path) and s.tests.is_code(one.path)]
    names = {path: await _new_names(s, path) for path in changed}
    if not any(names.values()):
        return []
    code = await s.texts([path for path in await s.entries() if is_understood(path) and s.tests.is_code(path)])
    for path, new in names.items():
        for name in new:
            word = re.compile(rf"\b{re.escape(name)}\b")
            used = word.search(tests) or sum(len(word.findall(text)) for text in code.values()) > 1
            if not used:
                problems.append(
                    problem(
                        f"{name} is new and nothing uses it",
                        path,
                        expected="a test, or no such name",
                        code="code.unused",
                    )
                )
    return problems


def _python_code(s: Subject) -> list[str]:
    return [one.path for one in s.changed_files() if one.path.endswith(".py") and s.tests.is_code(one.path)]


async def _new_names(s: Subject, path: str) -> list[str]:
    before, now = [read_api(path, await s.git.show(one, path) or b"") for one in (s.work.base, s.work.commit)]
    if now.broken:
        return []
    names = [name.rpartition(".")[2] for name in now.symbols if name not in before.symbols]
    return [name for name in dict.fromkeys(names) if not name.startswith("_")]
