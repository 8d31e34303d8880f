"""DPTR as its authors describe it, played through on the kernel."""

import msgspec
import pytest

from treadle.protocol.answers.inputs import load_input
from treadle.protocol.check import check
from treadle.protocol.items import Item
from treadle.protocol.load import BUILT_IN, load
from treadle.protocol.model import Protocol
from treadle.testing.scenario import Scenario, items

DPTR = load("dptr")
CODES = "ACCEPT REVISE REJECT PC PR DG NR PA EN DA RC TA RTC GC TI RIC P0C APPROVED NEEDS_CHANGE BL"


def part(graph: str) -> Protocol:
    """The same protocol, started in the middle."""
    return msgspec.structs.replace(DPTR, root=graph)


def batch(*cycles: str, parallel: int = 2) -> Scenario:
    return Scenario(part("batch"), {"cycles": items(*cycles), "parallel": parallel})


def to_refactor(run: Scenario, *cycles: str) -> Scenario:
    for code, step in (("RC", "red"), ("GC", "green")):
        for cycle in cycles:
            run.says(code, at=f"root/{cycle}:{step}")
    return run


def to_review(run: Scenario, *cycles: str) -> Scenario:
    for code, step in (("RTC", "refactor_tests"), ("RIC", "refactor_impl")):
        for cycle in cycles:
            run.says(code, at=f"root/{cycle}:{step}")
    return run


def test_dptr_passes_every_check() -> None:
    assert check(DPTR) == []


def test_the_example_of_dptr_is_an_input() -> None:
    file = BUILT_IN / "dptr" / "example.yaml"
    given = load_input(DPTR, file.read_text(encoding="utf-8"), str(file))
    assert [item.key for item in given.item.fields["modules"]] == ["amounts", "statements"]  # type: ignore[union-attr]


@pytest.mark.parametrize("code", CODES.split())
def test_every_status_code_is_an_exit_with_its_symbol_and_a_message(code: str) -> None:
    assert DPTR.exits[code].symbol == f"→{code}"
    assert "message" in DPTR.exits[code].fields


@pytest.mark.parametrize("symbol", ["σ₁", "σ₂", "σ₃", "σ₄", "σ₅"])
def test_the_memory_bank_has_a_file_for_every_symbol(symbol: str) -> None:
    assert [name for name, artifact in DPTR.artifacts.items() if artifact.symbol == symbol]


def test_design_starts_when_a_person_says_so_and_modules_follow_the_brief_then_the_architecture() -> None:
    run = Scenario(DPTR, {"modules": items("given")})
    assert run.running() == []
    run.signals("go", step="architecture").says("Architecture", modules=items("found"))
    run.signals("go", step="audit").says("REVISE")
    assert (run.where(), run.running()) == ("architecture", [])
    run.signals("go", step="architecture").says("Architecture", modules=items("found"))
    run.signals("go", step="audit").says("ACCEPT")
    assert run.where("root/given") == "design"
    assert "root/found" not in run.state.insts


def test_a_rejected_architecture_is_a_persons_decision() -> None:
    run = Scenario(DPTR, {"modules": ()})
    run.signals("go", step="architecture").says("Architecture", modules=()).signals("go", step="audit").says("REJECT")
    assert run.asked() == ["root:rejected"]


def test_a_module_is_redesigned_until_the_critic_accepts() -> None:
    run = Scenario(part("design")).signals("go", step="design").says("Designed").signals("go", step="critic")
    assert run.says("REVISE").running() == []
    run.signals("go", step="design")
    assert "critic.REVISE" in run.job("design").inputs
    run.says("Designed").signals("go", step="critic").says("ACCEPT")
    assert run.state.outcome == "Accepted"


def test_planner_and_critic_argue_until_the_plan_is_accepted() -> None:
    run = Scenario(part("plan"))
    run.says("PC").says("NR").says("DG").says("DA").says("PR")
    assert (run.where(), run.inst().vars["round"]) == ("critic", 2)
    run.says("PA", batches=items("b"))
    assert run.state.outcome == "Planned"


