"""Green, measured with the tests as they were accepted."""

import sys
from pathlib import Path
from typing import Any

import pytest

from tests.evidence.stage import ADD, FILES, MANIFEST, SKELETON, SPEC, TEST, Stage, run
from treadle.errors import PortError
from treadle.evidence.claim_verifier import ClaimVerifier
from treadle.evidence.measurements import Cache
from treadle.evidence.project_facts import ProjectTools
from treadle.ports import Verdict
from treadle.prompts.scope import scope
from treadle.protocol.items import Json
from treadle.toolchains.pytest import Pytest
from treadle.toolchains.results import TestRun
from treadle.toolchains.sandbox import NONE
from treadle.toolchains.toolchain import ProjectToolchain

ID = "tests/calc/test_add.py::test_adds"
PARENTS = "def test_whole() -> None:\n    from src.whole import whole\n\n    assert whole() == 1\n"


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"src/calc/add.py": "def add(a, b):\n    return a - b\n"}, f"{ID}: fails"),
        ({"src/calc/add.py": "def add(a, b:\n"}, "tests/calc/test_add.py"),
        ({"src/calc/add.py": "import os\nos._exit(0)\n"}, "the test run was manipulated"),
    ],
    ids=["wrong", "syntax", "exit"],
)
def test_wrong_or_manipulating_code_is_not_green(tmp_path: Path, files: dict[str, str | None], said: str) -> None:
    async def story() -> None:
        stage = await (await Stage(tmp_path).start()).tested()
        verdict = await stage.claim("impl", "TestsPassed", files, checks="checkpoint green tests_unmodified")
        assert not verdict.results[1].ok
        assert said in verdict.report, verdict.report

    run(story())


def test_a_test_that_the_implementer_changed_runs_in_its_accepted_form(tmp_path: Path) -> None:
    cheat = {
        "tests/calc/test_add.py": "def test_adds() -> None:\n    assert True\n",
        "src/calc/conftest.py": "collect_ignore = ['x']\n",
        "conftest.py": "import pytest\n\n\ndef pytest_collection_modifyitems(items):\n    items.clear()\n",
        "tests/calc/test_manifest.json": None,
    }

    async def story() -> None:
        stage = await (await Stage(tmp_path).start()).tested()
        verdict = await stage.claim("impl", "TestsPassed", cheat, checks="checkpoint green tests_unmodified")
        assert [one.ok for one in verdict.results] == [True, False, False]
        assert (ID, "green.failing") in stage.found(verdict, "green")
        assert sorted(stage.found(verdict, "tests_unmodified")) == [
            ("conftest.py", "tests.modified"),
            ("src/calc/conftest.py", "tests.modified"),
            ("tests/calc/test_add.py", "tests.modified"),
            ("tests/calc/test_manifest.json", "tests.modified"),
        ]
        assert [how in verdict.report for how in ("modified", "added", "deleted")] == [True] * 3
        honest = await stage.claim("impl", "TestsPassed", {"src/calc/add.py": ADD}, checks="checkpoint green", n="2.1")
        assert honest.report == ""

    run(story())


def test_a_skip_caused_by_the_code_is_no_pass(tmp_path: Path) -> None:
    tests = {
        "tests/calc/test_add.py": "import pytest\n\nadd = pytest.importorskip('src.calc.add')\n\n\n"
        "def test_adds() -> None:\n    assert add.add(2, 3) == 5\n\n\ndef test_is() -> None:\n    assert add\n",
        "tests/calc/test_other.py": "def test_o() -> None:\n    assert [1]\n",
    }

    async def story() -> None:
        stage = await (await Stage(tmp_path).start()).tested(tests)
        lost = {"src/calc/add.py": "raise ImportError\n"}
        verdict = await stage.claim("impl", "TestsPassed", lost, checks="checkpoint green tests_unmodified")
        assert stage.found(verdict, "green")[0] in [("tests/calc/test_add.py", "green.failing"), (ID, "green.skipped")]

    run(story())


def test_a_test_that_skips_itself_can_be_sent_back(tmp_path: Path) -> None:
    text = "import pytest\n\nfrom src.calc.add import add\n\n\ndef test_adds() -> None:\n    if add(2, 3) == 5:\n"
    tests = {"tests/calc/test_add.py": f"{text}        pytest.skip('later')\n    assert add(2, 3) == 4\n"}

    async def story() -> None:
        stage = await (await Stage(tmp_path).start()).tested(tests)
        verdict = await stage.claim("impl", "TestsPassed", {"src/calc/add.py": ADD}, checks="checkpoint green")
        [said] = [one for one in stage.evidence(verdict, "green")["findings"] if one["code"] == "green.skipped"]
        assert said["test"] == ID
        assert "BlockedDependency or SpecAmbiguity" in said["expected"], "the implementer may not change it"

    run(story())


