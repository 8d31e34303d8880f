"""A criterion whose test was never seen failing is refused where its author works, in every language."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.evidence.stage import ADD, SKELETON, SPEC, TEST, Stage, run
from tests.node_tools import go_program, node_tools
from treadle.config.model import ToolchainSettings as Settings
from treadle.evidence.claim_verifier import ClaimVerifier
from treadle.evidence.measurements import Cache
from treadle.evidence.project_facts import ProjectTools
from treadle.evidence.subject import ProofSoFar
from treadle.ports import Verdict
from treadle.prompts.scope import scope
from treadle.protocol.items import Json
from treadle.toolchains.gotest import GoTest
from treadle.toolchains.junit import Junit
from treadle.toolchains.sandbox import NONE
from treadle.toolchains.toolchain import ProjectToolchain

PLACE = "tests/calc/test_manifest.json"
TWO: dict[str, Json] = SPEC | {
    "acceptanceCriteria": [{"id": "AC-1", "text": "adds"}, {"id": "AC-2", "text": "adds nothing to nothing"}]
}


def manifest(entries: Mapping[str, str]) -> dict[str, str | None]:
    return {PLACE: json.dumps({"spec_id": "calc", "acceptance_criteria_map": dict(entries)})}


class Language(NamedTuple):
    """A project with a skeleton and an old test, and a new test that is red."""

    files: dict[str, str]
    new: dict[str, str]
    old_id: str
    new_id: str


PYTHON = Language(
    {
        "src/calc/__init__.py": "",
        "src/calc/add.py": SKELETON,
        "src/calc/old.py": "def one() -> int:\n    return 1\n",
        "tests/calc/test_old.py": "from src.calc.old import one\n\n\ndef test_old() -> None:\n    assert one() == 1\n",
    },
    {"tests/calc/test_add.py": TEST},
    "tests/calc/test_old.py::test_old",
    "tests/calc/test_add.py::test_adds",
)
NODE = "import test from 'node:test'; import assert from 'node:assert';\n"
JAVASCRIPT = Language(
    {
        "src/calc/add.py": "",
        "src/calc/add.mjs": "export function add(a, b) { throw new Error('not implemented'); }\n",
        "tests/calc/old.test.mjs": f"{NODE}test('old', () => {{ assert.strictEqual(1 + 1, 2); }});\n",
    },
    {
        "tests/calc/add.test.mjs": f"{NODE}import {{ add }} from '../../src/calc/add.mjs';\n"
        "test('adds', () => { assert.strictEqual(add(2, 3), 5); });\n"
    },
    "tests/calc/old.test.mjs::old",
    "tests/calc/add.test.mjs::adds",
)
GO = Language(
    {
        "go.mod": "module example.com/calc\n\ngo 1.20\n",
        "src/calc/add.py": "",
        "src/calc/add.go": 'package calc\n\nfunc Add(a, b int) int { panic("not implemented") }\n',
        "tests/calc/old_test.go": 'package calc_test\n\nimport "testing"\n\nfunc TestOld(t *testing.T) {}\n',
    },
    {
        "tests/calc/add_test.go": 'package calc_test\n\nimport (\n\t"testing"\n\n\t"example.com/calc/src/calc"\n)\n\n'
        'func TestAdds(t *testing.T) {\n\tif calc.Add(2, 3) != 5 {\n\t\tt.Fatal("no")\n\t}\n}\n'
    },
    "example.com/calc/tests/calc::TestOld",
    "example.com/calc/tests/calc::TestAdds",
)


async def staged(tmp_path: Path, language: Language) -> Stage:
    """A node of v3 whose plan was accepted."""
    stage = await Stage(tmp_path, files=language.files, given=TWO).start()
    runner: Junit | GoTest | None = None
    if language is JAVASCRIPT:
        report = ("--test-reporter=junit", "--test-reporter-destination={report}")
        runner = Junit(command=(str(node_tools()[0]), "--test", *report), timeout=60.0, sandbox=NONE)
    elif language is GO:
        runner = GoTest(command=(go_program(), "test", "./..."), timeout=120.0, sandbox=NONE)
    if runner:
        settings = Settings(kind="junit" if language is JAVASCRIPT else "gotest", timeout=60, test=runner.command)
        tools = ProjectTools(ProjectToolchain(settings=settings, root=stage.root, tests=runner, sandbox=NONE))
        stage.verifier = ClaimVerifier(stage.facts, tools, Cache(tmp_path / "known", b"key"), scope)
    return await stage.scaffolded()


def refused(stage: Stage, verdict: Verdict, check: str) -> list[tuple[Any, ...]]:
    """Code, criterion and test of what a check refuses."""
    found = stage.evidence(verdict, check)["findings"]
    return [(it["code"], it.get("criterion", ""), it.get("test", "")) for it in found if not it.get("note")]


@pytest.mark.parametrize(
    "language", [PYTHON, JAVASCRIPT, pytest.param(GO, marks=pytest.mark.soak)], ids=["python", "javascript", "go"]
)
@pytest.mark.parametrize("beside", [False, True], ids=["alone", "beside a red test"])
def test_an_old_test_stands_for_no_criterion(tmp_path: Path, language: Language, beside: bool) -> None:
    async def story() -> None:
        stage = await staged(tmp_path, language)
        criterion = {language.new_id: "AC-2" if beside else "AC-1"}
        files = {**language.new, **manifest({language.old_id: "AC-2", **criterion})}
        verdict = await stage.claim("tests", "TestsReady", files, checks="checkpoint red")
        assert refused(stage, verdict, "red") == [("red.never_failed", "AC-2", language.old_id)]

    run(story())


@pytest.mark.parametrize("language", [PYTHON, pytest.param(GO, marks=pytest.mark.soak)], ids=["python", "go"])
def test_an_old_test_of_a_holding_criterion_is_left_to_a_person(tmp_path: Path, language: Language) -> None:
    async def story() -> None:
        stage = await staged(tmp_path, language)
        files = {**language.new, **manifest({language.old_id: "holds:AC-2", language.new_id: "AC-1"})}
        verdict = await stage.claim("tests", "TestsReady", files, checks="checkpoint manifest_complete red")
        assert verdict.report == ""
        evidence = stage.evidence(verdict, "red")
        assert evidence["red"] == [language.new_id]
        assert evidence["red_on_skeleton"] == [], "so that the merge does not take it for proved"
        assert evidence["criteria"]["AC-2"] == {language.old_id: "passed"}
        assert "red.old_tests" in stage.codes(verdict, "red")

    run(story())


def test_a_test_beside_a_red_one_may_hold_already(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await staged(tmp_path, PYTHON)
        files = {**PYTHON.new, **manifest({PYTHON.old_id: "holds:AC-1", PYTHON.new_id: "AC-1"})}
        verdict = await stage.claim("tests", "TestsReady", files, checks="checkpoint manifest red")
        assert verdict.report == ""
        assert stage.evidence(verdict, "red")["criteria"] == {"AC-1": {PYTHON.new_id: "failed"}}

    run(story())


def test_a_test_that_was_seen_failing_earlier_may_pass(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await staged(tmp_path, PYTHON)
        files = {**PYTHON.new, **manifest({PYTHON.old_id: "AC-2", PYTHON.new_id: "AC-1"})}
        proof = ProofSoFar(failed=frozenset({PYTHON.old_id}))
        stage.verifier = ClaimVerifier(stage.facts, stage.tools, Cache(stage.cache, b"key"), scope, lambda _: proof)
        verdict = await stage.claim("tests", "TestsReady", files, checks="checkpoint red")
        assert verdict.report == ""

    run(story())


EMPTY = "from src.calc.add import add\n\n\ndef test_empty() -> None:\n    "


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("assert add(0, 0) == 0\n", ""),
        ("assert [add]\n", "red.vacuous"),
        ("add(0, 0)\n", "tests.vacuous"),
    ],
    ids=["proved", "passes on the skeleton", "asserts nothing"],
)
def test_a_test_written_after_the_implementation_must_fail_on_the_skeleton(
    tmp_path: Path, body: str, code: str
) -> None:
    async def story() -> None:
        stage = await staged(tmp_path, PYTHON)
        listed = {PYTHON.new_id: "AC-1"}
        red = await stage.claim("tests", "TestsReady", {**PYTHON.new, **manifest(listed)}, checks="checkpoint red")
        assert red.report == ""
        await stage.claim("impl", "TestsPassed", {"src/calc/add.py": ADD}, checks="checkpoint green")
        late = "tests/calc/test_late.py::test_empty"
        files = {"tests/calc/test_late.py": EMPTY + body, **manifest(listed | {late: "AC-2"})}
        verdict = await stage.claim("tests", "TestsReady", files, checks="checkpoint seen_red", n="2.1")
        assert [found[0] for found in refused(stage, verdict, "seen_red")] == ([code] if code else [])
        assert (late in stage.evidence(verdict, "seen_red")["red_on_skeleton"]) == (code != "red.vacuous")

    run(story())


SKIPPED = "tests/calc/test_skipped.py::test_skipped"


@pytest.mark.parametrize("check", ["red", "seen_red"])
def test_neither_an_old_test_nor_a_skipped_one_proves_a_criterion(tmp_path: Path, check: str) -> None:
    skipped = "import pytest\n\n\n@pytest.mark.skip\ndef test_skipped() -> None:\n    assert False\n"
    language = PYTHON._replace(files=PYTHON.files | {"tests/calc/test_skipped.py": skipped})

    async def story() -> None:
        stage = await staged(tmp_path, language)
        files = {**PYTHON.new, **manifest({PYTHON.new_id: "AC-1", PYTHON.old_id: "AC-2", SKIPPED: "AC-2"})}
        verdict = await stage.claim("tests", "TestsReady", files, checks=f"checkpoint {check}")
        found = refused(stage, verdict, check)
        assert found[-2:] == [("red.never_failed", "AC-2", id_) for id_ in (PYTHON.old_id, SKIPPED)]
        assert found[:-2] == ([("red.concluded", "", PYTHON.new_id)] if check == "seen_red" else [])

    run(story())


def test_a_test_that_cannot_run_on_the_skeleton_is_tried_without_the_code_it_meets(tmp_path: Path) -> None:
    """As of a tree, whose children have added what the test imports."""

    async def story() -> None:
        stage = await staged(tmp_path, PYTHON)
        await stage.claim("impl", "TestsPassed", {"src/calc/more.py": ADD}, checks="checkpoint")
        test = "from src.calc.more import add\n\n\ndef test_more() -> None:\n    assert {} == 3\n"
        listed = manifest({"test_more": "AC-1"})
        checks = "checkpoint seen_red"
        good = {"tests/calc/test_more.py": test.format("add(1, 2)"), **listed}
        verdict = await stage.claim("tests", "TestsReady", good, checks=checks)
        assert verdict.report == ""
        assert stage.evidence(verdict, "seen_red")["red_on_skeleton"] == ["tests/calc/test_more.py::test_more"]
        idle = {"tests/calc/test_more.py": test.format("len([add] * 3)"), **listed}
        verdict = await stage.claim("tests", "TestsReady", idle, checks=checks, n="2.1")
        assert [found[0] for found in refused(stage, verdict, "seen_red")] == ["red.vacuous"]

    run(story())


FLIPS = """import pathlib
from src.calc.old import one

