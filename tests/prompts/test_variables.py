"""The variables of templates: exactly those that the checker knows, from a real course of events."""

import msgspec
import pytest

from tests.prompts.stage import TOOLCHAIN, Memory, places, scene
from treadle.kernel.commands import AskHuman, RunAgent
from treadle.kernel.reduce import outstanding
from treadle.prompts.variables import SILENT, variables
from treadle.protocol.checks.shapes import variables as declared
from treadle.protocol.checks.subject import Subject
from treadle.protocol.items import Json
from treadle.protocol.load import BUILT_IN, load
from treadle.testing.scenario import Scenario, items

NAMES = ("v3", "fractal", "dptr", "riper", "waterfall")
PROTOCOLS = {name: load(name) for name in NAMES} | {"new": load(BUILT_IN / "new")}
V3 = PROTOCOLS["v3"]


class Labels(Memory):
    """Every reference stands for a value that names it."""

    def get(self, ref: str) -> Json:
        return self.values.get(ref, {"ref": ref})


def told(run: Scenario, at: str, store: Memory | None = None) -> dict[str, Json]:
    """The variables of the job or question at a place."""
    found = [command for command in outstanding(run.state) if isinstance(command, RunAgent | AskHuman)]
    command = next(one for one in found if f"{one.inst}:{one.step}" == at)
    return variables(run.protocol, run.state, command, store or Labels(), TOOLCHAIN)


@pytest.mark.parametrize("name", PROTOCOLS)
def test_every_step_has_the_variables_that_the_checker_promises(name: str) -> None:
    protocol = PROTOCOLS[name]
    flows = Subject(protocol, None).flows
    for graph, step in places(protocol, "agent", "ask"):
        there = scene(protocol, graph, step)
        found = variables(protocol, there.state, there.command, there.payloads, TOOLCHAIN)
        assert found.keys() == declared(protocol, flows[graph], there.step).keys(), (graph, step)
        msgspec.json.encode(found)


def test_the_facts_of_an_agent_step() -> None:
    found = told(Scenario(V3), "root:scaffold")
    assert found["run"] == {"id": "run", "protocol": "v3"}
    branch = "treadle/run/root/int"
    place = {"id": "root", "key": "root", "graph": "node", "branch": branch, "parent": "", "depth": 0, "children": []}
    assert found["node"] == place
    assert (found["step"], found["role"], found["mode"]) == ("scaffold", "planner", {"type": "Scaffold"})
    assert (found["attempt"], found["max_attempts"]) == (1, 5)
    assert (found["gate_report"], found["human_note"], found["signals"]) == ("", "", [])
    assert found["spec"] == {"ref": "ref:input"}
    assert found["toolchain"] == {**TOOLCHAIN, "api_dump": "", "interface": ""}


def test_slots_by_step_and_those_of_the_parent() -> None:
    run = Scenario(V3).says("InitWork", childSpecs=items("a"))
    assert told(run, "root/a:scaffold")["up"] == {"scaffold": {"InitWork": {"ref": "ref:root:scaffold#1.1.InitWork"}}}
    tests = told(run, "root:tests")
    assert tests["scaffold"] == {"InitWork": {"ref": "ref:root:scaffold#1.1.InitWork"}, "ClarificationNeeded": []}
    assert (tests["review"], tests["impl"]) == ({}, {})


def test_where_the_answers_of_a_question_lead() -> None:
    run = Scenario(V3).says("InitWork").says("TestsReady").says("RequestRetry").says("RequestRetry")
    assert told(run, "root:impl")["ways"] == {}, "an agent's exits are its own"
    run = Scenario(PROTOCOLS["waterfall"], {"stories": items("US-1")}).says("needs_human")
    assert told(run, "root/US-1:stuck@bdd")["ways"] == {"retry": ["BDD scenarios"], "abort": []}


