"""Red, for the right reason."""

from pathlib import Path
from typing import Any

import pytest

from tests.evidence.stage import ADD, FILES, MANIFEST, SKELETON, TEST, Stage, run
from treadle.ports import Verdict

GREEN = "def test_old() -> None:\n    assert 1 + 1 == 2\n"
BASE = {
    "src/calc/__init__.py": "",
    "src/calc/add.py": SKELETON,
    "tests/calc/test_old.py": GREEN,
}
NEW = "tests/calc/test_add.py"
HEAD = "from src.calc.add import add\n\n"


async def claimed(tmp_path: Path, files: dict[str, str | None], check: str = "red") -> tuple[Stage, Verdict]:
    stage = await Stage(tmp_path, files=BASE).start()
    return stage, await stage.claim("tests", "TestsReady", files, checks=f"checkpoint {check}")


def test_new_failing_tests_are_red_and_named(tmp_path: Path) -> None:
    async def story() -> None:
        stage, verdict = await claimed(tmp_path, {NEW: TEST, "tests/calc/test_manifest.json": MANIFEST})
        assert verdict.report == ""
        evidence = stage.evidence(verdict, "red")
        assert evidence["red"] == [f"{NEW}::test_adds"]
        assert evidence["exit"] == 1
        assert evidence["command"][1:3] == ["-m", "pytest"]
        assert evidence["tree"]
        assert evidence["commit"]
        assert evidence["duration"] > 0

    run(story())


WRONG = {
    "import": ("from src.calc.missing import x\n\n\ndef test_x() -> None:\n    assert x\n", "could not be imported"),
    "syntax": ("def test_x(:\n", "is not red"),
    "passes": ("def test_new() -> None:\n    assert [1]\n", "test_new: passes already, so it does not test"),
    "fixture": (f"{HEAD}\ndef test_x(nothing) -> None:\n    assert add(1, 1) == 2\n", "failed in a fixture"),
    "error": (f"{HEAD}\ndef test_x() -> None:\n    add(1)\n    assert True\n", "ended with an error"),
    "vacuous": (f"{HEAD}\ndef test_x() -> None:\n    add(1, 2)\n", "test_x asserts nothing"),
    "tautology": (
        f"{HEAD}\ndef test_x() -> None:\n    x = add(1, 2)\n    assert x == x\n",
        "what always holds: x == x",
    ),
    "xfail": (
        f"import pytest\n{HEAD}\n@pytest.mark.xfail\ndef test_x() -> None:\n    assert add(1, 1) == 2\n",
        "expected to fail",
    ),
}

RIGHT: dict[str, str | None] = {
    NEW: TEST,
    "tests/calc/helping.py": """def refuses(error, function, *args):
    try:
        function(*args)
    except error:
        return
    raise AssertionError("not refused")
""",
    "tests/calc/test_add_helped.py": f"""{HEAD}from helping import refuses as no


def test_refused() -> None:
    no(ValueError, add, 1, -1)
""",
    "tests/calc/test_add_prepared.py": f"""import pytest
{HEAD}
@pytest.fixture
def three():
    return add(1, 2)


def test_prepared(three) -> None:
    assert add(three, 1) == 4
""",
}


def test_tests_that_fail_for_a_wrong_reason_are_not_red(tmp_path: Path) -> None:
    async def story() -> None:
        files: dict[str, str | None] = {f"tests/calc/test_{name}.py": text for name, (text, _) in WRONG.items()}
        _, verdict = await claimed(tmp_path, {**files, **RIGHT})
        for name, (_, said) in WRONG.items():
            lines = [line for line in verdict.report.splitlines() if f"test_{name}.py" in line]
            assert [line for line in lines if said in line], (name, verdict.report)
        assert "test_add" not in verdict.report

    run(story())


@pytest.mark.soak
@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({NEW: ""}, "no new test fails"),
        ({NEW: TEST, "tests/calc/test_old.py": None}, "test_old.py::test_old: passed before and is gone"),
        (
            {NEW: TEST, "tests/calc/test_old.py": "import pytest\n\n\n@pytest.mark.skip\n" + GREEN},
            "test_old.py::test_old: passed before and is skipped now",
        ),
    ],
    ids=["empty", "deleted", "skipped"],
)
def test_green_tests_stay_green_and_a_new_test_fails(tmp_path: Path, files: dict[str, str | None], said: str) -> None:
    async def story() -> None:
        _, verdict = await claimed(tmp_path, files)
        assert said in verdict.report, verdict.report

    run(story())


@pytest.mark.soak
def test_exactly_one_new_test_for_ping_pong(tmp_path: Path) -> None:
    two = f"{TEST}\n\ndef test_more() -> None:\n    assert add(0, 0) == 0\n"
    varied = TEST.replace(
        "def test_adds() -> None", '@pytest.mark.parametrize("a", [1, 2])\ndef test_adds(a: int) -> None'
    )
    varied = f"import pytest\n{varied}".replace("add(2, 3) == 5", "add(a, 3) == a + 3")

    async def story() -> None:
        stage, verdict = await claimed(tmp_path, {NEW: two}, "red_one")
        assert "2 new tests fail" in verdict.report
        for n, one in enumerate((TEST, varied), start=2):
            verdict = await stage.claim("tests", "TestsReady", {NEW: one}, checks="checkpoint red_one", n=f"{n}.1")
            assert verdict.report == ""

    run(story())


