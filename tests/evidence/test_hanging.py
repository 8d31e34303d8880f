"""Tests that do not end are stopped by a limit that the run on the base commit sets."""

from pathlib import Path

import pytest

from tests.evidence.stage import FILES, MANIFEST, TEST, Stage, run
from treadle.config.model import ToolchainSettings
from treadle.evidence.hanging import hang_limit
from treadle.toolchains.results import TestResult, TestRun

OLD = {**FILES, "tests/calc/test_old.py": "def test_old() -> None:\n    assert 1 + 1 == 2\n"}
NOTICED = "def add(a, b):\n    while True:\n        pass\n"
UNNOTICED = (
    "def add(a, b):\n    while True:\n        try:\n            while True:\n                pass\n"
    "        except BaseException:\n            pass\n"
)


def base(duration: float, *tests: float) -> TestRun:
    made = {f"t{n}": TestResult(id=f"t{n}", verdict="passed", duration=one) for n, one in enumerate(tests)}
    return TestRun(command=("t",), exit=0, duration=duration, tests=made)


@pytest.mark.parametrize(
    ("run_on_base", "test", "suite"),
    [(base(0.2, 0.1), 30.0, 150.0), (base(20.0, 1.0, 4.0), 40.0, 200.0), (base(5.0, 1.0, 50.0), 500.0, 500.0)],
)
def test_limits_are_ten_times_the_base_and_have_a_floor(run_on_base: TestRun, test: float, suite: float) -> None:
    limit = hang_limit(run_on_base, ToolchainSettings())
    assert limit is not None
    assert (limit.test, limit.suite) == (test, suite)


def test_there_is_no_limit_without_a_base_or_beyond_the_timeout() -> None:
    assert hang_limit(None, ToolchainSettings()) is None
    assert hang_limit(base(0.2, 0.1), ToolchainSettings(hang=0)) is None
    assert hang_limit(base(90.0, 0.1), ToolchainSettings()) is None
    assert hang_limit(TestRun(command=("t",), exit=None, duration=9.0, ended="timeout"), ToolchainSettings()) is None


@pytest.mark.parametrize("code", [NOTICED, UNNOTICED])
def test_a_looping_implementation_is_named_with_its_test_and_its_limit(tmp_path: Path, code: str) -> None:
    async def story() -> None:
        stage = await (await Stage(tmp_path, files=OLD, hang=1, reruns=0).start()).scaffolded()
        tests = {"tests/calc/test_add.py": TEST, "tests/calc/test_manifest.json": MANIFEST}
        verdict = await stage.claim("tests", "TestsReady", tests)
        assert verdict.report == ""
        verdict = await stage.claim("impl", "TestsPassed", {"src/calc/add.py": code}, checks="checkpoint green")
        assert ("tests/calc/test_add.py::test_adds", "green.hangs") in stage.found(verdict, "green")
        assert "`toolchain.hang` (1 s)" in verdict.report
        assert stage.evidence(verdict, "green")["duration"] < 20

    run(story())
