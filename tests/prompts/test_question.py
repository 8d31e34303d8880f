"""Questions to people: the message, the choices and what they mean, and what happens without an answer."""

import msgspec
import pytest

from tests.prompts.stage import REPORT, TOOLCHAIN, Memory, scene
from treadle.kernel.advance import LIMIT_ASK, OUTAGE
from treadle.kernel.commands import AskHuman
from treadle.kernel.events import Usage
from treadle.kernel.state import Frame, State
from treadle.prompts.outcomes import failure_report
from treadle.prompts.question import Choice, Question, own_words, question
from treadle.protocol.items import Json
from treadle.protocol.load import load
from treadle.protocol.model import Protocol
from treadle.testing.scenario import Scenario, items

V3, WATERFALL = load("v3"), load("waterfall")


def asked(protocol: Protocol, graph: str, step: str) -> Question:
    there = scene(protocol, graph, step)
    assert isinstance(there.command, AskHuman)
    return question(there.protocol, there.state, there.command, there.payloads, TOOLCHAIN)


def changed(**fields: object) -> Protocol:
    """V3 with another question about a rejected approach."""
    graph = V3.graphs["node"]
    step = msgspec.structs.replace(graph.steps["rejected@review"], **fields)
    other = msgspec.structs.replace(graph, steps={**graph.steps, "rejected@review": step})
    return msgspec.structs.replace(V3, graphs={"node": other})


def test_a_question_with_its_choices() -> None:
    found = asked(V3, "node", "rejected@review")
    step = V3.graphs["node"].steps["rejected@review"]
    assert found.title == step.title
    assert "\n> the Reject.reason\n" in found.text
    assert found.choices[0] == Choice(name="replan", help=step.choices["replan"], needs_note=False)
    assert [choice.name for choice in found.choices] == ["replan", "retest", "retry", "abort"]
    assert (found.default, found.default_after) == ("", 0)
    assert f"- abort: {step.choices['abort']}\n" in str(found)
    assert "Without an answer" not in str(found)


@pytest.mark.parametrize("template", ["", "{{ gate_report | fence }}"])
def test_people_read_no_words_that_were_meant_for_an_agent(template: str) -> None:
    protocol = changed(template="own.jinja" if template else "")
    protocol = msgspec.structs.replace(protocol, templates={**V3.templates, "own.jinja": template})
    there = scene(protocol, "node", "rejected@review")
    assert isinstance(there.command, AskHuman)
    ref = there.payloads.put({**failure_report("call emit_exit", "it said\nnothing"), "code": 0})
    command = msgspec.structs.replace(there.command, inputs={**there.command.inputs, "gate_report": (ref,)})
    text = question(protocol, there.state, command, there.payloads, TOOLCHAIN).text
    assert "> it said\n> nothing\n" in text
    assert not [word for word in ("emit_exit", "````", "instructions") if word in text]


class Anything(Memory):
    """Whatever is looked up is an answer with this question."""

    def get(self, ref: str) -> Json:
        return {"id": "slug", "question": "Which hyphen?", "said": ref}


def stuck(run: Scenario) -> str:
    return question(run.protocol, run.state, run.ask(), Anything(), TOOLCHAIN).text


AGAIN = "## The planner asks again and again\n> Which hyphen?"
WORK = {"v3": ("InitWork", "TestsReady", "Stuck"), "fractal": ("InitLeaf", "EmitChallenge", "Stuck.SkillCeiling")}


def answered(name: str) -> Scenario:
    return Scenario(load(name)).says("ClarificationNeeded").answers("Clarified", note="the short one")


@pytest.mark.parametrize("name", WORK)
def test_a_planner_that_asks_too_often_is_the_reason_of_the_question(name: str) -> None:
    run = Scenario(load(name))
    for _ in range(5):
        run.says("ClarificationNeeded").answers("Clarified", note="the short one")
    assert AGAIN in stuck(run.says("ClarificationNeeded"))


@pytest.mark.parametrize("name", WORK)
def test_a_question_that_was_answered_is_no_reason_to_ask_a_person(name: str) -> None:
    plan, tests, gives_up = WORK[name]
    run, refused = answered(name).says(plan).says(tests), answered(name)
    while not run.asked():
        run.says(gives_up)
    while not refused.asked():
        refused.says(plan, fails=["checkpoint"])
    assert "The implementer " in stuck(run)
    assert "went wrong last" in stuck(refused)
    assert not [text for text in (stuck(run), stuck(refused)) if "again and again" in text]


def test_a_choice_that_needs_a_note_is_marked() -> None:
    found = asked(V3, "node", "clarify")
    assert found.title == V3.graphs["node"].steps["clarify"].title
    assert {choice.name: choice.needs_note for choice in found.choices} == {"Clarified": True, "abort": False}


@pytest.mark.parametrize("step", ["judge_by_hand@judge", "verdict"])
def test_rejecting_a_child_needs_a_note(step: str) -> None:
    assert [choice.name for choice in asked(V3, "node", step).choices if choice.needs_note] == ["ChildRejected"]


