"""V3, row by row: what the seed's edge table, wait table and retry protocol ask for."""

from pathlib import Path

import pytest

from treadle.kernel.commands import RunAgent
from treadle.protocol.answers.inputs import load_input
from treadle.protocol.check import check
from treadle.protocol.load import BUILT_IN, load
from treadle.testing.scenario import Scenario, items

V3 = load("v3")


def scaffolded(*keys: str) -> Scenario:
    """A root with these children, all of them set up; their tests are being written."""
    run = Scenario(V3).says("InitWork", childSpecs=items(*keys) if keys else None)
    for key in keys:
        run.says("InitWork", at=f"root/{key}:scaffold")
    return run


def implemented(run: Scenario, at: str) -> Scenario:
    """A node whose tests are red, then green."""
    return run.says("TestsReady", at=f"{at}:tests").says("TestsPassed", at=f"{at}:impl")


def merged(run: Scenario, at: str) -> Scenario:
    return implemented(run, at).says("Approved", at=f"{at}:review").says("MergeComplete", at=f"{at}:merge")


def test_the_checker_has_no_findings() -> None:
    assert check(V3) == []


def test_the_example_is_an_input() -> None:
    path = Path(BUILT_IN, "v3", "example.yaml")
    assert load_input(V3, path.read_text(), path.name).item.key == "slug"


def test_a_leaf_goes_from_scaffold_to_trunk() -> None:
    run = scaffolded()
    assert run.running() == ["root:tests"]
    merged(run, "root")
    assert run.state.outcome == "Merged"


def test_impl_waits_for_red_tests_and_accepted_children() -> None:
    run = scaffolded("a", "b")
    assert run.running() == ["root/a:tests", "root/b:tests", "root:tests"]
    run.says("TestsReady", at="root:tests")
    assert (run.where(), run.status()) == ("impl", "queued")
    merged(run, "root/a").says("ChildAccepted", at="root:judge")
    assert (run.where(), run.status()) == ("impl", "queued")
    run.says("TestsReady", at="root/b:tests").says("RebaseClean", at="root/b:rebase")
    run.says("TestsPassed", at="root/b:impl").says("Approved", at="root/b:review")
    run.says("MergeComplete", at="root/b:merge").says("ChildAccepted", at="root:judge")
    assert run.running() == ["root:impl"]
    assert len(run.job("root:impl").inputs["judge.ChildAccepted"]) == 2


def test_tests_that_are_not_red_are_written_again_and_never_reach_impl() -> None:
    run = scaffolded()
    for _ in range(4):
        run.says("TestsReady", fails=["red"])
        assert run.running() == ["root:tests"]
    run.says("TestsReady", fails=["red"])
    assert run.asked() == ["root:stuck@tests"]


def test_a_merge_rebases_siblings_before_their_next_step_and_is_judged() -> None:
    run = scaffolded("a", "b").says("TestsReady", at="root:tests")
    merged(run, "root/a")
    assert run.running() == ["root/b:tests", "root:judge"]
    run.says("TestsReady", at="root/b:tests")
    assert run.running() == ["root/b:rebase", "root:judge"]
    run.says("RebaseClean", at="root/b:rebase")
    assert run.running() == ["root/b:impl", "root:judge"]


@pytest.mark.parametrize(("additional", "goal"), [(0, "impl"), (2, "tests")])
def test_more_tests_splits_on_the_tests_that_are_missing(additional: int, goal: str) -> None:
    run = implemented(scaffolded(), "root").says("MoreTests", additionalTests=additional)
    assert run.where() == goal
    assert "review.MoreTests" in run.job().inputs


def test_the_implementer_sees_the_critiques_after_the_tests_were_added() -> None:
    run = implemented(scaffolded(), "root").says("MoreTests", additionalTests=1).says("TestsReady")
    assert run.job("impl").inputs["review.MoreTests"] == ("ref:root:review#1.1.MoreTests",)
    run.says("TestsPassed").says("Approved").says("MergeRejected.BuildFailure")
    assert "review.MoreTests" not in run.job("impl").inputs
    assert "merge.MergeRejected" in run.job("impl").inputs


def test_the_fifth_retry_is_stuck_and_remembers_the_others() -> None:
    run = scaffolded().says("TestsReady")
    for attempt in range(1, 6):
        job = run.job("impl")
        assert job.attempt == attempt
        assert len(job.inputs.get("impl.RequestRetry", ())) == attempt - 1
        run.says("RequestRetry")
    assert run.asked() == ["root:stuck@impl"]
    assert run.answers("retry", note="n").job("impl").attempt == 1