WEAK = """from src.calc.add import add


def test_weak() -> None:
    result = add(1, 2)
    assert result != 99


def test_one_case() -> None:
    assert add(1, 2) == 3


def test_two_cases() -> None:
    assert add(1, 2) == 3
    assert add(2, 2) == 4
"""
MAP = """{"spec_id": "calc", "acceptance_criteria_map": {"test_weak": "AC-1", "test_one_case": "AC-2",
 "test_two_cases": "AC-3"}}"""


@pytest.mark.soak
def test_tests_that_notice_no_wrong_implementation_are_refused(tmp_path: Path) -> None:
    async def story() -> None:
        stage, verdict = await claimed(tmp_path, {NEW: WEAK, "tests/calc/test_manifest.json": MAP})
        assert "tests.blind" in stage.codes(verdict, "red")
        assert [text for text in ("AC-1: ", "(add returns None, add returns 0") if text not in verdict.report] == []
        assert "AC-2" not in verdict.report
        unnoticed = stage.evidence(verdict, "red")["unnoticed"]
        assert unnoticed["AC-2"] == ["add returns 3"]
        assert "AC-3" not in unnoticed
        assert len(unnoticed["AC-1"]) == 8
        how = stage.evidence(verdict, "red")["wrong_implementations"]
        assert (how["tried"], how["runs"]) == (8, 8)
        assert how["seconds_each"] >= 10
        strong = WEAK.replace("result != 99", "result == 3")
        verdict = await stage.claim("tests", "TestsReady", {NEW: strong}, checks="checkpoint red", n="2.1")
        assert verdict.report == ""
        assert "tests.few_examples" in stage.codes(verdict, "red")
        report = stage.evidence(verdict, "red")["report"]
        assert [text for text in ("AC-2: ", "add returns 3") if text not in report] == []

    run(story())


FLAKY = """import pathlib
from src.calc.add import add

MARK = pathlib.Path({mark!r})


def test_by_chance() -> None:
    if not MARK.exists():
        MARK.touch()
        assert add(2, 3) == 5
    assert str(add)
"""


def test_a_new_test_that_fails_once_and_passes_once_is_not_red(tmp_path: Path) -> None:
    async def story() -> None:
        files: dict[str, str | None] = {
            NEW: TEST,
            "tests/calc/test_chance.py": FLAKY.format(mark=str(tmp_path / "mark")),
        }
        stage, verdict = await claimed(tmp_path, files)
        assert ("tests/calc/test_chance.py::test_by_chance", "green.flaky") in stage.found(verdict, "red")
        assert "test_adds" not in verdict.report
        evidence = stage.evidence(verdict, "red")
        assert evidence["red"] == [f"{NEW}::test_adds"]
        assert evidence["flaky"] == ["tests/calc/test_chance.py::test_by_chance"]

    run(story())


@pytest.mark.soak
def test_a_test_of_existing_code_counts_if_it_fails_on_the_skeleton(tmp_path: Path) -> None:
    more = "from src.calc.add import add\n\n\ndef test_zero() -> None:\n    assert add(0, 4) == 4\n"

    async def story() -> None:
        stage = await (await Stage(tmp_path, files=BASE).start()).tested()
        await stage.claim("impl", "TestsPassed", {"src/calc/add.py": ADD}, checks="checkpoint")
        files = {"tests/calc/test_zero.py": more}
        verdict = await stage.claim("tests", "TestsReady", files, checks="checkpoint red", n="2.1")
        assert verdict.report == ""
        assert "red.proved" in stage.codes(verdict, "red")

    run(story())