COUNT = pathlib.Path({place!r})


def test_flips() -> None:
    runs = len(COUNT.read_bytes()) if COUNT.exists() else 0
    COUNT.write_bytes(bytes(runs + 1))
    assert runs % 4 == {passes} and one() == 1
"""


@pytest.mark.parametrize("check", ["red", "seen_red"])
@pytest.mark.parametrize("passes", range(4))
def test_an_old_flaky_test_proves_no_criterion(tmp_path: Path, check: str, passes: int) -> None:
    """In whichever of its runs it passes: on the base commit, at red, or on the skeleton."""
    flips = "tests/calc/test_flips.py"
    text = FLIPS.format(place=str(tmp_path / "count"), passes=passes)
    language = PYTHON._replace(files=PYTHON.files | {flips: text})

    async def story() -> None:
        stage = await staged(tmp_path, language)
        if check == "seen_red":
            listed = {PYTHON.new_id: "AC-1"}
            await stage.claim("tests", "TestsReady", {**PYTHON.new, **manifest(listed)}, checks="checkpoint")
            await stage.claim("impl", "TestsPassed", {"src/calc/add.py": ADD}, checks="checkpoint")
        files = {**PYTHON.new, **manifest({PYTHON.new_id: "AC-1", f"{flips}::test_flips": "AC-2"})}
        verdict = await stage.claim("tests", "TestsReady", files, checks=f"checkpoint {check}", n="2.1")
        assert f"{flips}::test_flips" in [test for _, _, test in refused(stage, verdict, check)]
        evidence = stage.evidence(verdict, check)
        assert f"{flips}::test_flips" not in [*evidence.get("red", []), *evidence["red_on_skeleton"]]

    run(story())


def test_an_old_test_that_always_fails_may_prove_a_criterion(tmp_path: Path) -> None:
    waiting = "from src.calc.add import add\n\n\ndef test_nothing() -> None:\n    assert add(0, 0) == 0\n"
    language = PYTHON._replace(files=PYTHON.files | {"tests/calc/test_waiting.py": waiting})

    async def story() -> None:
        stage = await staged(tmp_path, language)
        old = "tests/calc/test_waiting.py::test_nothing"
        files = {**PYTHON.new, **manifest({PYTHON.new_id: "AC-1", old: "AC-2"})}
        verdict = await stage.claim("tests", "TestsReady", files, checks="checkpoint red")
        assert verdict.report == ""
        assert stage.evidence(verdict, "red")["red"] == [PYTHON.new_id, old]

    run(story())
