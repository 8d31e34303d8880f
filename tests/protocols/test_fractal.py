"""The fractal, row by row: state machine, routing matrix, mailbox and exceptions of the seed."""

from pathlib import Path

import pytest

from treadle.kernel.commands import Notify, RunAgent
from treadle.protocol.answers.inputs import load_input
from treadle.protocol.check import check
from treadle.protocol.load import BUILT_IN, load
from treadle.testing.scenario import Scenario, items

FRACTAL = load("fractal")


def leaf() -> Scenario:
    """A root that is a leaf; its first test is being written."""
    return Scenario(FRACTAL).says("InitLeaf")


def challenged() -> Scenario:
    return leaf().says("EmitChallenge")


def concluded() -> Scenario:
    """A leaf whose suite is complete; the mechanical checks are running."""
    return challenged().says("TestPassed").says("ConcludeSuite")


def tree(*keys: str) -> Scenario:
    """A root with these children, all of them leaves with a first test under way."""
    run = Scenario(FRACTAL).says("SpawnTree", childSpecs=items(*keys))
    for key in keys:
        run.says("InitLeaf", at=f"root/{key}:planner")
    return run


def merged(run: Scenario, at: str) -> Scenario:
    run.says("EmitChallenge", at=f"{at}:test_author").says("TestPassed", at=f"{at}:implementer")
    run.says("ConcludeSuite", at=f"{at}:test_author").checked(f"{at}:lock")
    return run.says("Approve", at=f"{at}:reviewer").says("MergeComplete", at=f"{at}:merger")


def agent(run: Scenario, at: str) -> RunAgent:
    job = run.job(at)
    assert isinstance(job, RunAgent)
    return job


def test_the_checker_has_no_findings() -> None:
    assert check(FRACTAL) == []


def test_the_example_is_an_input() -> None:
    path = Path(BUILT_IN, "fractal", "example.yaml")
    assert load_input(FRACTAL, path.read_text(), path.name).item.key == "REQ-102"


def test_a_leaf_alternates_one_test_and_one_fix_until_it_is_merged() -> None:
    run = leaf()
    for _ in range(3):
        assert run.running() == ["root:test_author"]
        run.says("EmitChallenge")
        assert run.running() == ["root:implementer"]
        run.says("TestPassed")
    run.says("ConcludeSuite").checked("lock").says("Approve").says("MergeComplete")
    assert run.state.outcome == "Merged"


def test_two_new_tests_are_not_a_challenge() -> None:
    assert leaf().says("EmitChallenge", fails=["red_one"]).running() == ["root:test_author"]


def test_a_suite_is_not_concluded_while_a_criterion_lacks_a_test() -> None:
    assert challenged().says("TestPassed").says("ConcludeSuite", fails=["manifest_complete"]).where() == "test_author"


def test_a_tree_freezes_until_all_children_are_merged_then_is_glued_and_reviewed() -> None:
    run = merged(tree("a", "b"), "root/a")
    assert run.where("root/a") == "@Merged"
    assert (run.where(), run.status()) == ("glue", "queued")
    run.says("EmitChallenge", at="root/b:test_author").says("RebaseClean", at="root/b:rebase")
    run.says("TestPassed", at="root/b:implementer").says("ConcludeSuite", at="root/b:test_author")
    run.checked("root/b:lock").says("Approve", at="root/b:reviewer").says("MergeComplete", at="root/b:merger")
    assert run.running() == ["root:glue"]
    assert run.says("GlueComplete").checked("lock").running() == ["root:reviewer"]


def test_the_mailbox_accepts_the_work_then_rebases_then_goes_on() -> None:
    """The seed's example: TestPassed while a ContextShift arrives."""
    run = challenged().signals("StatusQuery").signals("ContextShift")
    assert run.running() == ["root:implementer"]
    assert run.says("TestPassed").running() == ["root:rebase"]
    assert run.inst().last["implementer"] == "TestPassed"
    assert run.says("RebaseClean").running() == ["root:test_author"]


