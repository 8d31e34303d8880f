"""How to answer: every exit with its fields, and an example that would be accepted."""

import json
import re

import msgspec
import pytest

from treadle.prompts.answer import answer_section
from treadle.prompts.example import example
from treadle.protocol.answers.answer import Claim, validate
from treadle.protocol.fields import asked
from treadle.protocol.load import BUILT_IN, load
from treadle.protocol.model import Exit, Field, Protocol, Record, Step
from treadle.results.ways import ways_of

V3 = load("v3")
PROTOCOLS = [*(load(name) for name in ("v3", "fractal", "dptr", "riper", "waterfall")), load(BUILT_IN / "new")]
STEPS = [
    pytest.param(protocol, step, id=f"{protocol.name}-{graph}-{name}")
    for protocol in PROTOCOLS
    for graph, found in protocol.graphs.items()
    for name, step in found.steps.items()
    if step.kind == "agent"
]


@pytest.mark.parametrize("run", ["", "r1"])
@pytest.mark.parametrize(("protocol", "step"), STEPS)
def test_every_example_is_a_claim_that_can_be_read(protocol: Protocol, step: Step, run: str) -> None:
    text = answer_section(protocol, step, {}, by_hand_in=run)
    examples = re.findall(r"^Example: `(.*)`$", text, re.MULTILINE)
    claims = [validate(protocol, step, json.loads(line)) for line in examples]
    assert [claim.exit if isinstance(claim, Claim) else claim for claim in claims] == list(step.exits)


@pytest.mark.parametrize(("protocol", "step"), STEPS)
def test_every_field_that_is_asked_for_is_explained(protocol: Protocol, step: Step) -> None:
    text = answer_section(protocol, step, {})
    for name in step.exits:
        section = text.partition(f"### `{name}`\n")[2].partition("\n### ")[0]
        assert [f"- `{field}` (" in section for field, _, _ in asked(protocol.exits[name].fields)].count(False) == 0
        computed = [field for field, found in protocol.exits[name].fields.items() if found.by != "agent"]
        assert not any(f"- `{field}` (" in section for field in computed)


def test_the_ways_to_answer_and_the_checks_are_named() -> None:
    text = answer_section(V3, V3.graphs["node"].steps["review"], {})
    for way in ("`emit_exit`", "`treadle emit FILE`", "your last output"):
        assert way in text
    assert "- `critiques` (list of Critique): What the implementer must change." in text
    assert "`Critique`\n- `file` (string)" in text
    assert "every criterion that was not given to a child has a passing test" in text
    assert "TREADLE_BUNDLE" not in text
    assert "TREADLE_BUNDLE" in answer_section(V3, V3.graphs["node"].steps["review"], {}, cut=True)


@pytest.mark.parametrize(("protocol", "step"), STEPS)
def test_a_person_is_told_the_commands_of_a_person(protocol: Protocol, step: Step) -> None:
    text = answer_section(protocol, step, {}, cut=True, by_hand_in="r 1")
    assert not [word for word in ("emit", "TREADLE_", "last output") if word in text]
    assert "`treadle done 'r 1' FILE`" in text
    commands = re.findall(r"^Command: `treadle done 'r 1' --exit (\w+)", text, re.MULTILINE)
    assert [ways_of(protocol, step).names[command] for command in commands] == list(step.exits)


def test_a_person_reads_the_names_that_people_know() -> None:
    protocol = load("waterfall")
    step = protocol.graphs["story"].steps["scaffold"]
    text = answer_section(protocol, step, {}, by_hand_in="r1")
    assert "pass_red" not in text
    assert "### `pass`\n" in text
    assert "`treadle done r1 --exit pass --field summary=…" in text


def test_the_command_of_an_exit_has_its_fields() -> None:
    text = answer_section(V3, V3.graphs["node"].steps["scaffold"], {}, by_hand_in="r1")
    assert "Command: `treadle done r1 --exit ClarificationNeeded --field question=… --field " in text
    assert " --field contractSuite=…" in text


def test_a_check_names_the_command_that_it_runs() -> None:
    commands = {"build": "make `x`", "test": "", "contract": "make contract"}
    fractal = load("fractal")
    text = answer_section(fractal, fractal.graphs["node"].steps["glue"], commands)
    assert "\n- the build command succeeds: `make `x``\n" in text
    assert "\n- the whole suite passes; no test is newly skipped, expected to fail, or deleted\n" in text
    assert "make contract" not in text


def test_what_only_informs_is_said_to() -> None:
    text = answer_section(V3, V3.graphs["node"].steps["impl"], {})
    checks = text.partition("Checked:\n")[2].partition("\nExample")[0].splitlines()
    assert [line.endswith(" (reported only)") for line in checks] == [False] * 8 + [True] * 4


def test_optional_fields_and_choices_are_told_apart() -> None:
    fractal = load("fractal")
    text = answer_section(fractal, fractal.graphs["node"].steps["implementer"], {})
    assert "- `variant` (one of `SkillCeiling`, `InfiniteLoop`, `SpecImpossible`, `ResourceExhausted`)" in text
    assert "may be left out)" in text


def test_an_example_of_types_that_refer_to_themselves_ends() -> None:
    tree = Record(fields={"id": Field(type="text"), "parts": Field(type="[Tree]")})
    protocol = msgspec.structs.replace(
        V3, types={"Tree": tree}, exits={"Planned": Exit(fields={"root": Field(type="Tree")})}
    )
    answer = json.loads(example(protocol, "Planned"))
    assert isinstance(validate(protocol, ("Planned",), answer), Claim)
