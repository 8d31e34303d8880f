"""What a node must pass when it is merged."""

import json
import sys
from pathlib import Path

import pytest

from tests.evidence.stage import ADD, SPEC, TEST, Stage, run
from treadle.kernel.state import Slot
from treadle.protocol.items import Json

SUITE = "tests/calc/test_contract.py"
FIELDS: dict[str, Json] = {"contractSuite": SUITE}


def test_the_suite_is_there_and_is_collected(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await Stage(tmp_path).start()
        for n, (files, said) in enumerate(
            [
                ({}, "the contract suite is missing"),
                ({SUITE: "import nothing_there\n"}, "cannot be collected"),
                ({SUITE: "x = 1\n"}, "tests/calc/test_contract.py"),
                ({SUITE: "def test_it():\n    assert True\n"}, "tests/calc/test_contract.py:1: the test test_it"),
                ({SUITE: TEST}, ""),
            ]
        ):
            verdict = await stage.claim("scaffold", "InitWork", files, FIELDS, "contract_exists", n=f"{n + 1}.1")
            assert verdict.results[0].ok == (not said), verdict.report
            assert said in verdict.report

    run(story())


def test_the_suite_passes_or_not(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await Stage(tmp_path, "fractal").start()
        await stage.claim("planner", "InitLeaf", {SUITE: TEST}, FIELDS, "checkpoint")
        refused = await stage.check("lock", "contract")
        assert (f"{SUITE}::test_adds", "green.failing") in stage.found(refused, "contract")
        await stage.claim("implementer", "TestPassed", {"src/calc/add.py": ADD}, checks="checkpoint")
        assert (await stage.check("lock", "contract", n="2.1")).report == ""

    run(story())


def test_the_projects_own_contract_command_decides(tmp_path: Path) -> None:
    async def story() -> None:
        command = (
            sys.executable,
            "-c",
            "import sys, pathlib; sys.exit(pathlib.Path('bad').exists() and 'no contract')",
        )
        stage = await Stage(tmp_path, contract=command).start()
        assert (await stage.claim("impl", "TestsPassed", {}, checks="contract")).report == ""
        verdict = await stage.claim("impl", "TestsPassed", {"bad": ""}, checks="contract", n="2.1")
        assert "no contract" in verdict.report
        assert stage.evidence(verdict, "contract")["exit"] == 1

    run(story())


@pytest.mark.soak
def test_merged_children_keep_their_parents_contract(tmp_path: Path) -> None:
    spec: dict[str, Json] = {**SPEC, "acceptanceCriteria": [{"id": "AC-1", "text": "a"}, {"id": "AC-2", "text": "b"}]}
    children: list[dict[str, Json]] = [
        {
            **SPEC,
            "id": name,
            "acceptanceCriteria": [{"id": id_, "text": "x"}],
            "targetPath": f"src/{name}",
            "testPath": f"tests/{name}",
        }
        for name, id_ in (("one", "AC-1"), ("two", "AC-2"))
    ]
    suite = f"{TEST}\n\ndef test_later() -> None:\n    assert add(1, 1) == 3\n"
    manifest = json.dumps({"acceptance_criteria_map": {"test_adds": "contract:AC-1", "test_later": "contract:AC-2"}})

    async def story() -> None:
        stage = await Stage(tmp_path, given=spec).start()
        files = {SUITE: suite, "tests/calc/test_manifest.json": manifest, "src/calc/add.py": ADD}
        await stage.claim("scaffold", "InitWork", files, {**FIELDS, "childSpecs": [*children]}, "checkpoint")
        for name, child in zip(("one", "two"), children, strict=True):
            stage.add(f"root/{name}", "node", child)
        stage.insts["root/one"].slots["merge.MergeComplete"] = Slot(seq=1)
        verdict = await stage.claim("judge", "ChildAccepted", checks="readonly contract_children")
        assert verdict.report == ""
        stage.insts["root/two"].slots["merge.MergeComplete"] = Slot(seq=2)
        verdict = await stage.claim("judge", "ChildAccepted", checks="readonly contract_children", n="2.1")
        assert "test_later: fails" in verdict.report

    run(story())
