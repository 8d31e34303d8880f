"""The message of a review: made from what there is to look at, and from what follows, wherever a project puts it."""

from typing import Any

import pytest

from tests.prompts.stage import TOOLCHAIN
from tests.protocols.test_waterfall_rules import findings, ruled
from treadle.git.ref_names import RefNames, short_ref
from treadle.kernel.commands import RunAgent
from treadle.kernel.reduce import outstanding
from treadle.prompts.agent_prompt import prompt
from treadle.prompts.foreign import MARK, PERSON
from treadle.prompts.question import question
from treadle.prompts.variables import variables
from treadle.protocol.items import Json
from treadle.testing.scenario import Scenario, items

BRANCH = short_ref(RefNames("run").integration("root/US-1"))
DESIGN = f"- [ ] the design fits the constitution: `git show {BRANCH}:docs/deltas/US-1.md`"
CONTRACT = "- [ ] the contract is right"
FIRST = """\
steps:
  bdd: {next_on_pass: review}
  review: {next_on_pass: sdd-delta}
  contract: {next_on_pass: scaffold}
"""
WITHOUT_CONTRACT = "steps: {contract: null, sdd-delta: {next_on_pass: review}}"


class Said:
    """What everybody has said, by reference."""

    def __init__(self) -> None:
        self.values: dict[str, Json] = {"ref:US-1": {"id": "US-1", "title": "Coupons"}}

    def put(self, value: Json) -> str:
        raise AssertionError(value)

    def get(self, ref: str) -> Json:
        return self.values.get(ref, {})


class Reviewed:
    """A story on its way to a review."""

    def __init__(self, rules: str = "steps: {}", complexity: str = "S", asked: tuple[Json, ...] = ()) -> None:
        assert findings(rules) == []
        self.run, self.said = Scenario(ruled(rules).protocol, {"stories": items("US-1")}), Said()
        scenarios: Json = {
            "scenarios": ["A coupon"],
            "complexity": complexity,
            "parallel_tasks": 0,
            "clarifications": list[Json](asked),
        }
        self.says("pass_bdd", "bdd", scenarios, complexity=complexity, parallel_tasks=0)

    def says(self, exit_: str, at: str, said: Json, **fields: Any) -> "Reviewed":
        self.said.values[f"ref:{self.run.activity(at)}.{exit_}"] = said
        self.run.says(exit_, at, **fields)
        return self

    def designed(self, words: str = "One function.") -> "Reviewed":
        return self.says("pass", "sdd-delta", {"summary": words})

    def prompt(self, step: str) -> str:
        run = self.run
        (command,) = [it for it in outstanding(run.state) if isinstance(it, RunAgent) and it.step == step]
        known = variables(run.protocol, run.state, command, self.said, TOOLCHAIN)
        return prompt(run.protocol, run.protocol.graphs["story"].steps[step], known)

    def text(self) -> str:
        run = self.run
        return question(run.protocol, run.state, run.ask("review"), self.said, TOOLCHAIN).text


def test_a_review_names_the_specified_documents_and_the_next_step() -> None:
    text = Reviewed().designed().says("pass", "contract", {"summary": "One path."}).text()
    asked = text.splitlines()[0]
    assert asked.startswith("**US-1: Coupons** ")
    assert [it for it in ("(S, 1 scenario, 0 parallel tasks)", "Next: Test scaffold.") if it not in asked] == []
    assert DESIGN in text
    assert CONTRACT in text
    assert "- A coupon\n\nSDD delta: One function.\n\nAPI contract: One path.\n" in text


def test_a_review_before_the_design_asks_for_the_scenarios_only() -> None:
    text = Reviewed(FIRST).text()
    assert "Next: SDD delta." in text
    [shown] = [line for line in text.splitlines() if "git show" in line]
    assert shown.startswith("- [ ] ")
    assert shown.endswith(f": `git show {BRANCH}:docs/bdd/US-1.md`")
    assert "docs/deltas" not in text
    assert "contract" not in text


def test_a_review_before_the_work_names_the_possible_next_steps() -> None:
    rules = (
        "steps: {contract: {next_on_pass: scaffold}, scaffold: {next_on_pass: review}, review: {next_on_pass: impl}}"
    )
    run = Reviewed(rules).designed().says("pass", "contract", {}).says("pass_red", "scaffold", {"summary": "Red."})
    assert "Next: Team breakdown or Implementation." in run.text()


def test_a_contract_that_is_left_out_or_skipped_is_not_looked_at() -> None:
    text = Reviewed(WITHOUT_CONTRACT).designed().text()
    assert DESIGN in text
    assert CONTRACT not in text
    skipped = Reviewed().designed()
    skipped.run.says("needs_human", "contract").answers("skip")
    assert CONTRACT not in skipped.text()