def test_a_glued_tree_is_repaired_without_a_challenge() -> None:
    run = merged(tree("a"), "root/a").says("GlueComplete").checked("lock").says("RequestChanges")
    assert agent(run, "fix").lane == "impl"
    assert run.says("ChangesMade").running() == ["root:lock"]


def test_a_critique_reaches_the_implementer_and_the_test_author_looks_again() -> None:
    run = concluded().checked("lock").says("RequestChanges")
    assert "reviewer.RequestChanges" in run.job("fix").inputs
    assert run.says("ChangesMade").running() == ["root:test_author"]


def test_missing_criteria_go_back_to_the_test_author() -> None:
    run = concluded().checked("lock").says("Reject")
    assert "reviewer.Reject" in run.job("test_author").inputs


@pytest.mark.parametrize(
    ("fails", "goal"),
    [("format", "fix"), ("green coverage_complete", "fix"), ("contract", "fix"), ("coverage_complete", "test_author")],
)
def test_a_failed_lock_goes_to_the_implementer_or_the_test_author(fails: str, goal: str) -> None:
    assert concluded().checked("lock", fails=fails.split()).running() == [f"root:{goal}"]


@pytest.mark.parametrize("reason", ["ContractViolation", "BuildFailure", "IntegrationFailure"])
def test_a_refused_merge_is_repaired_by_the_implementer(reason: str) -> None:
    run = concluded().checked("lock").says("Approve").says(f"MergeRejected.{reason}")
    assert "merger.MergeRejected" in run.job("fix").inputs


@pytest.mark.parametrize("exit_", ["BlockedDependency", "SpecAmbiguity", "Stuck.SpecImpossible"])
def test_a_blocked_implementer_goes_back_to_the_planner(exit_: str) -> None:
    run = challenged().says(exit_)
    assert f"implementer.{exit_.partition('.')[0]}" in run.job("planner").inputs


def test_a_skill_ceiling_moves_to_a_stronger_model_twice_then_asks() -> None:
    run = challenged()
    for tier in (1, 2):
        job = agent(run.says("Stuck.SkillCeiling"), "implementer")
        assert (job.tier, job.attempt) == (tier, 1)
    assert run.says("Stuck.SkillCeiling").asked() == ["root:stuck@implementer"]


def test_a_loop_starts_over_without_its_conversation() -> None:
    run = challenged().has_session("old").says("Stuck.InfiniteLoop")
    assert agent(run, "implementer").session == ""


def test_missing_resources_ask_a_person() -> None:
    assert challenged().says("Stuck.ResourceExhausted").asked() == ["root:resources@implementer"]


def test_five_retries_with_the_same_failure_are_a_loop_and_else_a_ceiling() -> None:
    same, other = challenged(), challenged()
    for attempt in range(5):
        same.says("RequestRetry", fingerprint="same")
        other.says("RequestRetry", fingerprint=f"another {attempt}")
    assert same.inst().last["implementer"] == "Stuck.InfiniteLoop"
    assert other.inst().last["implementer"] == "Stuck.SkillCeiling"
    assert (agent(same, "implementer").tier, agent(other, "implementer").tier) == (0, 1)


def test_a_critique_from_outside_comes_before_work_and_redirects_only_finished_work() -> None:
    early = challenged().signals("SemanticCritique").says("TestPassed").says("RequestChanges", at="critique")
    assert early.running() == ["root:test_author"]
    late = concluded().checked("lock").signals("SemanticCritique").says("Approve").says("RequestChanges", at="critique")
    assert "critique.RequestChanges" in late.job("fix").inputs


def test_a_critique_does_not_undo_a_new_plan() -> None:
    """The lock that was passed belongs to the plan before: the repair would wait for the lost child for ever."""
    run = concluded().checked("lock").fails("blocked", at="reviewer").answers("replan")
    run.says("SpawnTree", childSpecs=items("a")).signals("abort", to="root/a").signals("SemanticCritique")
    run.answers("replan", at="root:lost_child").says("RequestChanges", at="critique")
    assert run.running() == ["root:planner"]


