"""σ₄ at many moments of runs."""

import pytest

from tests.views.bank.banked import Banked, designed, dptr_at_red, executed, planned
from treadle.kernel.events import TimerFired
from treadle.protocol.items import Json
from treadle.testing.scenario import Scenario, items

WHOLE = """\
# σ₄ Context of run

## R1 State

- Ω_session: run
- Ω_current: Ω₅ᵀ
- outcome: null
- session_id: PLAN_run_root
- round: 0
- tdd_mode: true
- tdd_phase: ℜᴳ
- current_cycle: TDD1
- tdd_session_id: TDD_run_root+TDD1
- qa_agent_active: false
- de_agent_active: true
- refactor_stage: null
- last_test_result: fail
- design_approved: true
- design_feedback: null
- design_rejected: null
- arch_critique: [↗️σ₄:R3]
- plan_approved: true

## R2 Handoff

- to: Ω₅ᵀ
- from: Ω₅ᵀ root/TDD1:red#1.1 RC
- at: 1970-01-01 00:00:14 UTC
- summary:

> Two tests.
> # They fail.

## R3 Design

| design | ∇ | when |
| --- | --- | --- |
| architecture | ACCEPT | 1970-01-01 00:00:06 UTC |
| labels | ACCEPT | 1970-01-01 00:00:08 UTC |

### architecture: ACCEPT

> Fine.

## R4 Plan

| session | R | code | message |
| --- | --- | --- | --- |
| PLAN_run_root | 0 | →PA | I would. |

## R5 Agents

| agent | activity | P | R | attempt | doing |
| --- | --- | --- | --- | --- | --- |
| DE | root/TDD1:green#1.1 | ℜᴳ | 0 | 1 | running |

## R6 Snapshot

none
"""


def test_the_whole_document() -> None:
    assert executed().says("RC", {"message": "Two tests.\n# They fail."}).view("context") == WHOLE


def test_a_run_without_any_work_has_an_empty_context() -> None:
    found = Banked(Scenario(executed().run.protocol, {"modules": items("labels")}))
    state = found.state()
    assert (state["Ω_current"], state["session_id"], state["round"]) == ("Ω₁ᴾ", "null", "null")
    assert (state["tdd_mode"], state["tdd_phase"], state["current_cycle"]) == ("false", "null", "null")
    assert (state["design_approved"], state["plan_approved"]) == ("false", "false")
    assert [found.section("context", number) for number in range(2, 7)] == ["none"] * 5


def modes(found: Banked) -> str:
    return found.state()["Ω_current"]


def test_the_modes_follow_each_other() -> None:
    found = designed()
    assert modes(found) == "Ω₂ᴬ"
    found.says("ACCEPT")
    assert modes(found) == "Ω₂ᴬ", "Λ₂ is the same mode"
    found.says("ACCEPT")
    assert modes(found) == "Ω₃ᴾ"
    found.says("PC")
    assert modes(found) == "Ω₄ᶜ"
    found.says("EN", {"reason": "We disagree."})
    assert modes(found) == "Ω₄ᶜ", "a person is asked about what the critic said"
    assert "root:escalate#1.1" in found.section("context", 5)


def test_designs_are_approved_when_every_module_is() -> None:
    found = designed()
    assert found.state()["design_approved"] == "false"
    found.says("ACCEPT")
    assert found.state()["design_approved"] == "false", "the modules are not audited yet"
    assert found.says("ACCEPT").state()["design_approved"] == "true"


def test_a_revision_is_fed_back_until_there_is_a_new_design() -> None:
    wanted: Json = {"where": "labels", "issue": "has no errors", "requiredFix": "name them"}
    found = designed().says("REVISE", {"message": "Nearly.", "critiques": [wanted]})
    state = found.state()
    assert (state["design_feedback"], state["design_rejected"], state["design_approved"]) == (
        "[↗️σ₄:R3]",
        "null",
        "false",
    )
    assert found.section("context", 3).endswith(
        "### architecture: REVISE\n\n> Nearly.\n> - labels: has no errors (name them)"
    )
    found.run.signals("go", step="O1P")
    found.says("Designed", modules=items())
    assert found.state()["design_feedback"] == "null"
    assert found.state()["arch_critique"] == "null", "nobody has attacked the new design"
    assert found.section("context", 3) == "none"


def test_a_module_that_needs_a_revision() -> None:
    found = designed().says("ACCEPT").says("REVISE", {"critiques": [{"issue": "is vague"}]}, at="audit")
    assert "### labels: REVISE\n\n> - is vague" in found.section("context", 3)
    assert found.state()["design_feedback"] == "[↗️σ₄:R3]"


def test_a_rejected_design_halts() -> None:
    found = designed().says("REJECT", {"reason": "It cannot work."})
    state = found.state()
    assert (state["Ω_current"], state["outcome"], state["design_rejected"]) == ("Ω₂ᴬ", "Halted", "[↗️σ₄:R3]")
    assert "> It cannot work." in found.section("context", 3)
    assert found.section("context", 2).startswith("- to: Halted\n- from: Ω₂ᴬ root:O2A#1.1 REJECT")


def test_rounds_of_a_plan() -> None:
    found = planned().says("PC").says("NR", {"message": "Too large.", "critiques": []})
    assert (found.state()["round"], found.state()["plan_approved"]) == ("1", "false")
    assert "| PLAN_run_root | 1 | →NR | Too large. |" in found.section("context", 4)
    found.says("PR").says("PA", cycles=items("TDD1"))
    assert found.state()["plan_approved"] == "true"


