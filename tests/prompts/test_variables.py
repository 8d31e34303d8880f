"""The variables of a template: facts, needs, parameters, passed checks, and the words of earlier outcomes."""

import msgspec
import pytest

from tests.prompts.stage import TOOLCHAIN, Memory, places, scene
from treadle.kernel.commands import AskHuman, RunAgent
from treadle.kernel.reduce import outstanding
from treadle.prompts.outcomes import exit_text, for_agent, trouble, value_text
from treadle.prompts.variables import SILENT, parameters, phase, variables, verified_checks
from treadle.protocol.agent_lines import render_parameters
from treadle.protocol.checks.shapes import TemplateVariables
from treadle.protocol.checks.subject import ProtocolSubject
from treadle.protocol.items import Json
from treadle.protocol.load import BUILT_IN, load
from treadle.protocol.model import CheckRef, Role
from treadle.protocol.vocabulary import CHECKS
from treadle.testing.scenario import Scenario, items

# The variables of templates: exactly those that the checker knows, from a real course of events.


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
    subject = ProtocolSubject(protocol, None)
    declared = TemplateVariables(subject)
    for graph, step in places(protocol, "agent", "ask"):
        there = scene(protocol, graph, step)
        found = variables(protocol, there.state, there.command, there.payloads, TOOLCHAIN)
        assert found.keys() == declared.of_step(subject.flows[graph], step).keys(), (graph, step)
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


def test_the_answers_of_a_question_name_their_next_steps() -> None:
    run = Scenario(V3).says("InitWork").says("TestsReady").says("RequestRetry").says("RequestRetry")
    assert told(run, "root:impl")["ways"] == {}, "an agent's exits are its own"
    run = Scenario(PROTOCOLS["waterfall"], {"stories": items("US-1")}).says("needs_human")
    assert told(run, "root/US-1:stuck@bdd")["ways"] == {"retry": ["BDD scenarios"], "abort": []}


def test_the_needs_of_a_step_are_also_a_list_of_reports() -> None:
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


def test_all_values_of_a_slot_are_a_list_even_an_empty_one() -> None:
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


def test_a_question_has_the_step_and_attempt_that_caused_it() -> None:
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


def test_a_node_knows_its_children_and_their_outcomes() -> None:
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


def test_the_results_of_a_map_are_its_counts() -> None:
    riper = PROTOCOLS["riper"]
    there = scene(riper, "riper", "O3P")
    found = variables(riper, there.state, there.command, there.payloads, TOOLCHAIN)
    assert found["O2A_found"] == {"AllOk": {"total": 3, "failed": 1, "results": []}}


# The parameter line: what a role declares, without what is not known.


DPTR = load("dptr")
CYCLE: dict[str, Json] = {
    "session": "S1",
    "round": 2,
    "id": "TDD₁",
    "phase": "ℜ",
    "design": "d.md",
    "interface": "def a()\ndef b()",
}


def test_the_parameters_of_a_cycle_are_one_line() -> None:
    found = parameters(DPTR.roles["qa"], CYCLE)
    assert render_parameters(found) == '[S:S1,R:2,C:TDD₁,P:ℜ,CTX:design=d.md, interface="def a()\\ndef b()"]'


@pytest.mark.parametrize(
    ("known", "text"),
    [
        ({"a": 0, "b": False}, "[A:0 false]"),
        ({"a": "", "b": 1}, "[]"),
        ({"a": 1}, "[]"),
        ({"a": 1, "b": None}, "[]"),
        ({"a": "{b}", "b": 2}, "[A:{b} 2]"),
    ],
)
def test_a_parameter_with_an_unknown_value_is_left_out(known: dict[str, Json], text: str) -> None:
    assert render_parameters(parameters(Role(params={"A": "{a} {b}"}), known)) == text


def test_without_parameters_or_role_the_line_is_empty() -> None:
    assert render_parameters(parameters(Role(), {})) == render_parameters(parameters(None, {})) == "[]"


def test_a_phase_is_called_by_its_symbol() -> None:
    steps = DPTR.graphs["cycle"].steps
    assert phase(DPTR, "red", steps["red"]) == "ℜ"
    assert phase(DPTR, "critic", DPTR.graphs["plan"].steps["critic"])


# What was verified already, made from the gates.


