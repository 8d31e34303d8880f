import hashlib
import json
from typing import Any

import pytest

from treadle.toolchains.junit import JunitCase
from treadle.toolchains.testimony import Testimony, address, disagreements, expected_exit, problem_of_exit

KEY = b"k" * 32


def line(number: int, key: bytes = KEY, **said: Any) -> bytes:
    body = json.dumps(said)
    return f"{hashlib.blake2s(f'{number} {body}'.encode(), key=key).hexdigest()} {body}\n".encode()


def told(*said: dict[str, Any]) -> Testimony:
    testimony = Testimony(KEY)
    for number, one in enumerate(({"what": "hello", "pytest": "9", "python": "3", "early": []}, *said)):
        testimony.hear(line(number, **one))
    return testimony


def phase(id: str, when: str = "call", outcome: str = "passed", **more: Any) -> dict[str, Any]:
    facts = {"raw": outcome, "xfail": False, "kind": "", "places": [], "message": "", "seconds": 0.5}
    return {"what": "phase", "id": id, "when": when, "outcome": outcome, **facts, **more}


CHOSEN: dict[str, Any] = {"what": "chosen", "ids": ["a.py::t"]}
END: dict[str, Any] = {"what": "end", "exit": 0, "strangers": []}
REPORT = [JunitCase(suites=(), classname="a", name="t")]


@pytest.mark.parametrize(
    "forged",
    [
        b"\n",
        b"nonsense\n",
        b'0 {"what": "end", "exit": 0, "strangers": []}\n',
        line(1, key=b"x" * 32, **END),
        line(0, what="hello", pytest="9", python="3", early=[]),
        line(2, **END),
    ],
    ids=["empty", "nonsense", "unsigned", "another key", "said again", "out of order"],
)
def test_a_forged_witness_line_makes_the_run_bent(forged: bytes) -> None:
    testimony = told()
    testimony.hear(forged)
    [bent] = testimony.bent
    assert "witness's line" in bent
    assert testimony.exit is None
    testimony.hear(line(1, **END))
    assert testimony.exit == 0, "and what the witness itself says is still heard"


def test_phases_make_a_result() -> None:
    bad = phase("a.py::t", "teardown", "failed", kind="fixture", message="m")
    testimony = told(phase("a.py::t", "setup"), phase("a.py::t"), bad)
    test = testimony.tests["a.py::t"]
    assert (test.verdict, test.phase, test.kind, test.duration) == ("error", "teardown", "fixture", 1.5)
    assert told(phase("a.py::t", "setup")).tests == {}, "being set up is not passing"


@pytest.mark.parametrize(
    ("places", "kind"),
    [
        (["src/calc.py"], "not_implemented"),
        (["src/calc.py", "tests/conftest.py"], "fixture"),
        (["tests/making.py"], "fixture"),
        ([""], "fixture"),
        ([], "fixture"),
    ],
)
def test_a_stub_error_in_a_fixture_counts_as_red_if_the_code_raised_it(places: list[str], kind: str) -> None:
    said = phase("a.py::t", "setup", "failed", kind="not_implemented", places=places)
    test = told(said).tests["a.py::t"]
    assert (test.verdict, test.kind, test.is_red) == ("error", kind, kind == "not_implemented")


def agreed(*said: dict[str, Any], exit: int = 0, report: list[JunitCase] | None = REPORT) -> list[str]:
    return list(disagreements(told(*said), report, exit, {"ab": "passed"}))


SANG = {"what": "canary", "token": "ab", "verdict": "passed"}


def test_witnesses_that_agree() -> None:
    assert agreed(CHOSEN, phase("a.py::t"), SANG, END) == []


@pytest.mark.parametrize(
    ("said", "more", "reason"),
    [
        ([CHOSEN, phase("a.py::t"), SANG], {}, "ended with 0 before the run did"),
        ([CHOSEN, phase("a.py::t"), SANG, END], {"exit": 1}, "announced exit code 0"),
        ([CHOSEN, phase("a.py::t"), SANG, END], {"report": None}, "missing or damaged"),
        ([CHOSEN, phase("a.py::t"), SANG, END], {"report": []}, "a.py::t is not in the JUnit file"),
        ([CHOSEN, SANG, END], {}, "never ran: a.py::t"),
        ([CHOSEN, SANG, END], {}, "of which the witness knows nothing"),
        ([CHOSEN, phase("a.py::t"), END], {}, "a canary that must be passed was never run"),
        ([CHOSEN, phase("a.py::t"), {**SANG, "verdict": "failed"}, END], {}, "a canary that must be passed was failed"),
        ([CHOSEN, phase("a.py::t", outcome="failed"), SANG, END], {}, "the exit code would be 1, and it is 0"),
        ([CHOSEN, phase("a.py::t", outcome="failed"), SANG, END], {}, "the JUnit file says passed"),
    ],
)
def test_witnesses_that_disagree(said: list[dict[str, Any]], more: dict[str, Any], reason: str) -> None:
    assert any(reason in text for text in agreed(*said, **more)), agreed(*said, **more)


def test_a_changed_outcome_is_noted() -> None:
    [bent] = told(phase("t", outcome="passed", raw="failed")).bent
    assert [it for it in ("t failed", "call", "as passed") if it not in bent] == []
    assert told(phase("t", outcome="skipped", raw="failed", xfail=True)).bent == []


@pytest.mark.parametrize(
    ("id", "expected"),
    [
        ("tests/test_a.py::test_x", ("tests.test_a", "test_x")),
        ("tests/test_a.py::TestC::test_x[a::b/c.py]", ("tests.test_a.TestC", "test_x[a::b/c.py]")),
        ("tests/test_a.py", ("", "tests.test_a")),
        ("a.py::t[\x00\x1f\ud800]", ("a", "t[#x00#x1F#xD800]")),
    ],
)
def test_a_test_id_becomes_its_address_in_the_report(id: str, expected: tuple[str, str]) -> None:
    assert address(id) == expected


def test_unexpected_exit_codes_are_problems() -> None:
    assert expected_exit(told({"what": "chosen", "ids": []})) == 5
    assert [bool(problem_of_exit(code)) for code in (0, 1, 2, 3, 4, 5, 99)] == [False, False, *[True] * 5]