def test_the_default_without_an_answer_is_shown() -> None:
    found = asked(changed(default="retry", default_after=3600), "node", "rejected@review")
    assert (found.default, found.default_after) == ("retry", 3600)
    last = str(found).splitlines()[-1]
    assert [it for it in ("Without an answer", "`retry`", " 3600 s.") if it not in last] == []
    assert asked(changed(default="retry"), "node", "rejected@review").default == ""


def test_a_question_without_a_template_gets_a_default_message() -> None:
    found = asked(changed(template="", title=""), "node", "rejected@review")
    assert found.title == "rejected@review at root/n1"
    assert found.text.startswith("root/n1 ")
    assert "decision" in found.text.splitlines()[0]
    assert f"\n> {REPORT}\n" in found.text


def test_the_question_shows_the_fields_of_the_last_attempt() -> None:
    said: dict[str, Json] = {
        "summary": "cannot do it",
        "reason": "none",
        "handoff": "## Done\n- nothing",
        "tests_fail": 2,
    }
    run = Scenario(WATERFALL, {"stories": items("US-1")})
    for exit_ in ("pass_bdd", "pass", "pass"):
        run.says(exit_, complexity="S", parallel_tasks=0)
    run.answers("approve").says("pass_red")
    for _ in range(5):
        run.says("failing_measured.none")
    store = Memory()
    (ref,) = run.ask().inputs["gate_report"]
    store.values = {ref: {**said, "failing_tests": ["a::b", "a::c"]}, run.ask().inputs["in"][0]: {"id": "US-1"}}
    text = question(WATERFALL, run.state, run.ask(), store, TOOLCHAIN).text
    spent, _, quoted = text.partition("> ")
    assert [it for it in ("impl ", " 5.") if it not in spent.splitlines()[-1]] == []
    assert quoted == (
        "summary: cannot do it\n> handoff:\n> ## Done\n> - nothing\n> tests fail: 2\n> failing tests: a::b, a::c\n"
    )


@pytest.mark.parametrize(
    ("cause", "told"),
    [
        ("!timeout", "impl timed out (10 min).\n"),
        ("!exhausted", "impl has no attempt left of 5.\n"),
        ("!crash", "impl crashed.\n"),
        ("!store", ""),
        ("", ""),
    ],
)
def test_a_stuck_step_is_named_with_its_cause(cause: str, told: str) -> None:
    there = scene(WATERFALL, "story", "stuck@impl")
    assert isinstance(there.command, AskHuman)
    inst = there.state.insts[there.command.inst]
    frame = Frame("stuck@impl", cause=cause, asker="impl")
    insts = there.state.insts.set(inst.id, msgspec.structs.replace(inst, frames=[frame]))
    state = msgspec.structs.replace(there.state, insts=insts)
    text = question(there.protocol, state, there.command, there.payloads, TOOLCHAIN).text
    assert text.partition("\n")[2].startswith(told)
    assert ("impl " in text) == bool(told)


def test_the_run_asks_for_more_money() -> None:
    protocol = msgspec.structs.replace(V3, limits=msgspec.structs.replace(V3.limits, cost=5.0))
    state = State(run="r", usage=Usage(cost=5.25))
    command = AskHuman(id=LIMIT_ASK, inst="root", graph="", step="cost", choices=("continue", "abort"))
    found = question(protocol, state, command, Memory(), {})
    assert "money" in found.title
    assert "5.25" in found.text
    assert [choice.name for choice in found.choices if choice.help] == ["continue", "abort"]


@pytest.mark.parametrize(
    ("allowances", "granted"), [(1, ""), (2, ", granted again once so far"), (3, ", granted again 2 times so far")]
)
def test_the_run_asks_for_more_tokens_and_names_unknown_prices(allowances: int, granted: str) -> None:
    protocol = msgspec.structs.replace(V3, limits=msgspec.structs.replace(V3.limits, tokens=5000))
    state = State(run="r", usage=Usage(4000, 1500, unpriced=1200), allowances=allowances)
    command = AskHuman(id=LIMIT_ASK, inst="root", graph="", step="tokens", choices=("continue", "abort"))
    found = question(protocol, state, command, Memory(), {})
    assert "tokens" in found.title
    numbers = (f" 5,000{granted}.", " 5,500 ", " 1,200 tokens ")
    assert [number for number in numbers if number not in found.text] == []


@pytest.mark.parametrize(
    ("why", "title", "advice"),
    [
        ("login", "login", "Log in"),
        ("billing", "payment", "Pay, "),
        ("budget", "budget", "`continue` grants"),
    ],
)
def test_an_outage_question_has_advice_and_the_services_words(why: str, title: str, advice: str) -> None:
    payloads = Memory()
    ref = payloads.put({"report": "HTTP 401\n# Ignore this: \x1b[2J"})
    choices = ("continue", "abort")
    command = AskHuman(id=OUTAGE, inst="root", graph="", step=why, choices=choices, inputs={"gate_report": (ref,)})
    found = question(V3, State(run="r"), command, payloads, {})
    assert found.title == own_words(command)[0]
    assert [it for it in (title, advice) if it not in f"{found.title}\n{found.text}"] == []
    assert "\n> HTTP 401\n> # Ignore this: " in found.text
    assert "\x1b" not in found.text
    assert [choice.name for choice in found.choices if choice.help] == ["continue", "abort"]
