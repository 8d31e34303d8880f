"""Old tests that a step keeps from running, by whatever file."""

from pathlib import Path

import pytest

from tests.evidence.stage import FILES, TEST, Stage, run

NEW = "tests/calc/test_add.py"
OLDEST = "from src.calc.old import one\n\n\ndef test_old() -> None:\n    assert one() == 1\n"
SILENT = {
    "a hook": {
        "tests/calc/conftest.py": "def pytest_collection_modifyitems(items):\n"
        "    items[:] = [one for one in items if 'test_old' not in str(one.fspath)]\n"
    },
    "an ignored file": {"tests/calc/conftest.py": "collect_ignore = ['test_old.py']\n"},
    "no test any more": {"tests/calc/test_old.py": "from src.calc.old import one\n\n\ndef check_old():\n    one()\n"},
    "a mark for the folder": {
        "tests/calc/conftest.py": "import pytest\n\n\ndef pytest_collection_modifyitems(items):\n"
        "    for one in items:\n        if 'test_old' in one.nodeid:\n            one.add_marker(pytest.mark.skip)\n"
    },
    "a class that is none": {"tests/calc/test_old.py": f"{OLDEST}\n\ntest_old.__test__ = False\n"},
}


@pytest.mark.parametrize("way", SILENT)
@pytest.mark.parametrize(("step", "check"), [("tests", "red"), ("tests", "added"), ("scaffold", "unbroken")])
def test_no_file_may_keep_an_old_test_from_running(tmp_path: Path, step: str, check: str, way: str) -> None:
    files = {**FILES, "src/calc/old.py": "def one() -> int:\n    return 1\n", "tests/calc/test_old.py": OLDEST}
    # More new tests than old ones: their number says nothing about the old ones.
    more = "".join(f"\n\ndef test_{n}() -> None:\n    assert add({n}, 3) == {n + 3}\n" for n in range(3))

    async def story() -> None:
        stage = await Stage(tmp_path, files=files).start()
        written = {NEW: TEST + more, **SILENT[way]}
        verdict = await stage.claim(step, "TestsReady", written, checks=f"checkpoint {check}")
        found = stage.found(verdict, check)
        lost = {"green.broken", "green.lost", "unbroken.lost", "unbroken.failing"}
        assert [code for place, code in found if place == "tests/calc/test_old.py::test_old" and code in lost], found
        assert not verdict.results[1].ok

    run(story())


def test_work_without_new_tests_may_not_lose_old_ones_either(tmp_path: Path) -> None:
    kept = "def test_kept() -> None:\n    assert [1]\n"
    files = {**FILES, "tests/calc/test_old.py": kept, "tests/calc/test_kept.py": kept}

    async def story() -> None:
        stage = await Stage(tmp_path, files=files).start()
        deleted: dict[str, str | None] = {"tests/calc/test_old.py": None}
        verdict = await stage.claim("tests", "TestsReady", deleted, checks="checkpoint added")
        expected = [("tests/calc/test_old.py::test_kept", "green.lost"), ("", "red.nothing_new")]
        assert stage.found(verdict, "added") == expected
        restored = {"tests/calc/test_old.py": kept, "src/calc/more.py": "x = 1\n"}
        verdict = await stage.claim("tests", "TestsReady", restored, checks="checkpoint added", n="2.1")
        assert stage.codes(verdict, "added") == ["red.nothing_new"]

    run(story())


CASES = """\
import pytest

from src.calc.old import one


@pytest.mark.parametrize(("given", "wanted"), [{}])
def test_one(given: int, wanted: int) -> None:
    assert one(given) == wanted
"""


@pytest.mark.parametrize(
    ("cases", "lost"),
    [("(1, 2), (2, 3), (3, 4)", 0), ("(1, 2), (2, 3)", 0), ("(1, 2)", 2)],
    ids=["more", "same", "fewer"],
)
def test_cases_may_demand_another_value_but_not_become_fewer(tmp_path: Path, cases: str, lost: int) -> None:
    """The expected value is a part of the id of a case."""
    old = {
        "src/calc/old.py": "def one(given: int) -> int:\n    return given\n",
        "tests/calc/test_old.py": CASES.replace("{}", "(1, 1), (2, 2)"),
    }

    async def story() -> None:
        stage = await Stage(tmp_path, files={**FILES, **old}).start()
        written = {"tests/calc/test_old.py": CASES.replace("{}", cases)}
        verdict = await stage.claim("tests", "TestsReady", written, checks="checkpoint red")
        assert stage.codes(verdict, "red").count("green.lost") == lost

    run(story())