def test_a_request_to_retry_is_measured_and_not_refused(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await (await Stage(tmp_path).start()).tested()
        verdict = await stage.claim("impl", "RequestRetry", {"src/calc/add.py": "x = 1 / 0\n"})
        assert verdict.report == ""
        assert verdict.fields["failingTests"] == ["tests/calc/test_add.py"]
        assert verdict.fingerprint

    run(story())


@pytest.mark.soak
def test_open_tests_of_the_parent_do_not_block_its_child(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await (await Stage(tmp_path).start()).scaffolded()
        await stage.claim("tests", "TestsReady", {"tests/calc/test_whole.py": PARENTS}, checks="checkpoint")
        part: dict[str, Json] = {**SPEC, "id": "part", "targetPath": "src/part", "testPath": "tests/part"}
        stage.add("root/part", "node", part)
        tests = {"tests/part/test_add.py": TEST.replace("calc", "part")}
        await stage.claim("tests", "TestsReady", tests, checks="checkpoint", inst="root/part")
        code = {"src/part/add.py": ADD}
        verdict = await stage.claim("impl", "TestsPassed", code, checks="checkpoint green", inst="root/part")
        assert verdict.report == ""
        assert ("tests/calc/test_whole.py::test_whole", "green.waiting") in stage.found(verdict, "green")
        own = await stage.claim(
            "impl", "TestsPassed", {}, checks="checkpoint green_own_and_baseline", inst="root/part", n="2.1"
        )
        assert own.report == ""
        mine = await stage.claim("impl", "TestsPassed", {}, checks="checkpoint green", n="1.1")
        assert "test_whole" in mine.report

    run(story())


def test_a_rebase_keeps_every_colour(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await (await Stage(tmp_path).start()).tested()
        same = await stage.claim("adapt", "RebaseAdapted", {"src/calc/x.py": "x = 1\n"}, checks="same_colour")
        assert same.report == ""
        verdict = await stage.claim("adapt", "RebaseAdapted", {"src/calc/add.py": ADD}, checks="same_colour", n="2.1")
        assert (ID, "colour.changed") in stage.found(verdict, "same_colour")

    run(story())


def test_checks_without_a_lane_compare_with_the_authors_commit(tmp_path: Path) -> None:
    async def story() -> None:
        cycle: dict[str, Json] = {"id": "TDD1", "files": [], "interface": ""}
        stage = await Stage(tmp_path, "riper", graph="rcycle", given=cycle).start()
        files = {"tests/test_a.py": "def test_a() -> None:\n    assert [1]\n", "tests/data.json": "{}"}
        await stage.claim("red", "RC", files, checks="commit scope_tests")
        assert (await stage.check("interface_check", "tests_unmodified")).report == ""
        await stage.claim("green", "GC", {"tests/data.json": "[]", "tests/test_a.py": None}, checks="commit")
        verdict = await stage.check("interface_check", "tests_unmodified", n="2.1")
        assert sorted(stage.found(verdict, "tests_unmodified")) == [
            ("tests/data.json", "tests.modified"),
            ("tests/test_a.py", "tests.modified"),
        ]

    run(story())


def test_a_cached_result_is_reused_and_a_damaged_one_is_measured_again(tmp_path: Path) -> None:
    async def story() -> None:
        begun = Stage(tmp_path)
        begun.cache = tmp_path / "cache"
        stage = await (await begun.start()).tested()
        first = await stage.claim("impl", "TestsPassed", {"src/calc/add.py": ADD}, checks="checkpoint green")
        kept = {path: path.read_bytes() for path in stage.cache.rglob("*.json")}
        again = await stage.claim("impl", "TestsPassed", {}, checks="checkpoint green", n="2.1")
        one, other = (stage.evidence(verdict, "green")["duration"] for verdict in (first, again))
        assert one == other
        for path in kept:
            path.write_bytes(b"damaged")
        third = await stage.claim("impl", "TestsPassed", {}, checks="checkpoint green", n="3.1")
        assert third.report == ""
        assert any(path.read_bytes() not in (b"damaged", data) for path, data in kept.items()), "measured anew"

    run(story())


@pytest.mark.soak
def test_unfinished_parts_may_wait_until_the_lock_of_the_suite(tmp_path: Path) -> None:
    two = f"{SKELETON}\n\ndef twice(a: int) -> int:\n    raise NotImplementedError\n"
    contract = "from src.calc.add import twice\n\n\ndef test_twice() -> None:\n    assert twice(2) == 4\n"

    async def story() -> None:
        stage = await Stage(tmp_path, "fractal").start()
        suite = "tests/calc/test_contract.py"
        files = {"src/calc/add.py": two, suite: contract}
        await stage.claim("planner", "InitLeaf", files, {"contractSuite": suite}, "checkpoint")
        challenge = {"tests/calc/test_add.py": TEST, "tests/calc/test_manifest.json": MANIFEST}
        verdict = await stage.claim("test_author", "EmitChallenge", challenge)
        assert verdict.report == ""
        assert verdict.fields["criteria"] == ["AC-1"]
        half = {"src/calc/add.py": two.replace(SKELETON, ADD)}
        assert (await stage.claim("implementer", "TestPassed", half)).report == ""
        lock = await stage.check("lock", "no_undefined green contract")
        assert [one.ok for one in lock.results] == [False, False, False]
        assert "twice is not implemented" in lock.report

    run(story())


CHANCE = """import pathlib

from src.calc.add import add

MARK = pathlib.Path({mark!r})


def test_adds() -> None:
    assert add(2, 3) == 5


def test_by_chance() -> None:
    total = add(2, 2)
    known, _ = MARK.exists(), MARK.touch()
    assert (total, known) == (4, True)
"""


@pytest.mark.parametrize("how", ["refuse", "accept"])
def test_a_flaky_test_is_named_and_not_believed(tmp_path: Path, how: str) -> None:
    async def story() -> None:
        tests = {"tests/calc/test_add.py": CHANCE.format(mark=str(tmp_path / "mark"))}
        stage = await (await Stage(tmp_path, flaky=how).start()).tested(tests)
        verdict = await stage.claim(
            "impl", "TestsPassed", {"src/calc/add.py": ADD}, checks="checkpoint green tests_unmodified"
        )
        evidence = stage.evidence(verdict, "green")
        assert ("tests/calc/test_add.py::test_by_chance", "green.flaky") in stage.found(verdict, "green")
        assert evidence["flaky"] == ["tests/calc/test_add.py::test_by_chance"]
        assert bool(verdict.report) == (how == "refuse")
        sent_back = "this step may not change it: answer with BlockedDependency or SpecAmbiguity and"
        assert (sent_back in verdict.report) == (how == "refuse")

    run(story())


TWO = TEST.replace("def test_adds", "def test_first() -> None:\n    assert add(1, 1) is not None\n\n\ndef test_adds")
COUNTS_TESTS = """import os

SEEN = set()


def add(a, b):
    SEEN.add(os.environ.get("PYTEST_CURRENT_TEST"))
    return 5 if len(SEEN) > 1 else 0
"""
ODD = "import sys\n\n\ndef add(a, b):\n    return a + b + 0 * len(sys._getframe().f_code.co_name)\n"


@pytest.mark.soak
def test_a_verdict_that_depends_on_how_tests_are_run_is_bent(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await (await Stage(tmp_path).start()).tested({"tests/calc/test_add.py": TWO})
        cheat = {"src/calc/add.py": COUNTS_TESTS}
        verdict = await stage.claim("impl", "TestsPassed", cheat, checks="checkpoint green")
        assert (ID, "green.bent") in stage.found(verdict, "green")
        assert "test_first" not in verdict.report
        verdict = await stage.claim("impl", "TestsPassed", {"src/calc/add.py": ODD}, checks="checkpoint green", n="2.1")
        assert verdict.report == ""
        evidence = stage.evidence(verdict, "green")
        assert "green.run_again" in stage.codes(verdict, "green")
        assert [text for text in ("2 tests", "0 of them") if text not in evidence["report"]] == []
        assert evidence["mirrored"] == [ID]

    run(story())


BROKEN = {
    "tests/shop/test_broken.py": "def test_broken() -> None:\n    assert [] == [1]\n",
    "tests/shop/test_lost.py": "import nowhere_at_all\n",
}
OLD = "tests/shop/test_broken.py::test_broken"
BAD = "def test_broken() -> None:\n    assert [] == [1]\n"
WORSE = BAD.replace("[1]", "[2]")
FLAKY = """import pathlib

def test_flaky():
    counter = pathlib.Path({counter!r})
    count = int(counter.read_text()) if counter.exists() else 0
    counter.write_text(str(count + 1))
    assert count % 2 == 0
"""
OLDER = "tests/calc/test_old.py::test_old"
PASSES = "from src.calc.old import old\n\n\ndef test_old() -> None:\n    assert old() == 1\n"
RENAMED = PASSES.replace("test_old", "test_older")
SKIPPED = PASSES.replace("def test", "import pytest\n\n\n@pytest.mark.skip\ndef test")
HIDDEN = PASSES.replace("def test_old", "def _test_old")
MORE = "".join(f"def test_{n}() -> None:\n    raise NotImplementedError\n\n\n" for n in range(3))
HOLLOW = PASSES.replace("assert", "assert True or")
REWRITTEN = PASSES.replace("== 1", "== 3")


def found(stage: Stage, verdict: Verdict, check: str) -> dict[str, str]:
    """What a check says of each test, by code."""
    return {one.get("test", one.get("file", "")): one["code"] for one in stage.evidence(verdict, check)["findings"]}


@pytest.mark.soak
def test_failures_from_before_the_run_are_notes_and_own_failures_are_refused(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await (await Stage(tmp_path, files={**FILES, **BROKEN}).start()).tested()
        verdict = await stage.claim("impl", "TestsPassed", {"src/calc/add.py": ADD}, checks="checkpoint green")
        assert verdict.report == ""
        assert found(stage, verdict, "green") == dict.fromkeys((OLD, "tests/shop/test_lost.py"), "baseline.failing")
        assert len(verdict.notes) == 1
        wrong = {"src/calc/add.py": ADD.replace("+", "-")}
        verdict = await stage.claim("impl", "TestsPassed", wrong, checks="checkpoint green", n="2.1")
        assert found(stage, verdict, "green")[ID] == "green.failing"

    run(story())


@pytest.mark.parametrize(
    ("base", "written", "listed", "code"),
    [
        ("tests/calc/test_broken.py", {}, "", "baseline.failing"),
        ("tests/calc/test_add.py", {"tests/calc/test_add.py": f"{TEST}\n\n{BAD}"}, "", "baseline.failing"),
        ("tests/calc/test_add.py", {"tests/calc/test_add.py": f"{TEST}\n\n{WORSE}"}, "", "green.failing"),
        ("tests/calc/test_broken.py", {}, "test_broken", "green.failing"),
    ],
    ids=["a neighbour in the folder of tests", "unchanged in a changed file", "changed", "adopted by the manifest"],
)
def test_an_old_failing_test_is_charged_only_if_the_work_makes_it_its_own(
    tmp_path: Path, base: str, written: dict[str, str], listed: str, code: str
) -> None:
    manifest = MANIFEST.replace('{"test_adds"', f'{{"{listed}": "AC-1: too", "test_adds"') if listed else MANIFEST
    tests = {"tests/calc/test_add.py": TEST, **written, "tests/calc/test_manifest.json": manifest}

    async def story() -> None:
        stage = await (await Stage(tmp_path, files={**FILES, base: BAD}).start()).tested(tests)
        verdict = await stage.claim("impl", "TestsPassed", {"src/calc/add.py": ADD}, checks="checkpoint green")
        assert found(stage, verdict, "green")[f"{base}::test_broken"] == code
        assert bool(verdict.report) is (code == "green.failing")

    run(story())


ONCE = """import pathlib

def test_once():
    trip = pathlib.Path({trip!r})
    if trip.exists():
        trip.unlink()
        assert not "in time"
"""


@pytest.mark.parametrize(
    ("name", "refused"), [pytest.param("test_old.py", False, marks=pytest.mark.soak), ("test_add.py", True)]
)
def test_an_old_test_that_fails_once_is_not_charged(tmp_path: Path, name: str, refused: bool) -> None:
    """A busy machine lets an old test run out of time, once; on the base it never does."""
    trip, file = tmp_path / "trip", f"tests/calc/{name}"
    once = ONCE.format(trip=str(trip))

    async def story() -> None:
        base = {} if refused else {file: once}
        stage = await Stage(tmp_path, files={**FILES, **base, "x.txt": str(tmp_path)}).start()
        own = {"tests/calc/test_add.py": f"{once}\n\n{TEST}" if refused else TEST}
        trip.touch()  # a new test has to be red
        await stage.tested({**own, "tests/calc/test_manifest.json": MANIFEST})
        trip.touch()
        verdict = await stage.claim("impl", "TestsPassed", {"src/calc/add.py": ADD}, checks="checkpoint green")
        code = "green.flaky" if refused else "baseline.chance"
        assert found(stage, verdict, "green") == {f"{file}::test_once": code}
        assert bool(verdict.report) is refused

    run(story())


def test_a_test_that_is_unstable_on_the_base_refuses_no_step(tmp_path: Path) -> None:
    counter = tmp_path / "counter"
    flaky = FLAKY.format(counter=str(counter))
    id_ = "tests/calc/test_flaky.py::test_flaky"

    async def story() -> None:
        stage = await Stage(
            tmp_path, files={**FILES, "tests/calc/test_flaky.py": flaky, "x.txt": str(tmp_path)}
        ).start()
        await stage.scaffolded()
        counter.write_text("1")
        tests = {"tests/calc/test_add.py": TEST, "tests/calc/test_manifest.json": MANIFEST}
        verdict = await stage.claim("tests", "TestsReady", tests, checks="checkpoint scope_tests red")
        assert verdict.report == ""
        counter.write_text("1" if int(counter.read_text()) % 2 == 0 else counter.read_text())
        verdict = await stage.claim("impl", "TestsPassed", {"src/calc/add.py": ADD}, checks="checkpoint green")
        assert verdict.report == ""
        assert found(stage, verdict, "green") == {id_: "baseline.flaky"}
        assert stage.evidence(verdict, "green")["excused"] == {id_: "baseline.flaky"}

    run(story())


ANY = """
class Any:
    def __eq__(self, other: object) -> bool:
        return True
"""
TOOTHLESS = """
from calc.any import Any


def test_any() -> None:
    assert Any() == 1
"""


def test_an_old_test_that_can_never_fail_is_not_charged(tmp_path: Path) -> None:
    old = {"src/calc/any.py": ANY, "tests/calc/test_any.py": TOOTHLESS}

    async def story() -> None:
        stage = await (await Stage(tmp_path, files={**FILES, **old}).start()).tested()
        verdict = await stage.claim("impl", "TestsPassed", {"src/calc/add.py": ADD}, checks="checkpoint green")
        assert verdict.report == ""
        always = {"src/calc/add.py": f"{ANY}\n\ndef add(a: int, b: int) -> Any:\n    return Any()\n"}
        verdict = await stage.claim("impl", "TestsPassed", always, checks="checkpoint green", n="2.1")
        assert "green.bent" in [code for _, code in stage.found(verdict, "green")]

    run(story())


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"src/calc/old.py": "def old() -> int:\n    return 2\n"}, {OLDER: "unbroken.failing"}),
        ({"src/calc/old.py": None}, {"tests/calc/test_old.py": "unbroken.failing"}),
        ({"tests/calc/test_old.py": None}, {OLDER: "unbroken.lost"}),
        ({"tests/calc/test_old.py": SKIPPED}, {OLDER: "unbroken.failing"}),
        ({"tests/calc/test_old.py": RENAMED}, {}),
        ({"tests/calc/test_old.py": HIDDEN, "tests/calc/test_add.py": MORE}, {OLDER: "unbroken.lost"}),
        ({"tests/calc/test_old.py": None, "tests/calc/test_moved.py": PASSES}, {}),
        ({"tests/calc/test_old.py": RENAMED.replace("== 1", "in (1, 2)")}, {OLDER: "unbroken.lost"}),
        ({"tests/calc/test_old.py": HOLLOW}, {OLDER: "tests.rewritten"}),
        ({"tests/calc/test_old.py": REWRITTEN}, {}),
        ({"src/calc/new.py": SKELETON, "tests/calc/test_add.py": TEST}, {}),
    ],
    ids=[
        "broken",
        "uncollected",
        "lost",
        "skipped",
        "renamed",
        "hidden",
        "moved",
        "rewritten and renamed",
        "hollow",
        "rewritten",
        "harmless",
    ],
)
def test_a_step_that_breaks_a_passing_test_is_refused(
    tmp_path: Path, files: dict[str, str | None], expected: dict[str, str]
) -> None:
    old = {"src/calc/old.py": "def old() -> int:\n    return 1\n", "tests/calc/test_old.py": PASSES, **BROKEN}

    async def story() -> None:
        stage = await Stage(tmp_path, files={**FILES, **old}).start()
        verdict = await stage.claim("scaffold", "InitWork", files, checks="checkpoint unbroken")
        assert found(stage, verdict, "unbroken") == expected
        assert verdict.results[1].ok is not bool(expected)

    run(story())


OWN = "def test_own() -> None:\n    assert [1]\n"


@pytest.mark.parametrize(
    ("files", "codes"),
    [
        ({"tests/calc/test_old.py": HOLLOW}, ["tests.rewritten"]),
        ({"tests/calc/test_old.py": HIDDEN, "tests/calc/test_more.py": OWN}, ["green.lost"]),
        ({"tests/calc/test_old.py": RENAMED}, []),
        ({"tests/calc/test_own.py": OWN.replace("[1]", "[1, 2]")}, []),
        ({"tests/calc/test_own.py": OWN.replace("test_own", "test_mine").replace("[1]", "[1, 2]")}, []),
        ({"tests/calc/conftest.py": "def pytest_collection_modifyitems(items):\n    del items[1:]\n"}, ["green.lost"]),
    ],
    ids=["hollow", "hidden", "renamed", "its own rewritten", "its own replaced", "deselected"],
)
def test_a_refactoring_of_tests_leaves_those_from_before_the_work(
    tmp_path: Path, files: dict[str, str | None], codes: list[str]
) -> None:
    old = {"src/calc/old.py": "def old() -> int:\n    return 1\n", "tests/calc/test_old.py": PASSES}

    async def story() -> None:
        stage = await Stage(tmp_path, files={**FILES, **old}).start()
        await stage.claim("tests", "TestsReady", {"tests/calc/test_own.py": OWN}, checks="checkpoint")
        verdict = await stage.claim("tests", "TestsReady", files, checks="checkpoint green", n="2.1")
        assert sorted({one for one in stage.codes(verdict, "green") if one != "green.tampering"}) == codes
        assert verdict.results[1].ok is not bool(codes)

    run(story())


def test_the_run_of_a_step_is_the_start_of_the_next_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    async def story() -> None:
        stage = await Stage(
            tmp_path, files={**FILES, "tests/calc/test_old.py": "def test_old():\n    assert 1\n"}
        ).start()
        stage.tools.base = str(tmp_path)
        real = stage.tools.test

        async def noted(path: Path, ids: Any = None, *words: Any, **more: Any) -> TestRun:
            asked.append(ids)
            return await real(path, ids, *words, **more)

        monkeypatch.setattr(stage.tools, "test", noted)
        await stage.claim("scaffold", "InitWork", {"src/calc/more.py": SKELETON}, checks="checkpoint unbroken")
        assert asked == [None, None], "the base and the scaffold"
        tests = {"tests/calc/test_add.py": TEST, "tests/calc/test_manifest.json": MANIFEST}
        await stage.claim("tests", "TestsReady", tests, checks="checkpoint red")
        assert asked.count(None) == 3, "what the tests' author began with is known"

    run(story())


STARTER = """#!/bin/sh
if [ {condition} ]; then echo "ModuleNotFoundError: No module named 'py'" >&2; exit 1; fi
exec {python} -m pytest "$@"
"""


@pytest.mark.parametrize("condition", ["-e README.md", "-e broken.txt"])
def test_a_test_tool_that_cannot_start_is_charged_only_to_the_work_that_broke_it(
    tmp_path: Path, condition: str
) -> None:
    tool = tmp_path / "start"
    tool.write_text(STARTER.format(condition=condition, python=sys.executable))
    tool.chmod(0o755)

    async def story() -> None:
        stage = await Stage(tmp_path).start()
        tests = Pytest(command=(str(tool),), root=stage.root, timeout=60, sandbox=NONE)
        tools = ProjectTools(ProjectToolchain(settings=stage.settings, root=stage.root, tests=tests, sandbox=NONE))
        stage.verifier = ClaimVerifier(stage.facts, tools, Cache(tmp_path / "cache", b"key"), scope)
        if "README" in condition:
            with pytest.raises(PortError) as caught:
                await stage.claim("scaffold", "InitWork", {}, checks="measure")
            assert (caught.value.retryable, caught.value.code) == (True, "env.tests")
            assert [text for text in ("`toolchain.test`", "`treadle abort r1`") if text not in str(caught.value)] == []
        else:
            verdict = await stage.claim("scaffold", "InitWork", {"broken.txt": ""}, checks="green")
            assert "suite.unrunnable" in stage.codes(verdict, "green")
            assert "No module named 'py'" in verdict.report

    run(story())