@pytest.mark.parametrize("exit_", ["BlockedDependency", "SpecAmbiguity"])
def test_a_blocked_implementer_goes_back_to_the_planner(exit_: str) -> None:
    run = scaffolded().says("TestsReady").says(exit_)
    assert run.running() == ["root:scaffold"]
    assert f"impl.{exit_}" in run.job().inputs


@pytest.mark.parametrize(("exit_", "field"), [("BlockedDependency", "missingSymbol"), ("SpecAmbiguity", "question")])
def test_the_same_question_for_the_third_time_goes_to_a_person(exit_: str, field: str) -> None:
    run = scaffolded()
    for _ in range(2):
        run.says("TestsReady").says(exit_, **{field: "a"}).says("InitWork", childSpecs=None)
    run.says("TestsReady").says(exit_, **{field: "b"}).says("InitWork", childSpecs=None)
    assert run.says("TestsReady").says(exit_, **{field: "a"}).asked() == ["root:stuck@impl"]
    assert run.inst().spent == {"replans": 3}, "and costs no replan"
    assert run.answers("retry", note="n").running() == ["root:impl"]


def test_a_planners_repeated_question_goes_to_a_person() -> None:
    run = Scenario(V3)
    for _ in range(2):
        assert run.says("ClarificationNeeded", question="a").asked() == ["root:clarify"]
        run.answers("Clarified", note="n")
    assert run.says("ClarificationNeeded", question="a").asked() == ["root:stuck@scaffold"]


def test_replanning_is_bounded() -> None:
    run = scaffolded()
    for _ in range(5):
        run.says("InvalidScaffold").says("InitWork", childSpecs=None)
    assert run.says("InvalidScaffold").asked() == ["root:stuck@tests"]


def test_planning_again_keeps_children_and_moves_them_to_the_new_interface() -> None:
    run = scaffolded("a").says("InvalidScaffold", at="root:tests").says("InitWork", at="root:scaffold", childSpecs=None)
    assert run.running() == ["root/a:tests", "root:tests"]
    assert run.says("TestsReady", at="root/a:tests").where("root/a") == "rebase"


@pytest.mark.parametrize("reason", ["ContractViolation", "BuildFailure", "IntegrationFailure"])
def test_a_refused_merge_goes_back_to_impl(reason: str) -> None:
    run = implemented(scaffolded(), "root").says("Approved").says(f"MergeRejected.{reason}")
    assert run.running() == ["root:impl"]


@pytest.mark.parametrize(("additional", "goal"), [(0, "impl"), (1, "tests")])
def test_a_rejected_child_works_on_with_the_critiques(additional: int, goal: str) -> None:
    run = merged(scaffolded("a"), "root/a").says("TestsReady", at="root:tests")
    run.says("ChildRejected", at="root:judge", additionalTests=additional)
    assert run.where("root/a") == goal
    assert "verdict.ChildRejected" in run.job(f"root/a:{goal}").inputs
    assert (run.where(), run.status()) == ("impl", "queued")


def test_a_child_cannot_be_accepted_while_its_contract_tests_fail() -> None:
    run = merged(scaffolded("a"), "root/a").says("TestsReady", at="root:tests")
    run.says("ChildAccepted", at="root:judge", fails=["contract_children"])
    assert run.where("root/a") == "verdict"
    assert run.job("judge").attempt == 2
    assert run.says("ChildRejected", at="root:judge", additionalTests=0).where("root/a") == "impl"


def test_a_conflict_is_adapted_or_goes_to_the_planner() -> None:
    run = scaffolded("a", "b")
    run.signals("ContextShift", to="root/b").says("TestsReady", at="root/b:tests")
    run.says("RebaseDrift", at="root/b:rebase")
    run.says("RebaseAdapted", at="root/b:adapt", fails=["mechanical_only"])
    assert run.job("adapt").attempt == 2
    run.says("RebaseConflict", at="root/b:adapt")
    assert run.where("root/b") == "scaffold"
    assert "adapt.RebaseConflict" in run.job("root/b:scaffold").inputs


def test_a_question_climbs_until_it_is_answered() -> None:
    run = Scenario(V3).says("InitWork", childSpecs=items("a")).says("ClarificationNeeded", at="root/a:scaffold")
    run.says("TestsReady", at="root:tests").says("ClarificationNeeded", at="root:answer")
    assert run.asked() == ["root:escalate"]
    run.answers("Clarified", note="the answer")
    assert run.job("root/a:scaffold").inputs["clarify.Clarified"] == ("the answer",)


