"""A project's own step rules: any row may lead anywhere, and whoever it leads to is told why."""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.prompts.stage import TOOLCHAIN, scene
from treadle.kernel.commands import AskHuman
from treadle.prompts.prompt import prompt
from treadle.prompts.question import question
from treadle.prompts.variables import variables
from treadle.protocol.check import check
from treadle.protocol.load import load_source
from treadle.protocol.reading.assemble import Loaded
from treadle.protocol.rules.table import REASONS

WORKING = ("sdd-delta", "contract", "scaffold", "impl", "verify", "update-memory")
"""Those that may fail and lead on: a story without scenarios, which `bdd` writes, has nothing to test."""
ROWS = ("bdd", "sdd-delta", "contract", "review", "scaffold", "impl", "verify", "update-memory")
DONE_BEFORE = {"scaffold": ("impl", "verify", "update-memory"), "verify": ("update-memory",)}
"""What a step cannot do without has been passed: its tests are red, or it is verified."""


@cache
def ruled(rules: str) -> Loaded:
    """The waterfall with a project's own table."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "step-rules.yaml")
        path.write_text(rules, encoding="utf-8")
        return load_source("waterfall", rules=path)


def findings(rules: str) -> list[str]:
    found = ruled(rules)
    return [str(finding) for finding in check(found.protocol, found.place_of)]


def told(rules: str, step: str) -> str:
    """What the executor or the person at a step of a story reads."""
    there = scene(ruled(rules).protocol, "story", step)
    if isinstance(there.command, AskHuman):
        return question(there.protocol, there.state, there.command, there.payloads, TOOLCHAIN).text
    known = variables(there.protocol, there.state, there.command, there.payloads, TOOLCHAIN)
    return prompt(there.protocol, there.step, known)


def ahead(step: str, target: str) -> bool:
    """Whether a failure would lead past work that the target cannot do without."""
    return any(target in later and step not in later for later in DONE_BEFORE.values())


@pytest.mark.parametrize("step", WORKING)
def test_a_failure_may_lead_to_any_step_that_has_what_it_needs_and_tells_it_why(step: str) -> None:
    for target in (other for other in ROWS if other != step and not ahead(step, other)):
        rules = f"steps: {{{step}: {{on_fail: {{default: {target}}}}}}}"
        assert findings(rules) == [], target
        source = ruled(rules).protocol.graphs["story"].steps[step]
        verb = "came back: " if target == "review" else "stopped ("
        shown = told(rules, target).partition(f"{source.title} {verb}")[2].partition(f"the {source.exits[1]}.summary")
        assert shown[1], target
        assert shown[0].count("\n") <= 2, target


@pytest.mark.parametrize("step", WORKING)
def test_every_reason_may_lead_to_the_review_and_is_told_there(step: str) -> None:
    rows = ", ".join(f"{reason}: review" for reason in REASONS)
    rules = f"steps: {{{step}: {{on_fail: {{default: {step}, {rows}}}}}}}"
    assert findings(rules) == []
    assert f"{ruled(rules).protocol.graphs['story'].steps[step].title} came back: " in told(rules, "review")


def test_a_new_step_is_told_what_was_done_before_and_tells_who_follows() -> None:
    rules = (
        "steps:\n  bdd: {next_on_pass: threats}\n"
        "  threats:\n    title: Threat model\n    next_on_pass: sdd-delta\n"
        "    on_fail: {default: bdd, scope_warning: review}\n"
        "    claude_writes: ['docs/threats/{story}.md']\n    gates: {pass: no_secrets}\n"
    )
    assert findings(rules) == []
    assert "the pass_bdd.summary" in told(rules, "threats")
    assert "Threat model, in one sentence:\n" in told(rules, "sdd-delta")
    assert "Threat model stopped (" in told(rules, "bdd")
    assert "Threat model came back: " in told(rules, "review")
