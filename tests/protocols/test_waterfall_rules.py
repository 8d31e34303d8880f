"""A project's own step rules: any row may lead anywhere, and whoever it leads to is told why."""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.prompts.stage import TOOLCHAIN, scene
from tests.simulate.test_run import simulated
from treadle.errors import ProtocolError
from treadle.kernel.commands import AskHuman
from treadle.prompts.agent_prompt import prompt
from treadle.prompts.question import question
from treadle.prompts.variables import variables
from treadle.protocol.check import check
from treadle.protocol.findings import Finding
from treadle.protocol.load import load_source
from treadle.protocol.reading.assembly import Loaded
from treadle.protocol.rules.table import REASONS
from treadle.testing.scenario import Scenario, items

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
    """What is wrong with a table, as a project reads it; every line is one of its own file."""
    try:
        found = ruled(rules)
        told = found.relocate(check(found.protocol, found.place_of))
    except ProtocolError as error:
        told = [finding for finding in error.findings if isinstance(finding, Finding)]
    assert {Path(finding.place.file).name for finding in told} <= {"step-rules.yaml"}
    assert "waterfall" not in "".join(finding.place.file for finding in told)
    return [str(finding).rpartition("step-rules.yaml:")[2] for finding in told]


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
def test_a_failure_may_lead_to_any_step_with_its_inputs_and_is_shown_there(step: str) -> None:
    for target in (other for other in ROWS if other != step and not ahead(step, other)):
        rules = f"steps: {{{step}: {{on_fail: {{default: {target}}}}}}}"
        assert findings(rules) == [], target
        source = ruled(rules).protocol.graphs["story"].steps[step]
        verb = "came back: " if target == "review" else "stopped ("
        shown = told(rules, target).partition(f"{source.title} {verb}")[2].partition(f"the {source.exits[1]}.summary")
        assert shown[1], target
        assert shown[0].count("\n") <= 2, target


@pytest.mark.parametrize("step", WORKING)
def test_every_reason_may_lead_to_the_review_and_is_shown_there(step: str) -> None:
    rows = ", ".join(f"{reason}: review" for reason in REASONS)
    rules = f"steps: {{{step}: {{on_fail: {{default: {step}, {rows}}}}}}}"
    assert findings(rules) == []
    assert f"{ruled(rules).protocol.graphs['story'].steps[step].title} came back: " in told(rules, "review")


def test_a_new_step_reads_the_step_before_and_is_read_by_its_followers() -> None:
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


# a person who lets an executor begin


def confirming(*rows: str) -> Scenario:
    rules = "steps:\n" + "".join(f"  {row}: {{requires_human: true}}\n" for row in rows)
    assert findings(rules) == []
    return Scenario(ruled(rules).protocol, {"stories": items("US-1")})


def at(run: Scenario) -> str:
    return run.where(next(id_ for id_, inst in run.state.insts.items() if inst.graph == "story"))


def test_a_step_that_requires_a_person_is_confirmed_before_it_begins() -> None:
    run = confirming("bdd", "contract", "impl")
    assert at(run) == "confirm-bdd"
    run.answers("approve").says("pass_bdd", complexity="S", parallel_tasks=0).says("pass")
    assert at(run) == "confirm-contract"
    run.answers("approve").says("pass")
    assert at(run.answers("approve").says("pass_red")) == "confirm-impl"
    assert at(run.answers("approve")) == "impl"
    assert at(run.says("failing_measured.none")) == "impl"  # a further attempt is the same work
    assert at(run.says("pass_green").says("failing_measured.none")) == "confirm-impl"


def test_a_refused_confirmation_leads_where_its_reason_says() -> None:
    run = confirming("impl").says("pass_bdd", complexity="S", parallel_tasks=0).says("pass").says("pass")
    run.answers("approve").says("pass_red")
    assert at(run.answers("constitution_violation")) == "sdd-delta"


def test_a_team_is_confirmed_like_one_executor() -> None:
    run = confirming("impl").says("pass_bdd", complexity="L", parallel_tasks=0).says("pass").says("pass")
    assert at(run.answers("approve").says("pass_red")) == "confirm-breakdown"
    assert at(run.answers("approve")) == "breakdown"


def test_a_step_right_after_a_review_needs_no_second_confirmation() -> None:
    run = confirming("scaffold").says("pass_bdd", complexity="S", parallel_tasks=0).says("pass").says("pass")
    assert at(run.answers("approve")) == "scaffold"


def test_a_confirmation_question_shows_its_reason() -> None:
    there = scene(ruled("steps: {sdd-delta: {requires_human: true}}").protocol, "story", "confirm-sdd-delta")
    assert isinstance(there.command, AskHuman)
    there.state.insts["root/n1"].last = {"impl": "failing_measured.constitution_violation"}
    asked = question(there.protocol, there.state, there.command, there.payloads, TOOLCHAIN)
    assert "(SDD delta: may it begin?)" in asked.text
    assert "impl says:\n> reason: " in asked.text
    assert asked.choices[0].help == "let it begin"