def test_what_the_needs_say_is_also_a_list() -> None:
    run = Scenario(V3).says("InitWork").says("TestsReady").says("RequestRetry")
    found = told(run, "root:impl")["reports"]
    assert isinstance(found, list)
    assert found[-1] == {
        "step": "impl",
        "title": V3.graphs["node"].steps["impl"].title,
        "exit": "RequestRetry",
        "data": {"ref": "ref:root:impl#1.1.RequestRetry"},
    }
    assert isinstance(found[0], dict)
    assert (found[0]["step"], found[0]["exit"]) == ("scaffold", "InitWork")


def test_all_values_of_a_slot_are_a_list_also_if_there_are_none() -> None:
    run = Scenario(V3).says("InitWork").says("TestsReady")
    assert told(run, "root:impl")["impl"] == {"RequestRetry": []}
    run.says("RequestRetry").says("RequestRetry")
    found = told(run, "root:impl")
    assert found["attempt"] == 3
    assert found["impl"] == {
        "RequestRetry": [{"ref": "ref:root:impl#1.1.RequestRetry"}, {"ref": "ref:root:impl#1.2.RequestRetry"}]
    }


def test_a_report_and_a_note_come_with_the_next_attempt() -> None:
    store = Labels()
    store.values |= {"ref:crash": "it broke", "text:mind": "mind the gap"}
    run = Scenario(V3).says("InitWork", fails=["build"])
    assert told(run, "root:scaffold")["gate_report"]
    run = Scenario(V3).says("InitWork")
    for _ in range(3):
        run.fails("crash")
    asked = told(run, "root:stuck@tests", store)
    assert asked["gate_report"] == "it broke"
    run.answers("retry", note="text:mind")
    found = told(run, "root:tests", store)
    assert found["human_note"] == "mind the gap"


def test_a_question_is_about_the_step_that_led_to_it() -> None:
    run = Scenario(V3).says("InitWork", fails=["build"])
    for _ in range(4):
        run.says("InitWork", fails=["build"])
    found = told(run, "root:stuck@scaffold")
    assert (found["step"], found["attempt"], found["max_attempts"]) == ("scaffold", 5, 5)


def test_signals_have_a_name_a_sender_and_data() -> None:
    run = Scenario(V3).says("InitWork", childSpecs=items("a"))
    run.says("ClarificationNeeded", at="root/a:scaffold").says("TestsReady", at="root:tests")
    data: Json = {"ref": "ref:root/a:scaffold#1.1.ClarificationNeeded"}
    expected: list[Json] = [{"name": "ClarificationNeeded", "sender": "root/a", "data": data}]
    assert told(run, "root:answer")["signals"] == expected


def test_a_node_knows_its_children_and_what_became_of_them() -> None:
    run = Scenario(V3).says("InitWork", childSpecs=items("b", "a")).says("TestsReady", at="root:tests")
    run.signals("abort", to="root/b").answers("replan")
    node = told(run, "root:scaffold")["node"]
    assert isinstance(node, dict)
    assert node["children"] == [
        {"id": "root/b", "key": "b", "outcome": "Aborted", "trouble": ""},
        {"id": "root/a", "key": "a", "outcome": "", "trouble": ""},
    ]


def test_an_exit_without_a_payload_is_still_seen() -> None:
    there = scene(V3, "node", "scaffold")
    command = msgspec.structs.replace(there.command, inputs={**there.command.inputs, "tests.InvalidScaffold": ("",)})
    found = variables(V3, there.state, command, there.payloads, TOOLCHAIN)
    assert found["tests"] == {"InvalidScaffold": SILENT}


def test_what_a_map_leaves_are_its_counts() -> None:
    riper = PROTOCOLS["riper"]
    there = scene(riper, "riper", "O3P")
    found = variables(riper, there.state, there.command, there.payloads, TOOLCHAIN)
    assert found["O2A_found"] == {"AllOk": {"total": 3, "failed": 1, "results": []}}
