"""What the author of a test that is not red is told."""

import pytest

from treadle.evidence.checks.red import RIGHT, raised, red_advice
from treadle.toolchains.results import FailureKind, Phase, TestResult, Verdict


@pytest.mark.parametrize(
    ("verdict", "phase", "kind", "is_red"),
    [
        ("failed", "call", "assertion", True),
        ("failed", "call", "not_implemented", True),
        ("failed", "call", "error", False),
        ("failed", "call", "import", False),
        ("failed", "call", "timeout", False),
        ("failed", "call", "exit", False),
        ("error", "setup", "fixture", False),
        ("error", "setup", "not_implemented", True),
        ("error", "teardown", "not_implemented", False),
        ("error", "teardown", "fixture", False),
        ("error", "collect", "import", False),
        ("skipped", "setup", "", False),
        ("xfailed", "call", "", False),
        ("passed", "call", "", False),
    ],
)
def test_only_assertions_and_missing_code_are_red(
    verdict: Verdict, phase: Phase, kind: FailureKind, is_red: bool
) -> None:
    assert TestResult(id="t", verdict=verdict, phase=phase, kind=kind).is_red is is_red


@pytest.mark.parametrize(
    ("verdict", "kind", "message", "said"),
    [
        ("failed", "error", "ValueError: unknown unit", "if ValueError means that the behaviour is missing"),
        (
            "failed",
            "error",
            "shop.errors.NoStock: 3",
            "if NoStock is the expected behaviour, use `with pytest.raises(…)`",
        ),
        ("failed", "error", "KeyError", "if KeyError means"),
        ("failed", "error", "", "if this error means"),
        ("failed", "error", "TypeError: add() missing 1 argument", "call the code as the interface declares it"),
        ("failed", "error", "AttributeError: no attribute 'x'", "only the scaffold step can add"),
        ("failed", "import", "ModuleNotFoundError: x", "import only names that exist"),
        ("error", "import", "SyntaxError", "import only names that exist"),
        ("error", "fixture", "ValueError: x", "a fixture may fail only because the code under test is not implemented"),
        ("failed", "timeout", "", "the test has to end"),
        ("failed", "exit", "", "pytest.raises(SystemExit)"),
        ("skipped", "", "later", "no skip"),
        ("xfailed", "", "", "without this mark"),
        ("xpassed", "", "", RIGHT),
    ],
)
def test_a_test_that_is_not_red_gets_advice_for_its_reason(
    verdict: Verdict, kind: FailureKind, message: str, said: str
) -> None:
    assert said in red_advice(TestResult(id="t", verdict=verdict, kind=kind, message=message))


@pytest.mark.parametrize(
    ("message", "name"),
    [("ValueError: x", "ValueError"), ("a.b.Odd: x", "Odd"), ("E   KeyError: 'a'", "KeyError"), ("assert 1 == 2", "")],
)
def test_the_raised_exception_is_read_from_the_message(message: str, name: str) -> None:
    assert raised(message) == name


@pytest.mark.parametrize(
    ("kind", "message", "is_stub"),
    [
        ("import", "ModuleNotFoundError: No module named 'us_1'", True),
        ("error", "TypeError: due() got an unexpected keyword argument", True),
        ("error", "ValueError: unknown unit", False),
        ("timeout", "", False),
    ],
)
def test_an_author_that_may_add_stubs_is_advised_to(kind: FailureKind, message: str, is_stub: bool) -> None:
    test = TestResult(id="t", verdict="failed", phase="call", kind=kind, message=message)
    assert ("add a stub" in red_advice(test, adds_stubs=True)) is is_stub
    assert "add a stub" not in red_advice(test)