@pytest.mark.soak
def test_refactored_tests_still_fail_on_the_skeleton(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await Stage(tmp_path, "dptr", BASE, "cycle", {"id": "TDD1", "files": [], "interface": ""}).start()
        await stage.claim("red", "RC", {NEW: TEST}, checks="commit scope_tests")
        await stage.claim("green", "GC", {"src/calc/add.py": ADD}, checks="commit")
        tidy = TEST.replace("assert add(2, 3) == 5", "total = add(2, 3)\n    assert total == 5")
        verdict = await stage.claim("refactor_tests", "RTC", {NEW: tidy}, checks="checkpoint still_red_on_skeleton")
        assert verdict.report == ""
        blind = TEST.replace("assert add(2, 3) == 5", "assert [add]")
        verdict = await stage.claim(
            "refactor_tests", "RTC", {NEW: blind}, checks="checkpoint still_red_on_skeleton", n="2.1"
        )
        assert stage.found(verdict, "still_red_on_skeleton") == [(f"{NEW}::test_adds", "red.vacuous")]

    run(story())


@pytest.mark.soak
def test_a_criterion_with_a_skipped_test_is_not_red(tmp_path: Path) -> None:
    skipped = TEST.replace("def test_adds", "@pytest.mark.skip\ndef test_adds").replace("from", "import pytest\nfrom")
    red = f"{HEAD}\ndef test_more() -> None:\n    assert add(1, 1) == 2\n"
    both = MANIFEST.replace('"test_adds"', '"test_more": "AC-1: more", "test_adds"')

    async def story() -> None:
        files: dict[str, str | None] = {NEW: skipped, "tests/calc/test_more.py": red}
        stage, verdict = await claimed(tmp_path, {**files, "tests/calc/test_manifest.json": MANIFEST})
        assert "red.skipped" in stage.codes(verdict, "red")
        (tmp_path / "other").mkdir()
        stage, verdict = await claimed(tmp_path / "other", {**files, "tests/calc/test_manifest.json": both})
        found = stage.evidence(verdict, "red")["findings"]
        refused = [(it["code"], it.get("test")) for it in found if not it.get("note")]
        assert refused == [("red.never_failed", f"{NEW}::test_adds")], "the merge would not verify it"

    run(story())


TWO = f"""{HEAD}
def test_adds() -> None:
    assert add(2, 3) == 5


def test_more() -> None:
    assert add(7, 1) == 8
"""
COVERED = [{"criterion": "AC-1", "tests": ["test_adds"]}, {"criterion": "AC-2", "tests": ["test_more"]}]


@pytest.mark.parametrize("protocol", ["dptr", "riper"])
@pytest.mark.parametrize(
    ("covers", "codes"),
    [
        (COVERED, []),
        (None, ["manifest.uncovered", "manifest.uncovered"]),
        ([COVERED[0]], ["manifest.uncovered"]),
        ([COVERED[0], {"criterion": "AC-2", "tests": ["test_adds"]}], ["manifest.shared"]),
        ([COVERED[0], {"criterion": "AC-2", "tests": ["test_none"]}], ["manifest.unknown_test", "manifest.uncovered"]),
        ([COVERED[0], {"criterion": "AC-2", "tests": ["test_old"]}], ["manifest.uncovered"]),
        ([*COVERED, {"criterion": "AC-9", "tests": ["test_more"]}], ["manifest.unknown_criterion"]),
    ],
)
def test_the_author_says_which_test_stands_for_which_criterion_of_a_cycle(
    protocol: str, covers: list[Any] | None, codes: list[str], tmp_path: Path
) -> None:
    cycle: dict[str, Any] = {"id": "TDD1", "files": [], "interface": "", "criteria": ["AC-1", "AC-2"]}
    graph = "cycle" if protocol == "dptr" else "rcycle"
    old = {"tests/calc/test_old.py": "def test_old() -> None:\n    assert 1 + 1 == 2\n"}

    async def story() -> None:
        stage = await Stage(tmp_path, protocol, {**BASE, **old}, graph, cycle).start()
        fields = {"covers": covers} if covers is not None else {}
        verdict = await stage.claim("red", "RC", {NEW: TWO}, fields, checks="commit red")
        findings = [it for it in stage.evidence(verdict, "red").get("findings", []) if not it.get("note")]
        assert [it["code"] for it in findings] == codes
        if not codes:
            tests = stage.evidence(verdict, "red")["criteria"]
            assert {one: list(found) for one, found in tests.items()} == {
                "AC-1": [f"{NEW}::test_adds"],
                "AC-2": [f"{NEW}::test_more"],
            }

    run(story())


OLD = """import pytest
from src.calc.old import one


@pytest.mark.parametrize("times", [1{more}])
def test_old(times: int) -> None:
    {body}
"""


@pytest.mark.parametrize(
    ("more", "body", "codes"),
    [
        ("", "assert one() * times in (1, 2)", ["tests.rewritten"]),
        ("", "assert one() * times > 0", ["tests.rewritten"]),
        (", 2", "assert one() * times == times", ["red.vacuous"]),
        ("", "assert one() * times == 2", []),
        ("", "assert one() * times == times  # as ever", []),
    ],
    ids=["loosened", "loosened by a comparison", "a case more, which passes", "changed, and red", "a comment"],
)
def test_an_old_test_that_still_passes_may_not_be_rewritten(
    tmp_path: Path, more: str, body: str, codes: list[str]
) -> None:
    old = "tests/calc/test_old.py"
    before = OLD.format(more="", body="assert one() * times == times")
    files = {**FILES, "src/calc/old.py": "def one() -> int:\n    return 1\n", old: before}

    async def story() -> None:
        stage = await (await Stage(tmp_path, files=files).start()).scaffolded()
        written = {NEW: TEST, old: OLD.format(more=more, body=body)}
        verdict = await stage.claim("tests", "TestsReady", written, checks="checkpoint red")
        found = [it["code"] for it in stage.evidence(verdict, "red")["findings"] if not it.get("note")]
        assert found == codes

    run(story())
