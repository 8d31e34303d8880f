"""New modules that are imported in the place of installed ones: who asks for a library gets what was written here.

A project's own package may well be installed, and then hides it; but it was there before the work began.
"""

from typing import Final

from treadle.evidence.findings import Problem, problem
from treadle.evidence.subject import Subject
from treadle.toolchains.results import TestRun

_PACKAGE: Final = "/__init__.py"
_EXPECTED: Final = "a name that nothing installed has, or the installed module itself"


async def hiding(s: Subject, run: TestRun) -> list[Problem]:
    """The modules that this work has added and that hide installed ones; of the tests, only those of this step."""
    if not run.hiding:
        return []
    known = {*await s.entries(await s.git.start(s.case.state.run))}
    given = {*await s.entries(s.work.base)}
    return [
        problem(
            f"hides the installed {name}, which tests and code then never meet",
            _top(file),
            expected=_EXPECTED,
            code="code.hides_module",
        )
        for file, name in run.hiding.items()
        if file not in known and not (s.tests.is_test(file) and file in given)
    ]


def _top(file: str) -> str:
    return file.removesuffix(_PACKAGE)