def test_a_critics_repeated_question_goes_to_a_person() -> None:
    run = Scenario(part("plan")).says("PC")
    for _ in range(2):
        run.says("DA", questions="a").says("PR")
    run.says("DA", questions="b").says("PR")
    assert run.inst().spent == {"rounds": 3}
    assert run.says("DA", questions="a").where() == "escalate"


def test_after_six_more_rounds_a_plan_is_escalated() -> None:
    run = Scenario(part("plan")).says("PC")
    for _ in range(6):
        run.says("NR").says("PR")
    run.says("NR")
    assert run.asked() == ["root:escalate"]
    run.answers("reconsider").says("PA", batches=())
    assert run.state.outcome == "Planned"


def test_an_unsound_plan_never_reaches_the_critic() -> None:
    run = Scenario(part("plan")).says("PC", fails=["plan_sound"])
    assert run.where() == "spec"


def test_a_module_runs_the_batches_of_the_accepted_plan_after_its_skeleton() -> None:
    run = Scenario(part("module"))
    run.signals("go", to="root/design", step="design").says("Designed")
    run.signals("go", to="root/design", step="critic").says("ACCEPT")
    assert run.running() == ["root:take_design"]
    run.says("Folded")
    run.says("PC").says("PA", batches=(Item("b1", "ref:b1", {"parallel": 1, "cycles": items("c1")}),))
    assert run.running() == ["root:take_plan"]
    run.says("Folded")
    assert run.running() == ["root:phase0"]
    run.says("P0C")
    assert run.running() == ["root/b1/c1:red"]


def test_a_design_that_does_not_fit_the_branch_is_a_persons_decision() -> None:
    run = Scenario(part("module"))
    run.signals("go", to="root/design", step="design").says("Designed")
    run.signals("go", to="root/design", step="critic").says("ACCEPT").says("FoldConflict")
    assert run.asked() == ["root:failed@take_design"]
    assert run.answers("retry").running() == ["root:take_design"]


def test_green_waits_for_every_red() -> None:
    run = batch("c1", "c2").says("RC", at="root/c1:red")
    assert run.running() == ["root/c2:red"]
    run.says("RC", at="root/c2:red")
    assert run.running() == ["root/c1:green", "root/c2:green"]


def test_cycles_beyond_the_window_follow() -> None:
    run = batch("c1", "c2", "c3", parallel=2)
    assert run.running() == ["root/c1:red", "root/c2:red"]
    to_review(to_refactor(run, "c1", "c2"), "c1", "c2")
    for step in ("review_tests", "review_impl"):
        for cycle in ("c1", "c2"):
            run.says("APPROVED", at=f"root/{cycle}:{step}")
    run.says("MergeComplete", at="root/c1:fold").says("MergeComplete", at="root/c2:fold")
    assert run.running() == ["root/c3:red"]


def test_a_test_issue_is_settled_inside_the_barrier() -> None:
    run = batch("c1", "c2").says("RC", at="root/c1:red").says("RC", at="root/c2:red")
    run.says("GC", at="root/c1:green").says("TI", at="root/c2:green")
    assert run.running() == ["root/c2:adjust"]
    run.says("TA").says("GC")
    assert run.running() == ["root/c1:refactor_tests", "root/c2:refactor_tests"]


def test_three_test_issues_then_a_person() -> None:
    run = batch("c1").says("RC")
    for _ in range(3):
        run.says("TI").says("TA")
    assert run.says("TI").asked() == ["root/c1:disputed"]


@pytest.mark.parametrize(("step", "code"), [("tests", "RTC"), ("impl", "RIC")])
def test_a_regression_is_rolled_back_redone_twice_and_then_a_persons_decision(step: str, code: str) -> None:
    run = to_refactor(batch("c1"), "c1")
    if step == "impl":
        run.says("RTC")
    for _ in range(2):
        run.says(code, fails=["green"])
        assert run.running() == [f"root/c1:rollback_{step}"]
        run.says("RolledBack")
        assert run.job().inputs["gate_report"]
    run.says(code, fails=["green"]).says("RolledBack")
    assert run.asked() == [f"root/c1:quality_{step}"]
    run.answers("accept")
    assert run.where("root/c1") == ("refactor_impl" if step == "tests" else "review_tests")