STAGES = [
    ("RC", "green", "null", "ℜᴳ"),
    ("GC", "test", "test", "ℜᶠᵗ"),
    ("RTC", "impl", "impl", "ℜᶠⁱ"),
    ("RIC", "qa_cross_review", "qa_cross_review", "ℜᶠ"),
    ("RFC", "de_cross_review", "de_cross_review", "ℜᶠ"),
    ("RFC", "interface_check", "interface_check", "ℜᶠ"),
]


def test_each_stage_of_a_refactoring_is_shown() -> None:
    found = executed()
    seen = []
    for exit_, _, stage, phase in STAGES:
        found.run.claims(exit_)
        seen.append(found.state()["refactor_stage"])
        if found.run.state.acts[found.run.activity()].phase == "verifying":
            found.run.checked()
        state = found.state()
        assert (state["refactor_stage"], state["tdd_phase"]) == (stage, phase)
        seen.append(stage)
    found.run.checked()
    assert found.state()["refactor_stage"] == "integration_test"
    assert [*dict.fromkeys(seen)] == [
        "null",
        "test",
        "qa_validation",
        "impl",
        "de_validation",
        "qa_cross_review",
        "de_cross_review",
        "interface_check",
    ]


def test_the_active_agent_is_shown() -> None:
    def active(found: Banked) -> tuple[str, str]:
        return found.state()["qa_agent_active"], found.state()["de_agent_active"]

    found = executed()
    assert active(found) == ("true", "false")
    found.run.claims("RC")
    assert active(found) == ("false", "false"), "what QA claims is verified"
    found.run.checked()
    assert active(found) == ("false", "true")


def test_the_last_test_result_is_shown() -> None:
    def last(found: Banked) -> str:
        return found.state()["last_test_result"]

    assert last(executed()) == "null"
    assert last(executed().says("RC")) == "fail", "as they should"
    assert last(executed().says("RC").says("GC")) == "pass"
    assert last(executed().says("RC").says("GC", fails=["green"])) == "fail"
    passing = executed()
    passing.said["report:red"] = {"exit": 0}
    assert last(passing.says("RC", fails=["red"])) == "pass", "nothing was red"
    broken = executed()
    broken.said["report:red"] = {"exit": 2}
    assert last(broken.says("RC", fails=["red"])) == "fail"
    skipped = executed()
    skipped.said["report:red"] = {"skipped": True}
    assert last(skipped.says("RC", fails=["commit", "red"])) == "null"


def test_an_agent_that_fails_leaves_a_snapshot_and_a_handoff() -> None:
    found = executed().says("RC")
    found.said["ref:crash"] = "the session ended with signal 9"
    for _ in range(3):
        found.run.fails("crash")
    state = found.state()
    assert (state["Ω_current"], state["tdd_mode"], state["de_agent_active"]) == ("Ω₆ⱽ", "false", "false")
    assert (state["tdd_phase"], state["current_cycle"], state["refactor_stage"]) == ("null", "null", "null")
    assert found.section("context", 2).endswith("> crashed: the session ended with signal 9")
    assert found.section("context", 6) == (
        "- AGENT_FAILURE: crashed: the session ended with signal 9\n"
        "- activity: root/TDD1:green#1.1\n"
        "- at: 1970-01-01 00:00:17 UTC\n\n"
        "| instance | step | attempt | vars | left |\n| --- | --- | --- | --- | --- |\n"
        "| root | O5T |  | round=0 | O1P Designed, O2A ACCEPT, O2A_modules AllOk, O2A_found AllOk, O3P PC, O4C PA |\n"
        "| root/TDD1 | green | 1 | round=0 | red RC |"
    )


def test_a_timeout_is_a_failure_and_a_restarted_crash_is_not() -> None:
    found = executed()
    found.run.happens(TimerFired(id="t", ts=99_000, timer=found.run.activity()))
    assert found.section("context", 6).startswith("- AGENT_FAILURE: timed out\n- activity: root/TDD1:red#1.1")
    again = executed()
    again.run.fails("crash")
    assert again.section("context", 6) == "none", "it is tried again"


def test_a_refused_claim_is_handed_on_with_its_findings() -> None:
    found = executed()
    found.said["report:red"] = "- tests/test_a.py: passes already"
    found.says("RC", fails=["red"])
    assert found.section("context", 2).endswith("> refused\n> red: tests/test_a.py: passes already")


def test_cycles_at_once() -> None:
    found = dptr_at_red()
    state = found.state()
    assert (state["Ω_current"], state["current_cycle"], state["tdd_phase"]) == ("Ω₃", "TDD1; TDD2", "ℜ")
    assert state["tdd_session_id"].count("; ") == 1
    found.says("RC", at="root/labels/Batch1/TDD1:red")
    assert found.state()["qa_agent_active"] == "true"
    found.says("RC", at="root/labels/Batch1/TDD2:red")
    assert (found.state()["qa_agent_active"], found.state()["de_agent_active"]) == ("false", "true")
    assert found.section("context", 5).count("Ω₃ᴱ") == 2


@pytest.mark.parametrize(
    ("exits", "stage"),
    [((), "refactor_tests"), (("RTC",), "refactor_impl"), (("RTC", "RIC"), "review_tests")],
)
def test_the_stages_of_dptr(exits: tuple[str, ...], stage: str) -> None:
    found = dptr_at_red()
    for exit_ in ("RC", "GC", *exits):
        for cycle in ("TDD1", "TDD2"):
            step = found.run.where(f"root/labels/Batch1/{cycle}")
            found.says(exit_, at=f"root/labels/Batch1/{cycle}:{step}")
    assert found.state()["refactor_stage"] == stage