def test_a_lost_child_is_planned_anew_or_ends_the_node() -> None:
    run = scaffolded("a").says("TestsReady", at="root:tests").signals("abort", to="root/a")
    assert run.asked() == ["root:lost_child"]
    run.answers("replan").says("InitWork", at="root:scaffold", childSpecs=items("a"))
    assert run.running() == ["root/a~2:scaffold", "root:tests"]


def test_siblings_are_judged_while_a_person_is_asked_about_a_lost_child() -> None:
    run = scaffolded("a", "b").says("TestsReady", at="root:tests").signals("abort", to="root/a")
    merged(run, "root/b")
    assert (run.running(), run.asked()) == (["root:judge"], ["root:lost_child"])
    run.says("ChildAccepted", at="root:judge")
    assert run.where("root/b") == "@Merged"
    run.answers("replan").says("InitWork", at="root:scaffold", childSpecs=items("a", "b"))
    assert run.running() == ["root/a~2:scaffold", "root:tests"]


def test_an_answer_counts_while_a_sibling_is_judged() -> None:
    run = scaffolded("a", "b").says("TestsReady", at="root:tests").signals("abort", to="root/a")
    merged(run, "root/b").answers("replan")
    assert run.running() == ["root:judge"]
    run.says("ChildAccepted", at="root:judge")
    assert run.running() == ["root:scaffold"]


def test_siblings_are_judged_while_a_question_climbs_to_a_person() -> None:
    run = Scenario(V3).says("InitWork", childSpecs=items("a", "b")).says("ClarificationNeeded", at="root/a:scaffold")
    run.says("TestsReady", at="root:tests").says("ClarificationNeeded", at="root:answer")
    merged(run.says("InitWork", at="root/b:scaffold"), "root/b").says("RebaseClean", at="root/a:rebase")
    assert (run.running(), run.asked()) == (["root:judge"], ["root:escalate"])
    run.answers("Clarified", note="the answer")
    assert run.running() == ["root/a:scaffold", "root:judge"]


def test_two_lost_children_are_asked_about_one_after_the_other() -> None:
    run = scaffolded("a", "b").says("TestsReady", at="root:tests")
    run.signals("abort", to="root/a").signals("abort", to="root/b")
    assert run.asked() == ["root:lost_child"]
    assert run.answers("replan").asked() == ["root:lost_child"]
    run.answers("replan").says("InitWork", at="root:scaffold", childSpecs=items("a"))
    assert (run.asked(), run.running()) == ([], ["root/a~2:scaffold", "root:tests"])


def test_an_answered_child_goes_on_while_another_still_waits() -> None:
    run = Scenario(V3).says("InitWork", childSpecs=items("a", "b")).says("TestsReady", at="root:tests")
    run.says("ClarificationNeeded", at="root/a:scaffold").times_out("root:answer").signals("abort", to="root/b")
    assert run.asked() == ["root:answer_by_hand@answer", "root:lost_child"]
    run.answers("retry", at="root:answer_by_hand@answer")
    assert (run.running(), run.asked()) == (["root:answer"], ["root:lost_child"])
    run.says("Clarified", at="root:answer")
    assert run.running() == ["root/a:scaffold"]


def test_the_reviewer_resumes_the_test_author_and_others_fork_the_scaffold() -> None:
    run = Scenario(V3).has_session("planning").says("InitWork", childSpecs=None)
    job = run.job("tests")
    assert isinstance(job, RunAgent)
    assert (job.session, job.fork, job.lane) == ("planning", True, "tests")
    run.has_session("testing").says("TestsReady").says("TestsPassed")
    job = run.job("review")
    assert isinstance(job, RunAgent)
    assert (job.session, job.fork) == ("testing", False)


# the rest of the edge table: where each row leads, and what bounds it


def test_a_claim_that_a_check_refutes_is_an_attempt() -> None:
    run = scaffolded().says("TestsReady").says("TestsPassed", fails=["interface_unmodified"])
    assert (run.job("impl").attempt, run.job("impl").inputs["gate_report"]) == (2, ("report:interface_unmodified",))
    for _ in range(4):
        run.says("TestsPassed", fails=["green"])
    assert run.asked() == ["root:stuck@impl"]


