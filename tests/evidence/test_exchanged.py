"""What code has exchanged for good while it ran: certain of some things, and never of what was so before."""

from pathlib import Path

import pytest

from tests.evidence.stage import ADD, FILES, Stage, run
from treadle.evidence.checks.green import is_certain

TRACER = "import sys\n\n\ndef _quiet(*_):\n    return None\n\n\nsys.settrace(_quiet)\n\n\n"


@pytest.mark.parametrize(
    ("finding", "certain"),
    [
        ("_pytest.runner.call_and_report is no longer what it was", True),
        ("pytest.raises is no longer what it was", True),
        ("builtins.AssertionError is no longer what it was", True),
        ("tests/test_a.py::test_a[1 2] was exchanged after it was collected", True),
        ("a tracer of src/calc/add.py was at work while tests ran", True),
        ("builtins.ValueError is no longer what it was", True),
        ("builtins.isinstance is no longer what it was", True),
        ("re.search is no longer what it was", True),
        ("operator.eq is no longer what it was", True),
        ("tests/test_a.py: total is no longer what the tests were collected with", True),
        ("tests/test_a.py::test_a runs without the assertion in line 5 of its file", True),
        ("_pytest.runner.CallInfo.__init__ was exchanged (in tests/test_a.py::test_a)", True),
        ("pytest.hook.pytest_runtest_makereport was exchanged (in no test)", True),
        ("src/a.py: Money takes a wrong value for the right one: 1 == 7 (in tests/test_a.py::test_a)", True),
        ("src/a.py: Name compares in its own way: by itself, 'a' == 'A' does not hold (in test_a.py::test_a)", False),
        ("tests/test_a.py::test_a passed without reaching any of its assertions (lines 5, 7)", True),
        ("builtins.print was exchanged (in no test)", False),
        ("builtins.print is no longer what it was", False),
        ("builtins.__import__ is no longer what it was", False),
        ("builtins.open is no longer what it was", False),
        ("sys.settrace is no longer what it was", False),
        ("a tracer was set by src/calc/add.py:8 (in no test)", False),
        ("sys._getframe was called by src/calc/add.py:1 (in no test)", False),
    ],
)
def test_only_findings_that_honest_code_never_causes_are_certain(finding: str, certain: bool) -> None:
    assert is_certain(finding) == certain


@pytest.mark.parametrize("before", [False, True])
def test_manipulation_from_before_the_work_is_not_charged(tmp_path: Path, before: bool) -> None:
    async def story() -> str:
        files = {**FILES, "conftest.py": TRACER} if before else FILES
        stage = await (await Stage(tmp_path, files=files).start()).tested()
        code = ADD if before else TRACER + ADD
        return (await stage.claim("impl", "TestsPassed", {"src/calc/add.py": code}, checks="checkpoint green")).report

    report = run(story())
    assert ("a tracer of src/calc/add.py" in report) != before
    assert bool(report) != before


@pytest.mark.parametrize("before", [False, True])
def test_a_test_that_reaches_no_assertion_is_named_unless_it_was_so_before(tmp_path: Path, before: bool) -> None:
    looping = "def test_rows():\n    for row in open('rows'):\n        assert row == '1'\n"

    async def story() -> str:
        files = {**FILES, "tests/test_rows.py": looping, "rows": "" if before else "1"}
        stage = await (await Stage(tmp_path, files=files).start()).tested()
        written = {"src/calc/add.py": ADD, "rows": ""}
        return (await stage.claim("impl", "TestsPassed", written, checks="checkpoint green")).report

    report = run(story())
    said = "tests/test_rows.py::test_rows: passed without reaching any of its assertions (lines 3)"
    assert (said in report) != before
    assert bool(report) != before
