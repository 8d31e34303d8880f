"""Planted exits that claim more than their gates establish."""

import pytest

from tests.protocol.checks.planted import COMMIT, WORKER, batch, bugfix, change, drop, gates, needs, put, said, tree
from treadle.protocol.model import Field, Protocol


@pytest.mark.parametrize(
    ("protocol", "expected"),
    [
        pytest.param(
            put(bugfix(), "exits.Fixed.fields", "pasedTests", Field(type="[text]", by="tests")),
            [
                (
                    "16 main.fix: exit 'Fixed' has the field 'pasedTests' by tests, which nobody knows how to compute "
                    "(did you mean 'passedTests'?)"
                )
            ],
            id="a_field_that_nobody_can_compute",
        ),
        pytest.param(
            put(bugfix(), "graphs.main.steps.fix.gates", "Fixed", gates("scope green tests_unmodified")),
            [
                (
                    "16 main.fix: exit 'Fixed' has the field 'commit' by git, but no gate that computes "
                    "it (gate it by one of commit, commit_once, checkpoint, measure, rebased, documents)"
                )
            ],
            id="a_commit_that_nothing_computes",
        ),
        pytest.param(
            put(bugfix(), "graphs.main.steps.fix.gates", "Fixed", gates("commit? scope green tests_unmodified")),
            [
                (
                    "16 main.fix: exit 'Fixed' has the field 'commit' by git, but no gate that computes "
                    "it (gate it by one of commit, commit_once, checkpoint, measure, rebased, documents)"
                )
            ],
            id="an_advisory_check_computes_nothing",
        ),
        pytest.param(
            put(bugfix(), "graphs.main.steps.fix.gates", "Fixed", gates("commit green tests_unmodified")),
            [
                (
                    "16 main.fix: exit 'Fixed' records a commit, but no gate bounds what was changed "
                    "(gate it by one of owned_files, scope, scope_src, scope_tests)"
                )
            ],
            id="a_commit_without_a_scope",
        ),
        pytest.param(
            drop(bugfix(), "graphs.main.steps.review.gates", "Rejected"),
            [
                (
                    "16 main.review: exit 'Rejected' of a role that writes nothing is not gated by "
                    "'readonly' (add 'readonly' to its gates)"
                )
            ],
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
                (
                    "15 main.fix: template reads 'repro.Reproduced.tests', but 'repro.Reproduced' has no "
                    "field 'tests' (its fields are commit)"
                ),
                ("16 main.repro: exit 'Reproduced' proves red, but no gate establishes it (gate it by red or red_one)"),
            ],
            id="red_without_a_red_run",
        ),
        pytest.param(
            put(bugfix(), "graphs.main.steps.fix.gates", "Fixed", gates("commit scope red tests_unmodified")),
            [
                (
                    "16 main.fix: exit 'Fixed' proves green, but no gate establishes it (gate it by green "
                    "or green_own_and_baseline)"
                )
            ],
            id="green_without_a_green_run",
        ),
        pytest.param(
            put(
                change(bugfix(), "roles.critic", perms=WORKER, writes=("docs/**",)),
                "graphs.main.steps.review.gates",
                "Approved",
                (),
            ),
            [("16 main.review: exit 'Approved' proves approval, but no gate establishes it (gate it by readonly)")],
            id="an_approval_of_someone_who_may_write",
        ),
        pytest.param(
            put(tree(), "graphs.node.steps.plan.gates", "Planned", gates("checkpoint scope")),
            [
                (
                    "16 node.plan: exit 'Planned' proves plan, but no gate establishes it (gate it by "
                    "disjoint_writes or plan_covers_criteria or plan_parses)"
                )
            ],
            id="a_plan_that_nothing_reads",
        ),
        pytest.param(
            put(bugfix(), "graphs.main.steps.fix.gates", "Fixed", gates("commit scope green")),
            [
                (
                    "16 main.fix: exit 'Fixed' proves green, but tests may have been changed for it (gate "
                    "it by 'tests_unmodified')"
                )
            ],
            id="green_with_changed_tests",
        ),
        pytest.param(
            change(
                change(bugfix(), "graphs.main", start="fix"),
                "graphs.main.steps.fix",
                needs=needs("repro.Reproduced?", "review.Rejected?"),
            ),
            [
                (
                    "12 main.merge: Merged ends in 'Done', which needs 'repro.Reproduced'; that is not "
                    "set on every path here (lead it elsewhere, or mark the need with '?')"
                ),
                (
                    "15 main.fix: template reads 'repro.Reproduced.tests', but 'repro.Reproduced' may be "
                    "absent (put it inside `if repro.Reproduced`)"
                ),
                (
                    "16 main.fix: exit 'Fixed' proves green, but not every path here has been red before "
                    "(lead every path through one of repro.Reproduced)"
                ),
            ],
            id="green_that_was_never_red",
        ),
    ],
)
def test_a_planted_fault_is_named(protocol: Protocol, expected: list[str]) -> None:
    assert said(protocol) == expected


def test_a_graph_without_a_test_author_needs_no_red() -> None:
    graph = drop(batch(), "graphs.cycle.steps", "red")
    alone = change(graph, "graphs.cycle", start="green")
    assert said(change(alone, "graphs.cycle.steps.green", needs=()), 16) == []


def test_a_merge_verifies_by_itself() -> None:
    assert said(change(bugfix(), "exits.Merged", proves="contract"), 16) == []


def test_a_plan_that_can_be_read_may_still_be_unsound() -> None:
    checks = gates("checkpoint scope plan_parses children_partition")
    [line] = said(put(tree(), "graphs.node.steps.plan.gates", "Planned", checks))
    assert line == (
        "16 node.plan: exit 'Planned' proves plan, but no gate establishes it (gate it by disjoint_writes or "
        "plan_covers_criteria or plan_sound)"
    )
