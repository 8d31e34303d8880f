from pathlib import Path

from tests.evidence.stage import MANIFEST, TEST, Stage, run
from treadle.evidence.suite import unbelievable
from treadle.toolchains.results import TestResult, TestRun


def test_a_run_that_was_ended_has_the_word() -> None:
    late = TestRun(
        command=("t",),
        exit=None,
        duration=9.0,
        ended="timeout",
        problems=("t did not end within 9 s",),
        output="waits\n",
    )
    assert [one.what for one in unbelievable(late)] == [
        "the tests could not be run: t did not end within 9 s",
        "the tests could not be run: it printed:\nwaits",
    ]
    named = TestRun(
        command=("t",), exit=None, duration=9.0, ended="timeout", tests={"a": TestResult(id="a", verdict="passed")}
    )
    assert [one.what for one in unbelievable(named)] == ["the tests could not be run: it ended by 'timeout'"]


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
