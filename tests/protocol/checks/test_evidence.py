"""Planted exits that claim more than their gates establish."""

import msgspec
import pytest

from tests.protocol.checks.planted import (
    COMMIT,
    TEXT,
    WORKER,
    batch,
    bugfix,
    change,
    drop,
    faults_of,
    gates,
    needs,
    put,
    said,
    to,
    tree,
)
from treadle.protocol.load import load
from treadle.protocol.model import Artifact, Exit, Field, Protocol, Route


@pytest.mark.parametrize(
    ("protocol", "expected"),
    [
        pytest.param(
            put(bugfix(), "exits.Fixed.fields", "pasedTests", Field(type="[text]", by="tests")),
            ["unproved_exit main.fix: Fixed, pasedTests -> passedTests"],
            id="a_field_that_nobody_can_compute",
        ),
        pytest.param(
            put(bugfix(), "graphs.main.steps.fix.gates", "Fixed", gates("scope green tests_unmodified")),
            ["unproved_exit main.fix: Fixed, commit"],
            id="a_commit_that_nothing_computes",
        ),
        pytest.param(
            put(bugfix(), "graphs.main.steps.fix.gates", "Fixed", gates("commit? scope green tests_unmodified")),
            ["unproved_exit main.fix: Fixed, commit"],
            id="an_advisory_check_computes_nothing",
        ),
        pytest.param(
            put(bugfix(), "graphs.main.steps.fix.gates", "Fixed", gates("commit green tests_unmodified")),
            ["unproved_exit main.fix: Fixed"],
            id="a_commit_without_a_scope",
        ),
        pytest.param(
            drop(bugfix(), "graphs.main.steps.review.gates", "Rejected"),
            ["unproved_exit main.review: Rejected, readonly"],
            id="a_reader_who_may_have_written",
        ),
        pytest.param(
            put(
                change(bugfix(), "exits.Reproduced", fields={"commit": COMMIT}),
                "graphs.main.steps.repro.gates",
                "Reproduced",
                gates("commit scope"),
            ),
            [
                "unfit_template main.fix: repro.Reproduced.tests, repro.Reproduced, tests",
                "unproved_exit main.repro: Reproduced",
            ],
            id="red_without_a_red_run",
        ),
        pytest.param(
            put(bugfix(), "graphs.main.steps.fix.gates", "Fixed", gates("commit scope red tests_unmodified")),
            ["unproved_exit main.fix: Fixed"],
            id="green_without_a_green_run",
        ),
        pytest.param(
            put(
                change(bugfix(), "roles.critic", perms=WORKER, writes=("docs/**",)),
                "graphs.main.steps.review.gates",
                "Approved",
                (),
            ),
            ["unproved_exit main.review: Approved"],
            id="an_approval_of_someone_who_may_write",
        ),
        pytest.param(
            put(tree(), "graphs.node.steps.plan.gates", "Planned", gates("checkpoint scope")),
            ["unproved_exit node.plan: Planned"],
            id="a_plan_that_nothing_reads",
        ),
        pytest.param(
            put(bugfix(), "graphs.main.steps.fix.gates", "Fixed", gates("commit scope green")),
            ["unproved_exit main.fix: Fixed"],
            id="green_with_changed_tests",
        ),
        pytest.param(
            change(
                change(bugfix(), "graphs.main", start="fix"),
                "graphs.main.steps.fix",
                needs=needs("repro.Reproduced?", "review.Rejected?"),
            ),
            [
                "unmet_need main.merge: Done, repro.Reproduced",
                "unfit_template main.fix: repro.Reproduced.tests, repro.Reproduced",
                "unproved_exit main.fix: Fixed",
            ],
            id="green_that_was_never_red",
        ),
    ],
)
def test_a_planted_fault_is_named(protocol: Protocol, expected: list[str]) -> None:
    assert faults_of(protocol) == expected


def test_a_graph_without_a_test_author_needs_no_red() -> None:
    graph = drop(batch(), "graphs.cycle.steps", "red")
    alone = change(graph, "graphs.cycle", start="green")
    assert said(change(alone, "graphs.cycle.steps.green", needs=()), 16) == []


