"""Tests that fail only because of our instrumentation: the runner's word counts, and a regression still shows."""

from pathlib import Path

from tests.evidence.stage import ADD, FILES, Stage, run
from tests.toolchains.projects import project, pytest_of, verdicts
from tests.toolchains.projects import run as run_tests
from treadle.evidence.baseline import INSTRUMENTED

COUNTING = """
class Counting:
    calls = 0
    def __eq__(self, other):
        self.calls += 1
        return other == 1
    __hash__ = None
"""
COUNTS = """
from src.calc.counting import Counting

def test_counts():
    value = Counting()
    assert value == 1
    assert value.calls == 1

def test_old_and_red():
    assert Counting() == 2
"""
ID, RED = (f"tests/calc/test_counting.py::test_{name}" for name in ("counts", "old_and_red"))
OLD = {**FILES, "src/calc/counting.py": COUNTING, "tests/calc/test_counting.py": COUNTS}


def test_without_instrumentation_nothing_is_asked_of_a_value_but_what_the_test_asks(tmp_path: Path) -> None:
    project(tmp_path, src__calc__counting=COUNTING, tests__test_counting=COUNTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\npythonpath = .\n")
    assert verdicts(run_tests(tmp_path)) == {"test_counts": "failed", "test_old_and_red": "failed"}
    plain = run_tests(tmp_path, is_plain=True)
    assert verdicts(plain) == {"test_counts": "passed", "test_old_and_red": "failed"}
    assert plain.is_believable
    assert pytest_of(tmp_path).is_plain is False


def test_what_passes_without_instrumentation_on_the_base_did_not_fail_before(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await (await Stage(tmp_path, files=OLD).start()).tested()
        done = await stage.claim("impl", "TestsPassed", {"src/calc/add.py": ADD}, checks="checkpoint green")
        assert done.report == ""
        assert stage.found(done, "green") == [(RED, "baseline.failing")]
        assert [INSTRUMENTED in one and ID in one for one in done.notes] == [True, False]

    run(story())


def test_a_regression_in_such_a_test_is_charged(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await (await Stage(tmp_path, files=OLD).start()).tested()
        twice = {"src/calc/add.py": ADD, "src/calc/counting.py": COUNTING.replace("+= 1", "+= 2")}
        done = await stage.claim("impl", "TestsPassed", twice, checks="checkpoint green")
        assert stage.found(done, "green") == [(ID, "green.failing"), (RED, "baseline.failing")]

    run(story())