def test_a_story_with_a_confirmation_before_every_step_ends() -> None:
    rules = "steps:\n" + "".join(f"  {row}: {{requires_human: true}}\n" for row in ("bdd", *WORKING))
    assert findings(rules) == []
    summary = simulated(ruled(rules).protocol, runs=10, faults=0.2, seed=0)
    assert summary.findings == ()
    assert "Done" in summary.outcomes


# rows that are left out, and steps beyond the table


@pytest.mark.parametrize(
    "rules",
    [
        "steps: {contract: null, sdd-delta: {next_on_pass: review}}",
        "steps: {update-memory: null, verify: {next_on_pass: done}}",
        "steps: {contract: {next_on_pass: scaffold}}",
        "dispatch_mode: {S: single, M: single, L: single}",
        (
            "steps: {sdd-delta: null, bdd: {next_on_pass: contract}, impl: {on_fail: {constitution_violation: bdd}},"
            " review: {on_fail: {constitution_violation: bdd, scope_warning: bdd}}}"
        ),
        (
            "steps: {update-memory: {next_on_pass: release}, release: {requires_human: true, next_on_pass: done,"
            " on_fail: {default: impl}}}"
        ),
    ],
)
def test_rows_can_be_left_out_and_added(rules: str) -> None:
    assert findings(rules) == []


def test_a_team_goes_where_one_executor_would() -> None:
    rules = (
        "steps: {impl: {next_on_pass: look, on_fail: {scope_warning: bdd, test_timeout: scaffold}},"
        " look: {requires_human: true, next_on_pass: verify, on_fail: {default: impl}}}"
    )
    assert findings(rules) == []
    steps = ruled(rules).protocol.graphs["story"].steps
    assert steps["suite"].routes["Passed"][0].to == "look"
    leads = {key: (rows[0].to, rows[0].charge) for key, rows in steps["breakdown"].routes.items()}
    assert leads["failing.scope_warning"] == ("bdd", "replans")
    assert leads["failing.test_timeout"] == ("scaffold", "replans")
    assert leads["failing.needs_clarification"] == ("review", "")
    assert "Team breakdown stopped (" in told(rules, "scaffold")


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        (
            "steps:\n  review:\n    requires_human: false\n",
            "3: steps.review: nobody works at 'review', so without a person nothing would be decided there (remove it;",
        ),
        (
            "steps:\n  sdd-delta:\n    next_on_pass: review\n",
            "3: steps.contract: nothing leads to 'contract' (write `contract: null` to leave it out",
        ),
        ("steps:\n  bdd: null\n", "2: steps.bdd: 'bdd' cannot be left out: 'review' cannot do without it"),
        ("steps:\n  review: null\n", "2: steps.review: 'review' cannot be left out: the protocol's own step"),
        (
            "steps:\n  bdd: {next_on_pass: contract}\n  sdd-delta: null\n",
            "3: steps.sdd-delta: 'review' still leads to what is left out (say where instead, as `review: {on_fail: {",
        ),
        ("steps:\n  reveiw: null\n", "2: steps.reveiw: there is no row 'reveiw' to leave out (did you mean 'review'?)"),
        (
            "steps:\n  bdd:\n    next_on_fail: sdd-delta\n",
            "2: story.review: reads 'bdd.pass_bdd', which is not set on every path here",
        ),
        (
            "steps:\n  impl:\n    team_roles:\n      frontend: null\n",
            "4: steps.impl: the role 'frontend' cannot be left out: the lead may need it (write `claude_writes: []`",
        ),
        (
            "steps:\n  impl:\n    team_roles:\n      dba: {claude_writes: ['*.sql']}\n",
            "4: steps.impl: the team has no role 'dba' (its roles: backend, frontend, test, verify",
        ),
        (
            "steps:\n  impl:\n    team_roles: null\n",
            "3: steps.impl: the roles of the team cannot be left out (write `dispatch_mode: {S: single,",
        ),
        (
            "impl:\n  on_fail: {default: impl}\n",
            "1: 'impl' is a row of the table (write it below `steps:`, as `steps: {impl: …}`)",
        ),
        (
            "steps:\n  impl:\n    claude_reads: ['{story}/../x']\n",
            "3: steps.impl: '{story}/../x' in 'claude_reads' leaves its directory with ..",
        ),
        ("steps: [impl]\n", "1: steps: 'steps' must be a mapping of rows"),
        ("steps: null\n", "1: steps: 'steps' must be a mapping of rows"),
        ("steps:\n  impl: [a]\n", "2: steps.impl: the row 'impl' must be a mapping"),
        ("steps:\n  impl:\n    claude_reads: ['~/x']\n", "3: steps.impl: '~/x' in 'claude_reads' starts with ~"),
    ],
)
def test_a_mistake_in_the_table_is_reported_at_its_own_line(rules: str, said: str) -> None:
    assert findings(rules)[0].startswith(said)