def helps(*checks: CheckRef) -> list[str]:
    return [CHECKS[check.name].help for check in checks]


def test_an_exit_of_an_agent_has_passed_the_gates_that_refuse() -> None:
    steps = load("v3").graphs["node"].steps
    found = verified_checks(steps, steps["review"])
    gates = steps["impl"].gates["TestsPassed"]
    assert [check.name for check in gates if check.advisory] == ["minimal", "knows_tests", "unsafe_imports", "scaling"]
    assert found["impl"] == {"TestsPassed": helps(*gates[1:8])}, "neither the record nor what only informs"
    assert found["clarify"] == {"Clarified": []}


def test_a_step_of_checks_has_passed_all_of_them_or_failed() -> None:
    steps = load("fractal").graphs["node"].steps
    assert verified_checks(steps, steps["reviewer"])["lock"] == {"Passed": helps(*steps["lock"].checks)}
    assert verified_checks(steps, steps["fix"])["lock"] == {"Failed": []}


def test_checks_of_the_parents_steps_are_not_listed() -> None:
    steps = load("v3").graphs["node"].steps
    assert steps["scaffold"].needs[0].up
    assert verified_checks(steps, steps["scaffold"])["scaffold"].keys() == {"InitWork", "ClarificationNeeded"}  # type: ignore[union-attr]


# What an exit has said, in words.


EXITS = load("waterfall").exits


def test_fields_come_in_the_order_of_the_exit_without_empty_ones() -> None:
    said: dict[str, Json] = {"handoff": "", "reason": "none", "summary": "It fails.", "tests_fail": 0, "tests_pass": 3}
    text = exit_text([EXITS["failing_measured"]], said)
    assert text == "summary: It fails.\ntests pass: 3\ntests fail: 0"


def test_a_payload_of_an_unknown_exit_is_shown_as_it_stands() -> None:
    assert exit_text(EXITS.values(), {"odd_one": "a", "other": ["b", "c"]}) == "odd one: a\nother: b, c"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (" a ", "a"),
        (True, "true"),
        (["a", 1], "a, 1"),
        (
            [{"question": "How\nlong?", "suggestion": "20 s"}, {"question": "Why?"}],
            "- question: How long?; suggestion: 20 s\n- question: Why?",
        ),
        ({"file_name": "a.py", "line": 3, "fix": None}, "file name: a.py; line: 3"),
    ],
)
def test_values_become_readable_text(value: Json, text: str) -> None:
    assert value_text(value) == text


# What a parent and a person are told of a child that came to no good end.


TROUBLE_V3 = load("v3")
STUCK: Json = {"diagnosis": "no tenth", "recommendation": "say it", "attempts": 3}


def begun() -> Scenario:
    run = Scenario(TROUBLE_V3).says("InitWork", childSpecs=items("a")).says("TestsReady", at="root:tests")
    return run.says("InitWork", at="root/a:scaffold")


def trouble_told(run: Scenario, **values: Json) -> str:
    payloads = Memory()
    payloads.values |= {ref.replace("_", ":"): value for ref, value in values.items()}
    payloads.values["ref:root/a:impl#1.1.Stuck"] = STUCK
    return trouble(TROUBLE_V3, run.inst("root/a"), payloads, for_agent)


def test_the_trouble_of_a_child_has_its_own_words_and_the_persons_note() -> None:
    run = begun().says("TestsReady", at="root/a:tests").says("Stuck", at="root/a:impl")
    run.answers("abort", note="ref:note")
    *report, note = trouble_told(run, ref_note="It is not worth it.").splitlines()
    assert "person" in note
    assert note.endswith(": It is not worth it.")
    assert report == [
        "impl ended with Stuck",
        "diagnosis: no tenth",
        "recommendation: say it",
    ]


def test_a_repaired_trouble_is_not_shown() -> None:
    run = begun().says("InvalidScaffold", at="root/a:tests").says("InitWork", at="root/a:scaffold")
    assert trouble_told(run.says("TestsReady", at="root/a:tests").signals("abort", to="root/a")) == ""


def test_the_trouble_of_a_failed_child_is_its_report() -> None:
    run = begun()
    for _ in range(5):
        run.fails("invalid", at="root/a:tests")
    run.answers("abort")
    assert trouble_told(run, ref_invalid={"report": "it has not answered"}).splitlines()[1:] == ["it has not answered"]