def test_an_agreed_interface_change_goes_to_a_person_at_once() -> None:
    run = to_review(to_refactor(batch("c1"), "c1"), "c1")
    run.says("NEEDS_CHANGE", interfaceProposal="def f(x)").says("NEEDS_CHANGE", interfaceProposal=None)
    assert run.where("root/c1") == "refactor_tests", "who wants to change it alone convinces the other first"
    to_review(run, "c1").says("NEEDS_CHANGE", interfaceProposal=None)
    assert run.says("NEEDS_CHANGE", interfaceProposal="def f(x)").where("root/c1") == "refactor_tests"
    to_review(run, "c1").says("NEEDS_CHANGE", interfaceProposal="def f(x)")
    assert run.says("NEEDS_CHANGE", interfaceProposal="def f(x)").asked() == ["root/c1:quality"]
    assert run.answers("retry").where("root/c1") == "refactor_tests"


def test_a_failing_test_in_green_keeps_the_developer_at_work() -> None:
    run = batch("c1").says("RC").says("GC", fails=["green_own_and_baseline"])
    assert run.job().attempt == 2
    assert run.where("root/c1") == "green"


@pytest.mark.parametrize(
    ("tests", "impl", "goal"),
    [
        ("APPROVED", "APPROVED", "fold"),
        ("NEEDS_CHANGE", "APPROVED", "refactor_tests"),
        ("APPROVED", "NEEDS_CHANGE", "refactor_tests"),
    ],
)
def test_a_cycle_has_converged_when_both_approve_in_one_round(tests: str, impl: str, goal: str) -> None:
    run = to_review(to_refactor(batch("c1"), "c1"), "c1")
    assert run.says(tests).says(impl).where("root/c1") == goal


def test_an_approval_of_an_earlier_round_does_not_count() -> None:
    run = to_review(to_refactor(batch("c1"), "c1"), "c1").says("APPROVED").says("NEEDS_CHANGE")
    to_review(run, "c1").says("NEEDS_CHANGE").says("APPROVED")
    assert run.where("root/c1") == "refactor_tests"


def test_rounds_count_as_in_the_dispatch_lines() -> None:
    run = to_refactor(batch("c1"), "c1")
    rounds = [run.inst("root/c1").vars["round"]]
    to_review(run, "c1")
    rounds.append(run.inst("root/c1").vars["round"])
    run.says("APPROVED").says("NEEDS_CHANGE")
    rounds.append(run.inst("root/c1").vars["round"])
    assert rounds == [1, 2, 3]


def test_a_converged_cycle_leaves_the_barrier() -> None:
    run = to_review(to_refactor(batch("c1", "c2"), "c1", "c2"), "c1", "c2")
    run.says("APPROVED", at="root/c1:review_tests").says("APPROVED", at="root/c2:review_tests")
    run.says("NEEDS_CHANGE", at="root/c1:review_impl").says("APPROVED", at="root/c2:review_impl")
    assert run.running() == ["root/c2:fold"]
    run.says("MergeComplete")
    assert run.running() == ["root/c1:refactor_tests"]


def test_a_cycle_that_no_longer_fits_joins_the_next_round() -> None:
    run = to_review(to_refactor(batch("c1", "c2"), "c1", "c2"), "c1", "c2")
    for step in ("review_tests", "review_impl"):
        for cycle in ("c1", "c2"):
            run.says("APPROVED" if cycle == "c1" else "NEEDS_CHANGE", at=f"root/{cycle}:{step}")
    run.says("MergeRejected.IntegrationFailure").says("RebaseClean")
    assert run.running() == ["root/c1:adapt"], "its sibling waits for it"
    run.says("RIC")
    assert run.running() == ["root/c1:refactor_tests", "root/c2:refactor_tests"]


