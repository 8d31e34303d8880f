"""What a refactoring does to the lines that the tests run."""

from pathlib import Path

import pytest

from tests.evidence.stage import FILES, Stage, run
from treadle.evidence.checks.coverage import StatementLines, compare_coverage, statement_lines
from treadle.ports import Verdict

SIGN = """def sign(x: int) -> str:
    if x < 0:
        return "minus"
    return "plus"
"""
TESTS = """from src.calc.add import sign


def test_plus() -> None:
    assert sign(1) == "plus"


def test_minus() -> None:
    assert sign(-1) == "minus"
"""
WIDER = SIGN.replace(
    "    if x", '    if x == 10_000:  # pragma: no cover\n        return (\n            "much"\n        )\n    if x'
)
HIDING = {
    ".coveragerc": "[run]\nomit = *\n[report]\nexclude_lines = return\n",
    "pyproject.toml": '[tool.coverage.run]\nomit = ["*"]\n',
    "setup.cfg": "[coverage:run]\nomit = *\n",
}


async def implemented(tmp_path: Path) -> Stage:
    """An implementation that was accepted, whose tests run all of it; the repository wants nothing to be measured."""
    stage = await (await Stage(tmp_path, files={**FILES, **HIDING}).start()).tested({"tests/calc/test_add.py": TESTS})
    verdict = await stage.claim("impl", "TestsPassed", {"src/calc/add.py": SIGN}, checks="checkpoint scope")
    assert not verdict.report, verdict.report
    return stage


async def refactored(stage: Stage, step: str, files: dict[str, str], n: str = "2.1") -> Verdict:
    exit_ = {"impl": "TestsPassed", "tests": "TestsReady"}[step]
    return await stage.claim(step, exit_, files, checks="checkpoint coverage_kept", n=n)


@pytest.mark.soak
def test_untested_new_lines_and_unmeasured_languages_are_reported(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await implemented(tmp_path)
        kept = await refactored(stage, "impl", {"src/calc/add.py": f'"""Signs."""\n\n{SIGN}'})
        said = stage.evidence(kept, "coverage_kept")
        assert said["ok"], said["report"]
        assert stage.codes(kept, "coverage_kept") == ["lines.share"]
        assert said["report"].count("4 of 4") == 2
        verdict = await refactored(stage, "impl", {"src/calc/add.py": WIDER, "src/calc/a.ts": "let a;\n"}, "3.1")
        told = stage.evidence(verdict, "coverage_kept")
        found = stage.found(verdict, "coverage_kept")
        assert ("src/calc/add.py:3", "lines.untested") in found
        assert ("src/calc/a.ts", "lines.unmeasured") in found
        assert told["coverage"]["src/calc/add.py"]["fresh"] == [[3, 3]]

    run(story())


@pytest.mark.soak
def test_weaker_tests_lose_coverage_and_are_refused(tmp_path: Path) -> None:
    weaker = {"tests/calc/test_add.py": TESTS.replace("sign(-1)", "sign(1) and 'minus'")}

    async def story() -> None:
        stage = await implemented(tmp_path)
        verdict = await refactored(stage, "tests", weaker)
        wanted = "src/calc/add.py:3: line 3: the tests ran this before the step and do not run it now"
        assert wanted in verdict.report
        assert stage.evidence(verdict, "coverage_kept")["coverage"]["src/calc/add.py"]["lost"] == [[3, 3]]

    run(story())


def test_lines_from_before_the_run_do_not_count() -> None:
    origin = "a = 1\nb = 2\n"
    file = compare_coverage(
        "x.py", (origin, f"{origin}c = 3\n", f"z = 0\n{origin}c = 3\n"), lines(3, 1, 2, 3), lines(4, 1)
    )
    assert (file.before, file.after) == (
        StatementLines(frozenset({3}), frozenset({3})),
        StatementLines(frozenset({1, 4}), frozenset({1})),
    )
    assert (file.lost, file.fresh) == (frozenset({4}), frozenset())


def lines(count: int, *executed: int) -> StatementLines:
    return StatementLines(frozenset(range(1, count + 1)), frozenset(executed))


def test_a_statement_is_its_first_line() -> None:
    source = '"""Text."""\nx = [\n    1,\n    2,\n]\n\n\ndef f():\n    """Text."""\n    return "\\d"\n'
    found = statement_lines(source, (3, 8))
    assert found == StatementLines(frozenset({2, 8, 10}), frozenset({2, 8}))
    assert statement_lines("def broken(", ()) is None
