from pathlib import Path

from tests.evidence.stage import FILES, MANIFEST, TEST, Stage, run
from treadle.evidence.suite import reason_for_doubt
from treadle.toolchains.results import TestResult, TestRun


def test_a_run_that_was_ended_is_a_reason_for_doubt() -> None:
    late = TestRun(
        command=("t",),
        exit=None,
        duration=9.0,
        ended="timeout",
        problems=("t did not end within 9 s",),
        output="waits\n",
    )
    problem, output = reason_for_doubt(late)
    assert (problem.code, output.code) == ("suite.unrunnable", "suite.unrunnable")
    assert (problem.what.endswith(late.problems[0]), output.what.endswith("\nwaits")) == (True, True)
    named = TestRun(
        command=("t",), exit=None, duration=9.0, ended="timeout", tests={"a": TestResult(id="a", verdict="passed")}
    )
    (problem,) = reason_for_doubt(named)
    assert (problem.code, "'timeout'" in problem.what) == ("suite.unrunnable", True)


def test_a_file_without_tests_that_ends_well_is_no_collection_error(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await Stage(tmp_path).start()
        files = {
            "tests/calc/test_add.py": TEST,
            "tests/calc/test_manifest.json": MANIFEST,
            "tests/calc/test_later.py": "import pytest\n\npytest.skip('later', allow_module_level=True)\n",
        }
        good = await stage.claim("tests", "TestsReady", files, checks="unbroken manifest")
        assert "tests.uncollectable" not in stage.codes(good, "manifest")
        broken = {"tests/calc/test_later.py": "import nothing_of_that_name\n"}
        bad = await stage.claim("tests", "TestsReady", {**files, **broken}, checks="unbroken? manifest", n="2.1")
        assert "tests.uncollectable" in stage.codes(bad, "manifest")

    run(story())


def test_a_file_that_could_not_be_collected_before_the_run_is_no_fault_of_the_work(tmp_path: Path) -> None:
    broken = {"tests/calc/test_broken.py": "import nothing_of_that_name\n"}

    async def story() -> None:
        stage = await Stage(tmp_path, files={**FILES, **broken}).start()
        files = {"tests/calc/test_add.py": TEST, "tests/calc/test_manifest.json": MANIFEST}
        honest = await stage.claim("tests", "TestsReady", files, checks="manifest")
        assert "tests.uncollectable" not in stage.codes(honest, "manifest")
        touched = {**files, "tests/calc/test_broken.py": "import nothing_of_that_name\n\nX = 1\n"}
        bad = await stage.claim("tests", "TestsReady", touched, checks="manifest", n="2.1")
        assert "tests.uncollectable" in stage.codes(bad, "manifest")

    run(story())
