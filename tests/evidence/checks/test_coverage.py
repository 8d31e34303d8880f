"""Which criteria have tests."""

import json
import sys
from pathlib import Path

import msgspec
import pytest

from tests.evidence.stage import ADD, FILES, MANIFEST, SPEC, TEST, Stage, run
from treadle.evidence.claim_verifier import ClaimVerifier
from treadle.evidence.measurements import Cache
from treadle.evidence.project_facts import ProjectTools
from treadle.ports import Verdict
from treadle.prompts.scope import scope
from treadle.protocol.items import Json
from treadle.toolchains.command import PlainCommand
from treadle.toolchains.sandbox import NONE
from treadle.toolchains.toolchain import ProjectToolchain

TWO: dict[str, Json] = {
    **SPEC,
    "acceptanceCriteria": [{"id": "AC-1", "text": "adds"}, {"id": "AC-2", "text": "is quick"}],
}
PLACE = "tests/calc/test_manifest.json"


def listed(**tests: str) -> str:
    return json.dumps({"spec_id": "calc", "acceptance_criteria_map": tests}, indent=1)


def test_listed_tests_exist_and_stand_for_criteria(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await (await Stage(tmp_path, given=TWO).start()).tested()
        for n, (text, said) in enumerate(
            {
                MANIFEST: "",
                listed(test_add="AC-1"): f"{PLACE}:4: there is no test 'test_add'. Expected: a test of that name, e.g.",
                listed(test_adds="AC-7: other"): "'test_adds' stands for 'AC-7', which is not a criterion",
                "{": f"{PLACE}:1: is not JSON",
            }.items()
        ):
            verdict = await stage.claim("tests", "TestsReady", {PLACE: text}, checks="manifest", n=f"{n + 2}.1")
            assert verdict.results[0].ok == (not said), verdict.report
            assert said in verdict.report

    run(story())


def test_of_several_tests_those_of_the_work_are_named_first(tmp_path: Path) -> None:
    """An older feature has a test of the same name, in a file that comes before."""
    older = "tests/calc/test_aaa.py"

    async def story() -> None:
        stage = Stage(tmp_path, files={**FILES, older: "def test_adds():\n    assert True\n"})
        await (await stage.start()).scaffolded()
        files = {"tests/calc/test_add.py": TEST, PLACE: MANIFEST}
        verdict = await stage.claim("tests", "TestsReady", files, checks="manifest")
        assert stage.codes(verdict, "manifest") == ["manifest.ambiguous"]
        [one] = stage.evidence(verdict, "manifest")["findings"]
        assert one["expected"].endswith("tests/calc/test_add.py::test_adds")
        assert older in one["what"]

    run(story())


def test_a_missing_manifest_and_tests_that_cannot_be_collected(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await Stage(tmp_path).start()
        verdict = await stage.claim(
            "tests", "TestsReady", {"tests/calc/test_a.py": "import nothing_there\n"}, checks="manifest"
        )
        assert "there is no test_manifest.json" in verdict.report
        assert "tests/calc/test_a.py" in verdict.report
        assert "cannot be collected" in verdict.report

    run(story())


def test_without_test_names_in_results_the_listing_command_is_used(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await Stage(tmp_path).start()
        python = (sys.executable, "-c")
        tests = PlainCommand(command=(*python, "exit(1)"), listing=(*python, "print('a.py::test_adds')"), sandbox=NONE)
        settings = msgspec.structs.replace(stage.settings, kind="command", test=tests.command)
        tools = ProjectTools(ProjectToolchain(settings=settings, root=stage.root, tests=tests, sandbox=NONE))
        stage.verifier = ClaimVerifier(stage.facts, tools, Cache(tmp_path / "known", b"key"), scope)
        files = {"tests/calc/test_add.py": TEST, PLACE: MANIFEST}
        verdict = await stage.claim("tests", "TestsReady", files, checks="checkpoint manifest red")
        assert [one.ok for one in verdict.results] == [True] * 3, verdict.report
        other = await stage.claim("tests", "TestsReady", {PLACE: listed(b="AC-1")}, checks="manifest red", n="2.1")
        assert stage.codes(other, "manifest") == ["manifest.unknown_test"]
        assert "'b'" in other.report

    run(story())


def _criteria(stage: Stage, verdict: Verdict, check: str) -> list[tuple[str, str]]:
    """The criterion and the code of each finding."""
    return [(one.get("criterion", ""), one["code"]) for one in stage.evidence(verdict, check)["findings"]]


@pytest.mark.soak
def test_every_criterion_is_listed_and_every_kept_one_passes(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await (await Stage(tmp_path, given=TWO).start()).tested()
        verdict = await stage.claim("tests", "TestsReady", {}, checks="manifest_complete", n="2.1")
        assert ("AC-2", "manifest.uncovered") in _criteria(stage, verdict, "manifest_complete")
        both = {
            PLACE: listed(test_adds="AC-1", test_quick="AC-2"),
            "tests/calc/test_add.py": f"{TEST}\n\ndef test_quick() -> None:\n    assert [add]\n",
        }
        verdict = await stage.claim("tests", "TestsReady", both, checks="checkpoint manifest_complete", n="3.1")
        assert verdict.report == ""
        verdict = await stage.claim("review", "Approved", {}, checks="coverage_complete")
        assert _criteria(stage, verdict, "coverage_complete") == [("AC-1", "manifest.unproved")]
        assert "tests/calc/test_add.py::test_adds" in verdict.report
        assert "AC-2" not in verdict.report
        await stage.claim("impl", "TestsPassed", {"src/calc/add.py": ADD}, checks="checkpoint")
        verdict = await stage.claim("review", "Approved", {}, {"signOff": "yes"}, "readonly coverage_complete", n="2.1")
        assert verdict.report == ""
        assert verdict.fields["coverageReport"] == {
            "criteriaWithTests": [
                {"criterionId": "AC-1", "testName": "tests/calc/test_add.py::test_adds"},
                {"criterionId": "AC-2", "testName": "tests/calc/test_add.py::test_quick"},
            ],
            "criteriaMissing": [],
        }

    run(story())


@pytest.mark.soak
def test_a_criterion_that_a_child_has_is_the_childs(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await Stage(tmp_path, given=TWO).start()
        child: dict[str, Json] = {**SPEC, "id": "quick", "acceptanceCriteria": [{"id": "AC-2", "text": "is quick"}]}
        await stage.claim("scaffold", "InitWork", {"src/calc/x.py": ""}, {"childSpecs": [child]}, "checkpoint")
        stage.add("root/quick", "node", child)
        await stage.claim("scaffold", "InitWork", {"src/calc/y.py": ""}, {}, "checkpoint", n="2.1")  # keeps it
        await stage.claim("tests", "TestsReady", {"tests/calc/test_add.py": TEST, PLACE: MANIFEST}, checks="checkpoint")
        await stage.claim("impl", "TestsPassed", {"src/calc/add.py": ADD}, checks="checkpoint")
        assert (await stage.claim("review", "Approved", {}, checks="coverage_complete")).report == ""

    run(story())


@pytest.mark.soak
def test_a_shared_manifest_may_keep_its_older_entries(tmp_path: Path) -> None:
    test = "def test_old() -> None:\n    assert [1]\n\n\ndef test_new() -> None:\n    assert [1]\n"
    files = {"tests/test_a.py": test, "tests/US-1/test_manifest.json": listed(test_old="US-0-AC")}
    story_: dict[str, Json] = {
        "id": "US-1",
        "title": "t",
        "description": "d",
        "acceptance_criteria": [{"id": "AC-1", "text": "x"}],
    }

    async def story() -> None:
        stage = await Stage(tmp_path, "waterfall", files, "story", story_).start()
        good = {"tests/US-1/test_manifest.json": listed(test_old="US-0-AC", test_new="AC-1")}
        assert (await stage.claim("scaffold", "pass_red", good, checks="manifest")).report == ""
        bad = {"tests/US-1/test_manifest.json": listed(test_old="US-0-AC", test_new="AC-9")}
        verdict = await stage.claim("scaffold", "pass_red", bad, checks="manifest", n="2.1")
        assert "manifest.unknown_criterion" in stage.codes(verdict, "manifest")
        assert "'AC-9'" in verdict.report

    run(story())