def test_a_stuck_implementer_gets_a_person() -> None:
    run = scaffolded().says("TestsReady").says("Stuck")
    assert "impl.Stuck" in run.ask().inputs
    assert run.answers("replan", note="another way").job("scaffold").inputs["human_note"] == ("another way",)


def test_the_deadline_of_any_step_is_a_persons_matter() -> None:
    run = scaffolded().says("TestsReady").times_out()
    assert run.asked() == ["root:stuck@impl"]
    assert run.answers("abort").state.outcome == "Aborted"


@pytest.mark.parametrize(("choice", "goal"), [("replan", "scaffold"), ("retest", "tests"), ("retry", "review")])
def test_a_rejected_approach_is_a_persons_decision(choice: str, goal: str) -> None:
    run = implemented(scaffolded(), "root").says("Reject")
    assert "review.Reject" in run.ask().inputs
    run.answers(choice)
    assert run.running() == [f"root:{goal}"]
    assert ("review.Reject" in run.job().inputs) == (goal != "review")


def test_only_an_approval_of_this_round_is_merged() -> None:
    run = implemented(scaffolded(), "root").says("Approved", fails=["coverage_complete"])
    assert run.running() == ["root:review"]
    run.says("Approved")
    assert run.job("merge").inputs["review.Approved"] == ("ref:root:review#1.2.Approved",)


def test_reviews_are_bounded() -> None:
    run = implemented(scaffolded(), "root")
    for _ in range(5):
        run.says("MoreTests", additionalTests=0).says("TestsPassed")
    run.says("MoreTests", additionalTests=0)
    assert run.asked() == ["root:stuck@review"]
    run.answers("replan").says("InitWork", childSpecs=None).says("TestsReady").says("TestsPassed")
    assert run.says("MoreTests", additionalTests=0).running() == ["root:impl"]


def test_merges_are_bounded() -> None:
    run = implemented(scaffolded(), "root").says("Approved")
    for _ in range(5):
        run.says("MergeRejected.BuildFailure").says("TestsPassed").says("Approved")
    assert run.says("MergeRejected.ContractViolation").asked() == ["root:stuck@merge"]


def test_verdicts_are_bounded() -> None:
    run = merged(scaffolded("a"), "root/a").says("TestsReady", at="root:tests")
    for _ in range(5):
        run.says("ChildRejected", at="root:judge", additionalTests=0).says("TestsPassed", at="root/a:impl")
        run.says("Approved", at="root/a:review").says("MergeComplete", at="root/a:merge")
    run.says("ChildRejected", at="root:judge", additionalTests=0)
    assert run.asked() == ["root/a:stuck@verdict"]


def test_conflicts_are_bounded() -> None:
    run = scaffolded("a").says("TestsReady", at="root:tests")
    for _ in range(3):
        run.signals("ContextShift", to="root/a").says("TestsReady", at="root/a:tests")
        run.says("RebaseDrift", at="root/a:rebase").says("RebaseConflict", at="root/a:adapt")
        run.says("InitWork", at="root/a:scaffold", childSpecs=None)
    run.signals("ContextShift", to="root/a").says("TestsReady", at="root/a:tests")
    run.says("RebaseDrift", at="root/a:rebase").says("RebaseConflict", at="root/a:adapt")
    assert run.asked() == ["root/a:conflict@adapt"]


def test_questions_are_bounded() -> None:
    run = Scenario(V3)
    for _ in range(5):
        run.says("ClarificationNeeded").answers("Clarified", note="so")
    assert run.says("ClarificationNeeded").asked() == ["root:stuck@scaffold"]


# merging, following, judging


def test_siblings_get_the_merge_as_a_signal() -> None:
    run = merged(scaffolded("a", "b"), "root/a").says("TestsReady", at="root/b:tests")
    event = ("ref:root/a:merge#1.1.MergeComplete",)
    assert run.job("root/b:rebase").inputs["signals"] == event
    run.says("TestsReady", at="root:tests")
    assert run.job("root:judge").inputs["signals"] == event


def test_one_rebase_follows_two_merges() -> None:
    run = scaffolded("a", "b", "c").says("TestsReady", at="root:tests")
    implemented(run, "root/a").says("Approved", at="root/a:review")
    implemented(run, "root/b").says("Approved", at="root/b:review")
    assert run.running() == ["root/a:merge", "root/c:tests"]
    run.says("MergeComplete", at="root/a:merge")
    assert "root/b:rebase" in run.running()
    run.says("RebaseClean", at="root/b:rebase").says("MergeComplete", at="root/b:merge")
    run.says("TestsReady", at="root/c:tests")
    assert len(run.job("root/c:rebase").inputs["signals"]) == 2
    assert run.says("RebaseClean", at="root/c:rebase").where("root/c") == "impl"


