"""What blocks a node, as its file shows it."""

import json
from typing import Any

from treadle.protocol.items import Json
from treadle.protocol.load import load
from treadle.testing.scenario import Scenario
from treadle.views.story_files import artifact_files, blockers, has_views

FRACTAL = load("fractal")


def get(ref: str) -> Json:
    return {"id": "REQ-7"} if ref == "text:" or ref.startswith("ref:input") else {"told": ref}


def shown(run: Scenario) -> list[Any]:
    text = blockers(FRACTAL, run.inst(), get)
    return json.loads(text)["blockers"] if text else []


def challenged() -> Scenario:
    return Scenario(FRACTAL).says("InitLeaf").says("EmitChallenge")


def test_the_payload_is_shown_whole_until_the_blocker_is_resolved() -> None:
    run = challenged().says("BlockedDependency")
    assert shown(run) == [
        {
            "step": "implementer",
            "envelope": {
                "type": "BlockedDependency",
                "variant": "",
                "severity": "BLOCKER",
                "route_hint": "check_sibling_exports",
            },
            "payload_ref": "ref:root:implementer#1.1.BlockedDependency",
            "payload": {"told": "ref:root:implementer#1.1.BlockedDependency"},
        }
    ]
    run.says("ClarificationNeeded").answers("Clarified", note="take theirs")
    assert len(shown(run)) == 1, "the planner has asked, and has not decided"
    assert shown(run.says("InitLeaf")) == []


def test_a_variant_is_named_and_blocks_until_its_own_step_is_left() -> None:
    run = challenged().says("Stuck.SkillCeiling")
    assert [one["envelope"]["variant"] for one in shown(run)] == ["SkillCeiling"]
    assert shown(run.says("TestPassed")) == []
    run = challenged().says("Stuck.SpecImpossible")
    assert [one["envelope"]["variant"] for one in shown(run)] == ["SpecImpossible"]
    assert shown(run.says("InitLeaf")) == []


def test_other_exits_and_ended_nodes_show_no_blocker() -> None:
    assert shown(challenged().says("RequestRetry")) == []
    assert shown(challenged().says("BlockedDependency").signals("abort")) == []


def test_a_protocol_says_where_the_file_lies() -> None:
    run = challenged().says("BlockedDependency")
    files = artifact_files(FRACTAL, run.inst(), lambda _: {"id": "REQ-7"})
    assert list(files) == ["context/blockers/REQ-7.json"]
    assert artifact_files(FRACTAL, run.inst(), lambda _: {"id": "../../out"}) == {}
    assert (has_views(FRACTAL), has_views(load("v3"))) == (True, False)
