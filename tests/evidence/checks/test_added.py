"""Tests that were missing: red, or about what is there, which is taken out to see whether they notice."""

from pathlib import Path

import pytest

from tests.evidence.stage import ADD, SKELETON, Stage, run
from treadle.ports import Verdict

BASE = {
    "src/calc/__init__.py": "",
    "src/calc/add.py": ADD,
    "src/calc/double.py": SKELETON.replace("add(a: int, b: int)", "double(a: int)"),
    "src/calc/desk.py": (
        "from src.calc.add import add\n\n\ndef _sum(said: str) -> int:\n"
        "    return add(*map(int, said.split('+')))\n\n\n"
        "TABLE = {'sum': _sum}\n"
    ),
    "tests/calc/test_old.py": "from src.calc.add import add\n\n\ndef test_old() -> None:\n    assert add(1, 1) == 2\n",
}
NEW = "tests/calc/test_new.py"
HEAD = "from src.calc.add import add\n\n\n"


async def claimed(tmp_path: Path, files: dict[str, str | None]) -> tuple[Stage, Verdict]:
    stage = await Stage(tmp_path, files=BASE).start()
    return stage, await stage.claim("tests", "TestsReady", files, checks="checkpoint added")


NOTICING = {
    "called": f"{HEAD}def test_adds() -> None:\n    assert add(2, 3) == 5\n    assert add(0, 7) == 7\n",
    "reached by another way": (
        "from src.calc import desk\n\n\ndef test_desk() -> None:\n"
        "    assert desk.TABLE['sum']('2+3') == 5\n    assert desk.TABLE['sum']('0+7') == 7\n"
    ),
}


@pytest.mark.parametrize(
    "test",
    [pytest.param(test, marks=[pytest.mark.soak] * (name != "called"), id=name) for name, test in NOTICING.items()],
)
def test_a_test_of_working_code_passes_if_it_fails_without_the_code(tmp_path: Path, test: str) -> None:
    async def story() -> None:
        stage, verdict = await claimed(tmp_path, {NEW: test})
        assert verdict.report == ""
        evidence = stage.evidence(verdict, "added")
        assert evidence["red"] == []
        assert [one.partition("::")[0] for one in evidence["red_on_skeleton"]] == [NEW]
        assert "red.proved" in stage.codes(verdict, "added")

    run(story())


IDLE = {
    "meets nothing": (
        "import json\n\n\ndef test_json() -> None:\n    assert json.loads('[1]') == [1]\n",
        "passes already, even with the functions that it calls emptied, so it proves nothing",
    ),
    "swallows": (
        f"{HEAD}def test_x():\n    try:\n        x = add(1, 2)\n    except Exception:\n        x = 3\n    assert x\n",
        "passes already, even with",
    ),
    "asserts nothing": (f"{HEAD}def test_x() -> None:\n    add(1, 2)\n", "test_x asserts nothing"),
    "asserts little": (
        f"{HEAD}def test_x() -> None:\n    assert add(1, 2) is not None\n",
        "the tests pass whatever the code returns",
    ),
}


@pytest.mark.soak
@pytest.mark.parametrize(("test", "why"), IDLE.values(), ids=IDLE)
def test_a_test_that_passes_without_the_code_is_refused(tmp_path: Path, test: str, why: str) -> None:
    async def story() -> None:
        _, verdict = await claimed(tmp_path, {NEW: test})
        assert why in verdict.report

    run(story())


@pytest.mark.soak
def test_tests_of_missing_code_are_red_beside_tests_of_existing_code(tmp_path: Path) -> None:
    missing = "from src.calc.double import double\n\n\ndef test_doubles() -> None:\n    assert double(4) == 8\n"

    async def story() -> None:
        stage, verdict = await claimed(tmp_path, {NEW: NOTICING["called"], "tests/calc/test_double.py": missing})
        assert verdict.report == ""
        evidence = stage.evidence(verdict, "added")
        assert evidence["red"] == ["tests/calc/test_double.py::test_doubles"]
        assert evidence["red_on_skeleton"] == [f"{NEW}::test_adds"]

    run(story())


def test_a_claim_without_new_tests_runs_no_tests(tmp_path: Path) -> None:
    async def story() -> None:
        stage, verdict = await claimed(tmp_path, {"docs/ddd/glossary.md": "# Words\n"})
        assert verdict.report == ""
        assert not stage.evidence(verdict, "added")["command"], "nothing was run"

    run(story())