def test_a_rebase_reaches_the_children_too() -> None:
    run = scaffolded("a", "b")
    run.says("InvalidScaffold", at="root/b:tests").says("InitWork", at="root/b:scaffold", childSpecs=items("x"))
    run.says("InitWork", at="root/b/x:scaffold").says("TestsReady", at="root/b:tests")
    merged(run, "root/a")
    assert run.where("root/b") == "rebase"
    run.says("RebaseClean", at="root/b:rebase").says("TestsReady", at="root/b/x:tests")
    assert run.where("root/b/x") == "rebase"


def test_an_adapted_node_goes_on_where_it_was() -> None:
    run = merged(scaffolded("a", "b"), "root/a").says("TestsReady", at="root/b:tests")
    run.says("RebaseDrift", at="root/b:rebase").says("RebaseAdapted", at="root/b:adapt")
    assert run.running()[0] == "root/b:impl"
    assert run.inst("root/b").last["tests"] == "TestsReady"


def test_a_conflict_that_cannot_be_adapted_waits_for_a_person() -> None:
    run = scaffolded("a").signals("ContextShift", to="root/a").says("TestsReady", at="root/a:tests")
    run.says("RebaseDrift", at="root/a:rebase")
    for _ in range(3):
        run.says("RebaseAdapted", at="root/a:adapt", fails=["canon"])
    assert run.asked() == ["root/a:conflict@adapt"]
    assert run.answers("replan").where("root/a") == "scaffold"


def test_a_person_judges_where_the_judge_cannot() -> None:
    run = merged(scaffolded("a"), "root/a").says("TestsReady", at="root:tests").times_out("root:judge")
    assert run.asked() == ["root:judge_by_hand@judge"]
    run.answers("ChildAccepted", note="good")
    assert (run.where("root/a"), run.running()) == ("@Merged", ["root:impl"])


def test_a_question_climbs_two_levels_and_the_answer_comes_back() -> None:
    run = Scenario(V3).says("InitWork", childSpecs=items("a")).says("TestsReady", at="root:tests")
    run.says("InitWork", at="root/a:scaffold", childSpecs=items("x"))
    run.says("ClarificationNeeded", at="root/a/x:scaffold")
    assert (run.where("root/a/x"), run.where("root/a")) == ("clarify", "tests")
    run.says("TestsReady", at="root/a:tests").says("ClarificationNeeded", at="root/a:answer")
    assert (run.where("root/a"), run.running()) == ("escalate", ["root:answer"])
    run.says("Clarified", at="root:answer")
    assert (run.where("root/a"), run.status("root/a")) == ("impl", "queued")
    assert run.job("root/a/x:scaffold").inputs["clarify.Clarified"] == ("ref:root:answer#1.1.Clarified",)


def test_answers_reach_every_step_of_the_node_and_its_judge() -> None:
    run = Scenario(V3).says("InitWork", childSpecs=items("a")).says("TestsReady", at="root:tests")
    run.says("ClarificationNeeded", at="root/a:scaffold").says("Clarified", at="root:answer")
    run.says("ClarificationNeeded", at="root/a:scaffold").says("ClarificationNeeded", at="root:answer")
    run.answers("Clarified", note="of a person")
    both = ("ref:root:answer#1.1.Clarified", "of a person")
    for step, exit_ in (
        ("scaffold", "InitWork"),
        ("tests", "TestsReady"),
        ("impl", "TestsPassed"),
        ("review", "Approved"),
    ):
        assert run.job(f"root/a:{step}").inputs["clarify.Clarified"] == both
        run.says(exit_, at=f"root/a:{step}")
    run.says("MergeComplete", at="root/a:merge")
    judged = run.job("root:judge").inputs
    assert (judged["answer.Clarified"], judged["escalate.Clarified"]) == (both[:1], both[1:])


def test_a_question_can_end_the_node_that_asked() -> None:
    run = Scenario(V3).says("InitWork", childSpecs=items("a")).says("TestsReady", at="root:tests")
    run.says("ClarificationNeeded", at="root/a:scaffold").times_out("root:answer").answers("abort")
    assert run.where("root/a") == "@Aborted"
    assert run.asked() == ["root:lost_child"]
    assert run.answers("abort").state.outcome == "Aborted"