@pytest.mark.parametrize("anew", [False, True])
def test_a_second_review_has_the_design_too_as_it_is_now(anew: bool) -> None:
    run = Reviewed().designed("The first design.").says("pass", "contract", {"summary": "One path."})
    if anew:
        run.run.answers("constitution_violation")
        run.designed("The second design.").says("pass", "contract", {"summary": "Two paths."})
    run.run.answers("approve")
    run.says("pass_red", "scaffold", {"summary": "Red."})
    text = run.says("failing_measured.scope_warning", "impl", {"reason": "scope_warning", "summary": "Refunds."}).text()
    assert "Implementation came back: scope_warning.\n> Refunds." in text
    assert f"SDD delta: The {'second' if anew else 'first'} design.\n" in text
    assert ("The first design." in text) is not anew
    assert text.count("SDD delta: ") == text.count("API contract: ") == 1
    assert DESIGN in text
    assert CONTRACT in text


def test_a_design_that_is_archived_is_looked_at_in_the_archive() -> None:
    run = Reviewed().designed().says("pass", "contract", {})
    run.run.answers("approve").says("pass_red", "scaffold").says("pass_green", "impl").says("pass_verified", "verify")
    archived = "docs/deltas/archive/2026-01-01-US-1.md"
    run.says("Archived", "archive", {"archive": archived}).run.says("pass", "update-memory")
    run.run.says("MergeRejected.BuildFailure", "merge").says("RebaseClean", "rebase").checked("resuite", ["green"])
    run.says("failing_measured.needs_clarification", "impl", {"reason": "needs_clarification", "summary": "Which?"})
    assert f"`git show {BRANCH}:{archived}`" in run.text()
    assert "docs/deltas/US-1.md" not in run.text()


def test_a_persons_review_note_is_an_instruction_and_an_agents_suggestion_is_not() -> None:
    asked: Json = {"question": "How long?", "suggestion": "20 seconds"}
    run = Reviewed(FIRST, asked=(asked,))
    run.said.values |= {"ref:note": "30 seconds", "ref:more": "But not on Sundays."}
    run.run.answers("approve", note="ref:note")
    run.designed().says("pass", "contract", {"summary": "One path."})
    first = run.prompt("scaffold")
    assert "from a person" not in first, "the design was the next to be told"
    assert f"at a review:\n````{PERSON}\n30 seconds\n````\n" in first
    assert f"````{MARK}\nHow long? Suggested: 20 seconds\n````" in first
    assert f"````{MARK}\nOne path.\n````" in first
    run.says("pass_red", "scaffold", {}).says("failing_measured.scope_warning", "impl", {"reason": "scope_warning"})
    run.run.answers("reject")
    run.says("pass_bdd", "bdd", {"clarifications": [asked]}, complexity="S", parallel_tasks=0)
    run.run.answers("approve", note="ref:more")
    again = run.designed().says("pass", "contract", {}).prompt("scaffold")
    assert again.index(f"````{PERSON}\n30 seconds") < again.index(f"````{PERSON}\nBut not on Sundays.")


def test_a_review_without_a_note_adds_no_instruction() -> None:
    run = (
        Reviewed(asked=({"question": "How long?", "suggestion": "20 seconds"},)).designed().says("pass", "contract", {})
    )
    run.run.answers("approve")
    assert "at a review:" not in run.prompt("scaffold")


def worked_on(complexity: str = "S") -> Reviewed:
    """A story that an executor or a team works on."""
    run = Reviewed(complexity=complexity).designed().says("pass", "contract", {})
    run.run.answers("approve")
    return run.says("pass_red", "scaffold", {"summary": "Red."})


@pytest.mark.parametrize(
    ("answer", "step"), [("approve", "scaffold"), ("reject", "bdd"), ("constitution_violation", "sdd-delta")]
)
def test_the_reason_for_a_review_reaches_the_next_step(answer: str, step: str) -> None:
    said: Json = {"reason": "scope_warning", "summary": "It needs refunds.", "handoff": "Look at pay.py first."}
    run = worked_on().says("failing_measured.scope_warning", "impl", said)
    assert "> It needs refunds." in run.text()
    run.run.answers(answer)
    told = run.prompt(step)
    assert f"Implementation stopped (scope_warning):\n````{MARK}\nIt needs refunds.\n" in told
    assert f"````{MARK}\nLook at pay.py first.\n````" in told


def test_a_leads_reason_for_a_review_reaches_the_next_step_too() -> None:
    run = worked_on("L").says("Breakdown", "breakdown", {}, backend=items("core"), more=False)
    run.run.says("blocker", next(act for act in run.run.state.acts if "/core:work" in act))
    said: Json = {"reason": "needs_clarification", "summary": "Which currency?"}
    run.says("failing.needs_clarification", "coordinate", said).run.answers("reject")
    assert f"Team coordination stopped (needs_clarification):\n````{MARK}\nWhich currency?\n" in run.prompt("bdd")


def test_a_repaired_failure_is_not_shown_again() -> None:
    run = worked_on().says("failing_measured.none", "impl", {"reason": "none", "summary": "An odd error."})
    assert "An odd error." in run.prompt("impl")
    for _ in range(4):
        run.says("pass_green", "impl", {}).says(
            "failing_measured.none", "verify", {"reason": "none", "summary": "A gap."}
        )
    run.run.answers("review")
    assert "An odd error." not in run.text()
    run.run.answers("reject")
    assert "An odd error." not in run.prompt("bdd")