def test_a_merge_verifies_by_itself() -> None:
    assert said(change(bugfix(), "exits.Merged", proves="contract"), 16) == []


def test_a_plan_that_can_be_read_may_still_be_unsound() -> None:
    checks = gates("checkpoint scope plan_parses children_partition")
    protocol = put(tree(), "graphs.node.steps.plan.gates", "Planned", checks)
    assert faults_of(protocol) == ["unproved_exit node.plan: Planned"]
    assert "disjoint_writes or plan_covers_criteria or plan_sound" in said(protocol)[0]


# Planted exits that are held to a proof and do not say so.


_PARTS = Field(type="[Spec]?", route="items")


_FAULTS = Field(type="[Fault]", route="value")


@pytest.mark.parametrize(
    ("protocol", "expected"),
    [
        pytest.param(
            put(batch(), "exits", "Red", Exit(fields={"commit": COMMIT})),
            ["unclaimed_proof cycle.red: Red"],
            id="red",
        ),
        pytest.param(
            put(bugfix(), "exits", "Fixed", Exit(fields={"commit": COMMIT, "note": Field(type="text?")})),
            ["unclaimed_proof main.fix: Fixed"],
            id="green",
        ),
        pytest.param(
            put(tree(), "exits", "Planned", Exit(fields={"parts": _PARTS, "commit": COMMIT})),
            ["unclaimed_proof node.plan: Planned"],
            id="a_plan",
        ),
        pytest.param(
            put(tree(), "exits", "Planned", Exit(proves="plan", fields={"parts": _PARTS})),
            ["unclaimed_proof node.plan: Planned"],
            id="a_plan_that_is_not_recorded",
        ),
        pytest.param(
            put(
                put(bugfix(), "exits", "Approved", Exit(fields={"reason": TEXT})),
                "exits",
                "Rejected",
                Exit(severity="WARN", fields={"faults": _FAULTS}),
            ),
            [
                "unclaimed_proof main.review",
                "unclaimed_proof main.review: Approved, merge",
                "unearned_merge main.merge",
            ],
            id="an_approval",
        ),
        pytest.param(
            change(bugfix(), "roles.critic", perms=WORKER, writes=("docs/**",)),
            ["writing_reader main.review"],
            id="a_reader_who_may_write",
        ),
        pytest.param(
            change(bugfix(), "", artifacts={"reason": Artifact(path="review.md", writer="critic")}),
            ["unchecked_document main.review: Approved, reason"],
            id="a_document_that_nobody_looks_at",
        ),
    ],
)
def test_a_planted_fault_in_claims_is_named(protocol: Protocol, expected: list[str]) -> None:
    assert faults_of(protocol) == expected


def test_a_view_is_no_document_of_an_agent() -> None:
    artifacts = {"reason": Artifact(path="review.md", writer="orchestrator", view="state")}
    assert said(change(bugfix(), "", artifacts=artifacts)) == []


def test_a_variant_with_weaker_gates_may_not_lead_to_the_merge() -> None:
    verdict = Exit(proves="approval", route_on="verdict", fields={"verdict": Field(type="Good | Bad"), "reason": TEXT})
    protocol = put(bugfix(), "exits", "Approved", verdict)
    checks = {
        "Approved.Good": gates("readonly green"),
        "Approved.Bad": gates("readonly"),
        "Rejected": gates("readonly"),
    }
    protocol = change(protocol, "graphs.main.steps.review", gates=checks)
    assert faults_of(protocol) == ["unclaimed_proof main.review: Approved, merge, green"]
    rows = {**bugfix().graphs["main"].steps["review"].routes, "Approved.Bad": to("human")}
    parted = change(protocol, "graphs.main.steps.review", routes={**rows, "Approved.Good": to("merge")})
    parted = drop(parted, "graphs.main.steps.review.routes", "Approved")
    heard = needs("fix.Stuck?", "review.Rejected?", "review.Approved?", "!*?")
    assert said(change(parted, "graphs.main.steps.human", needs=heard), 16) == []


