"""What the author of a test that is not red is told."""

import pytest

from treadle.evidence.red_reasons import RIGHT, advice, raised
from treadle.toolchains.results import Kind, Phase, TestResult, Verdict


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
def test_right_reasons(verdict: Verdict, phase: Phase, kind: Kind, is_red: bool) -> None:
    assert TestResult(id="t", verdict=verdict, phase=phase, kind=kind).is_red is is_red


@pytest.mark.parametrize(
    ("verdict", "kind", "message", "said"),
    [
        ("failed", "error", "ValueError: unknown unit", "if ValueError shows that the behaviour is missing"),
        ("failed", "error", "shop.errors.NoStock: 3", "if NoStock is the behaviour, `with pytest.raises(…)`"),
        ("failed", "error", "KeyError", "if KeyError shows"),
        ("failed", "error", "", "if this error shows"),
        ("failed", "error", "TypeError: add() missing 1 argument", "call it as the interface says"),
        ("failed", "error", "AttributeError: no attribute 'x'", "for the scaffold to add"),
        ("failed", "import", "ModuleNotFoundError: x", "import only what is there"),
        ("error", "import", "SyntaxError", "import only what is there"),
        ("error", "fixture", "ValueError: x", "a fixture that fails only where it meets code that is not implemented"),
        ("failed", "timeout", "", "a test that ends"),
        ("failed", "exit", "", "pytest.raises(SystemExit)"),
        ("skipped", "", "later", "no skip"),
        ("xfailed", "", "", "no such mark"),
        ("xpassed", "", "", RIGHT),
    ],
)
def test_what_to_do(verdict: Verdict, kind: Kind, message: str, said: str) -> None:
    assert said in advice(TestResult(id="t", verdict=verdict, kind=kind, message=message))


@pytest.mark.parametrize(
    ("message", "name"),
    [("ValueError: x", "ValueError"), ("a.b.Odd: x", "Odd"), ("E   KeyError: 'a'", "KeyError"), ("assert 1 == 2", "")],
)
def test_the_name_of_what_was_raised(message: str, name: str) -> None:
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
def test_who_may_add_stubs_is_told_to(kind: Kind, message: str, is_stub: bool) -> None:
    test = TestResult(id="t", verdict="failed", phase="call", kind=kind, message=message)
    assert ("as a stub" in advice(test, adds_stubs=True)) is is_stub
    assert "as a stub" not in advice(test)