def test_a_tree_that_becomes_a_leaf_gives_its_children_up() -> None:
    run = tree("a").signals("abort", to="root/a").answers("replan").says("InitLeaf", at="root:planner")
    assert run.running() == ["root:test_author"]


# the rest of the state machine and of the routing matrix


def test_types_that_are_missing_are_repaired_by_the_planner() -> None:
    run = leaf().says("InvalidScaffold")
    assert "test_author.InvalidScaffold" in run.job("planner").inputs
    for _ in range(4):
        run.says("InitLeaf").says("InvalidScaffold")
    assert run.says("InitLeaf").says("InvalidScaffold").asked() == ["root:stuck@test_author"]


def test_glue_with_a_missing_dependency_is_planned_anew() -> None:
    run = merged(tree("a"), "root/a").says("BlockedDependency", at="root:glue")
    assert "glue.BlockedDependency" in run.job("planner").inputs
    run.says("SpawnTree", childSpecs=items("a", "b"))
    assert (run.where("root/a"), run.where("root/b")) == ("@Merged", "planner")
    assert (run.where(), run.status()) == ("glue", "queued")


def test_reviews_are_bounded() -> None:
    run = concluded()
    for _ in range(5):
        run.checked("lock").says("Reject").says("ConcludeSuite")
    assert run.checked("lock").says("Reject").asked() == ["root:stuck@reviewer"]


def test_challenges_are_bounded() -> None:
    run = leaf()
    for _ in range(60):
        run.says("EmitChallenge").says("TestPassed")
    assert run.says("EmitChallenge").asked() == ["root:stuck@test_author"]


def test_an_approval_with_changed_files_is_refused() -> None:
    run = concluded().checked("lock").says("Approve", fails=["readonly"])
    assert run.running() == ["root:reviewer"]


def test_a_green_claim_that_is_not_green_is_an_attempt() -> None:
    run = challenged().says("TestPassed", fails=["tests_unmodified"])
    assert (run.running(), run.job().attempt) == (["root:implementer"], 2)


# exceptions


@pytest.mark.parametrize(("choice", "goal"), [("retry", "implementer"), ("replan", "planner")])
def test_missing_resources_are_retried_or_planned_around(choice: str, goal: str) -> None:
    run = challenged().says("Stuck.ResourceExhausted").answers(choice, note="more memory")
    assert run.job(goal).inputs["human_note"] == ("more memory",)


def test_two_fresh_starts_are_enough() -> None:
    run = challenged().says("Stuck.InfiniteLoop").says("Stuck.InfiniteLoop")
    assert run.says("Stuck.InfiniteLoop").asked() == ["root:stuck@implementer"]


def test_a_stronger_model_stays_for_repairs_too() -> None:
    run = challenged().says("Stuck.SkillCeiling").says("TestPassed").says("ConcludeSuite")
    assert agent(run.checked("lock", fails=["build"]), "fix").tier == 1


def test_a_retry_is_counted_by_the_kernel_and_sees_earlier_retries() -> None:
    run = challenged().says("RequestRetry").says("RequestRetry")
    job = agent(run, "implementer")
    assert (job.attempt, len(job.inputs["implementer.RequestRetry"])) == (3, 2)


def test_an_unclear_spec_goes_up_to_the_parents_planner() -> None:
    run = Scenario(FRACTAL).says("SpawnTree", childSpecs=items("a")).says("ClarificationNeeded", at="root/a:planner")
    assert run.running() == ["root:answer"]
    run.says("Clarified", at="root:answer")
    assert "clarify.Clarified" in run.job("root/a:planner").inputs
    assert (run.where(), run.status()) == ("glue", "queued")


def test_a_contradiction_climbs_to_the_root_and_the_person_behind_it() -> None:
    run = tree("a").says("EmitChallenge", at="root/a:test_author").says("Stuck.SpecImpossible", at="root/a:implementer")
    run.says("ClarificationNeeded", at="root/a:planner").says("ClarificationNeeded", at="root:answer")
    assert run.asked() == ["root:escalate"]
    run.answers("Clarified", note="drop AC-2")
    assert run.job("root/a:planner").inputs["clarify.Clarified"] == ("drop AC-2",)