def test_a_guard_about_another_variant_does_not_prove_the_merge() -> None:
    rows = to("human", when="last.fix == 'Stuck.Lost'") + to("merge")
    protocol = put(bugfix(), "graphs.main.steps.review.routes", "Approved", rows)
    heard = needs("fix.Stuck?", "review.Rejected?", "review.Approved?", "!*?")
    assert faults_of(change(protocol, "graphs.main.steps.human", needs=heard), 16) == [
        "unclaimed_proof main.review: Approved, merge"
    ]


# `proves_when`: what it may look at, and that nothing is merged where it does not hold.


DPTR = load("dptr")


GOOD = "data.validation == 'VC' and data.quality == 'QP'"


def when(guard: str, **changes: str) -> Protocol:
    reviewed = msgspec.structs.replace(DPTR.exits["Reviewed"], proves_when=guard, **changes)
    return msgspec.structs.replace(DPTR, exits={**DPTR.exits, "Reviewed": reviewed})


def merged(guard: str) -> Protocol:
    """The final review leads to the merge under another guard."""
    graph = DPTR.graphs["dptr"]
    review = graph.steps["review"]
    routes = {**review.routes, "Reviewed": (Route(to="deliver", when=guard), Route(to="deviations"))}
    steps = {**graph.steps, "review": msgspec.structs.replace(review, routes=routes)}
    return msgspec.structs.replace(DPTR, graphs={**DPTR.graphs, "dptr": msgspec.structs.replace(graph, steps=steps)})


@pytest.mark.parametrize(
    ("protocol", "expected"),
    [
        (when("data.quality =="), "guard `data.quality ==` cannot be read"),
        (when("data.qualities == 'QP'"), "looks at 'data.qualities', which is not a routed field of this exit"),
        (when("data.report == 'well'"), "looks at 'data.report', which is not a routed field of this exit"),
        (when("last.review == 'Reviewed'"), "looks at 'last.review', which is not a routed field of this exit"),
        (when("data.quality == 'QQ'"), "compares 'data.quality' with 'QQ', which it never is (values are QP, QF)"),
        (when(GOOD, proves=""), "has `proves_when`, but proves nothing"),
        (merged("data.quality == 'QP'"), "leads to merge 'deliver' where it proves nothing (merge under the guard"),
    ],
)
def test_a_planted_fault_in_proofs_is_named(protocol: Protocol, expected: str) -> None:
    assert expected in "\n".join(said(protocol))


def test_a_guard_that_is_the_proof_leads_to_the_merge() -> None:
    assert said(merged(GOOD)) == said(DPTR) == []
    assert said(load("riper")) == []


# Planted successes that do not name what earned them.


@pytest.mark.parametrize(
    ("protocol", "expected"),
    [
        pytest.param(
            put(bugfix(), "graphs.main.ends", "Done", needs("fix.Fixed", "review.Approved", "merge.Merged")),
            ["unearned_success main: Done, repro.Reproduced"],
            id="of_the_root",
        ),
        pytest.param(
            put(batch(), "graphs.cycle.ends", "Done", needs("green.Green")),
            ["unearned_success cycle: Done, red.Red"],
            id="of_a_child",
        ),
        pytest.param(
            put(batch(), "graphs.main.ends", "Done", needs("cycles.AllOk", "suite.Passed?")),
            ["unearned_success main: Done, suite.Passed"],
            id="that_takes_a_check_or_leaves_it",
        ),
        pytest.param(
            put(batch(), "graphs.main.ends", "Done", needs("suite.Passed")),
            ["unearned_success main: Done, cycles.AllOk"],
            id="that_does_not_name_its_children",
        ),
    ],
)
def test_a_success_needs_all_its_proofs(protocol: Protocol, expected: list[str]) -> None:
    assert faults_of(protocol) == expected


def test_an_outcome_that_no_parent_counts_as_good_needs_no_proof() -> None:
    assert said(put(bugfix(), "graphs.main.ends", "Done", needs("merge.Merged?"))) == []