@pytest.mark.parametrize(("choice", "step"), [("retry", "refactor_tests"), ("adapt", "adapt")])
def test_a_person_chooses_which_author_mends_a_drifted_cycle_first(choice: str, step: str) -> None:
    run = to_review(to_refactor(batch("c1"), "c1"), "c1").says("APPROVED").says("APPROVED")
    run.says("MergeRejected.IntegrationFailure").says("RebaseDrift").answers(choice)
    assert run.running() == [f"root/c1:{step}"]


def test_a_cycle_that_never_fits_goes_to_a_person_when_the_rounds_are_spent() -> None:
    run = to_review(to_refactor(batch("c1"), "c1"), "c1")
    for _ in range(4):
        run.says("APPROVED").says("APPROVED").says("MergeRejected.IntegrationFailure").says("RebaseClean").says("RIC")
        to_review(run, "c1")
    run.says("APPROVED").says("APPROVED").says("MergeRejected.IntegrationFailure").says("RebaseClean").says("RIC")
    assert run.asked() == ["root/c1:quality"]
    assert run.answers("accept").running() == ["root/c1:fold"]


def test_tests_that_no_longer_fit_go_to_their_author() -> None:
    run = to_review(to_refactor(batch("c1"), "c1"), "c1").says("APPROVED").says("APPROVED")
    run.says("MergeRejected.IntegrationFailure").says("RebaseClean").says("TI")
    assert run.running() == ["root/c1:refactor_tests"]
    assert "adapt.TI" in run.job().inputs


def test_without_agreement_a_person_may_accept_the_cycle() -> None:
    run = to_refactor(batch("c1"), "c1")
    for _ in range(5):
        to_review(run, "c1").says("APPROVED").says("NEEDS_CHANGE")
    assert run.asked() == ["root/c1:quality"]
    assert run.answers("accept").where("root/c1") == "fold"


def test_the_whole_suite_runs_before_a_batch_is_merged() -> None:
    run = to_review(to_refactor(batch("c1"), "c1"), "c1").says("APPROVED").says("APPROVED").says("MergeComplete")
    assert run.running() == ["root:suite"]
    assert run.checked(fails=["green"]).asked() == ["root:broken"]
    run.answers("retry").checked().says("MergeComplete")
    assert run.state.outcome == "Done"


@pytest.mark.parametrize("why", ["blocked", "store"])
def test_a_broken_agent_halts(why: str) -> None:
    run = batch("c1").fails(why)
    assert run.asked() == ["root/c1:halt@red"]
    assert run.answers("retry").running() == ["root/c1:red"]


def test_a_session_that_takes_too_long_halts() -> None:
    run = batch("c1").times_out()
    assert run.asked() == ["root/c1:halt@red"]
    assert run.answers("abort").asked() == ["root:failed"]


def test_a_session_that_is_lost_is_started_again_twice_before_it_halts() -> None:
    run = batch("c1")
    for _ in range(2):
        run.fails("crash")
        assert run.running() == ["root/c1:red"]
    assert run.fails("crash").asked() == ["root/c1:halt@red"]


@pytest.mark.parametrize(
    ("validation", "quality", "goal"),
    [
        ("VC", "QP", "deliver"),
        ("VC", "QF", "deviations"),
        ("DF", "QP", "deviations"),
        ("VC", None, "deviations"),
        (None, "QP", "deviations"),
    ],
)
def test_only_two_good_codes_deliver(validation: str | None, quality: str | None, goal: str) -> None:
    run = Scenario(DPTR, {"modules": ()})
    run.signals("go", step="architecture").says("Architecture", modules=()).signals("go", step="audit").says("ACCEPT")
    run.checked()
    assert run.running() == []
    run.signals("go", step="review").says("Reviewed", validation=validation, quality=quality)
    assert run.where() == goal