# folding and following


def test_a_sibling_follows_a_merge_before_it_goes_on() -> None:
    run = merged(tree("a", "b"), "root/a")
    assert run.running() == ["root/b:test_author"]
    run.says("EmitChallenge", at="root/b:test_author")
    assert run.job("root/b:rebase").inputs["signals"] == ("ref:root/a:merger#1.1.MergeComplete",)
    assert run.says("RebaseClean", at="root/b:rebase").running() == ["root/b:implementer"]


def test_a_merge_waits_until_its_node_has_followed_the_one_before() -> None:
    run = tree("a", "b")
    for key in ("a", "b"):
        run.says("EmitChallenge", at=f"root/{key}:test_author").says("TestPassed", at=f"root/{key}:implementer")
        run.says("ConcludeSuite", at=f"root/{key}:test_author").checked(f"root/{key}:lock")
        run.says("Approve", at=f"root/{key}:reviewer")
    assert run.running() == ["root/a:merger"]
    assert run.says("MergeComplete").running() == ["root/b:rebase"]
    assert run.says("RebaseClean").running() == ["root/b:merger"]


def test_an_adapted_leaf_goes_on_where_it_was() -> None:
    run = challenged().signals("ContextShift").says("TestPassed").says("RebaseDrift").says("RebaseAdapted")
    assert run.running() == ["root:test_author"]


def test_a_conflict_beyond_repair_goes_to_the_planner() -> None:
    run = challenged().signals("ContextShift").says("TestPassed").says("RebaseDrift").says("RebaseConflict")
    assert "rebaser.RebaseConflict" in run.job("planner").inputs


def test_a_frozen_tree_is_rebased_with_its_children() -> None:
    run = tree("a").signals("ContextShift")
    assert run.running() == ["root/a:test_author", "root:rebase"]
    run.says("RebaseClean", at="root:rebase").says("EmitChallenge", at="root/a:test_author")
    assert run.running() == ["root/a:rebase"]


# the mailbox


def test_the_mailbox_is_served_in_the_published_order() -> None:
    """Whatever the order of arrival: ContextShift, SemanticCritique, the next work; StatusQuery comes last."""
    run = challenged().signals("StatusQuery").signals("SemanticCritique").signals("ContextShift")
    served = []
    run.says("TestPassed")
    for exit_ in ("RebaseClean", "Noted", "InvalidScaffold"):
        served += run.running()
        run.says(exit_)
    assert served == ["root:rebase", "root:critique", "root:test_author"]
    assert [message.name for message in run.inst().mailbox] == ["StatusQuery"]


def test_the_next_test_is_queued_until_the_rebase_is_clean() -> None:
    run = challenged().claims("TestPassed").signals("ContextShift").checked("implementer")
    assert [frame.step for frame in run.inst().frames] == ["test_author", "rebase"]
    assert "implementer.TestPassed" in run.inst().slots
    run.says("RebaseDrift")
    assert run.running() == ["root:rebaser"]
    assert run.says("RebaseAdapted").running() == ["root:test_author"]


def test_a_status_query_is_answered_at_once_or_by_an_idle_node() -> None:
    run = challenged().signals("StatusQuery")
    assert [note.detail for note in run.issued(Notify)] == ["implementer active"]
    assert run.says("TestPassed").running() == ["root:test_author"]
    held = tree("a").signals("StatusQuery")
    assert "root:status" in held.running()
    assert held.says("Notified", at="root:status").where() == "glue"


@pytest.mark.parametrize(("exit_", "field"), [("BlockedDependency", "missingSymbol"), ("SpecAmbiguity", "question")])
def test_the_same_question_for_the_third_time_goes_to_a_person(exit_: str, field: str) -> None:
    run = leaf()
    for _ in range(2):
        run.says("EmitChallenge").says(exit_, **{field: "a"}).says("InitLeaf")
    assert run.says("EmitChallenge").says(exit_, **{field: "a"}).asked() == ["root:stuck@implementer"]
    assert run.inst().spent["replans"] == 2
