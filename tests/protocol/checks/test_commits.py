"""Planted commits that are not recorded, not bounded, or break what others keep."""

import pytest

from tests.protocol.checks.planted import COMMIT, batch, bugfix, change, faults_of, gates, needs, put, said, to, tree
from treadle.protocol.check import check
from treadle.protocol.load import load
from treadle.protocol.model import Exit, Protocol, Send, Spawn, Step

FIX = "graphs.main.steps.fix.gates"


BUILDS = ("build",)


def _refactored(checks: str) -> Protocol:
    """The author of tests goes over them once more when everything is green."""
    again = Step(
        kind="agent",
        role="qa",
        exits=("Tidied",),
        needs=needs("fix.Fixed"),
        gates={"Tidied": gates(checks)},
        routes={"Tidied": to("review")},
        template="tidy.jinja",
    )
    protocol = put(bugfix(), "graphs.main.steps.fix.routes", "Fixed", to("tidy"))
    protocol = put(protocol, "graphs.main.steps", "tidy", again)
    protocol = put(protocol, "exits", "Tidied", Exit(proves="green", fields={"commit": COMMIT}))
    protocol = put(protocol, "templates", "tidy.jinja", "{{ fix.Fixed.commit }}")
    protocol = change(protocol, "graphs.main.steps.review", needs=needs("fix.Fixed", "tidy.Tidied"))
    protocol = put(protocol, "templates", "review.jinja", "{{ fix.Fixed.commit }}{{ tidy.Tidied.commit }}")
    done = needs("repro.Reproduced", "fix.Fixed", "tidy.Tidied", "review.Approved", "merge.Merged")
    return put(protocol, "graphs.main.ends", "Done", done)


@pytest.mark.parametrize(
    ("protocol", "expected"),
    [
        pytest.param(
            put(bugfix(), FIX, "Fixed", gates("measure scope build green tests_unmodified")),
            ["unguarded_commit main.fix: Fixed"],
            id="a_commit_that_is_not_made",
        ),
        pytest.param(
            put(tree(), "graphs.node.steps.work.gates", "Built", gates("checkpoint scope lint?")),
            ["unguarded_commit node.work: Built"],
            id="work_that_nothing_looks_at",
        ),
        pytest.param(
            put(bugfix(), FIX, "Fixed", gates("commit scope_src build green tests_unmodified")),
            ["unguarded_commit main.fix: Fixed"],
            id="a_scope_that_only_the_input_knows",
        ),
        pytest.param(
            put(batch(), "graphs.cycle.steps.red.gates", "Red", gates("commit owned_files red_one")),
            ["unguarded_commit cycle.red: Red"],
            id="a_scope_that_nothing_holds_to",
        ),
        pytest.param(
            put(change(tree(), "", toolchain=BUILDS), "graphs.node.steps.plan.gates", "Unclear", gates("build")),
            ["unguarded_commit node.work: Built"],
            id="code_that_is_not_built",
        ),
        pytest.param(
            change(
                put(
                    change(batch(), "", toolchain=BUILDS),
                    "graphs.cycle.steps.green.gates",
                    "Green",
                    gates("commit scope build green_own_and_baseline tests_unmodified"),
                ),
                "graphs.main.steps.suite",
                checks=gates("green"),
                routes={"Passed": to("@end:Done"), "Failed": to("halt")},
            ),
            ["unbuilt_suite main.suite"],
            id="a_suite_of_what_is_not_built",
        ),
        pytest.param(
            change(
                put(
                    change(batch(), "", toolchain=BUILDS),
                    "graphs.cycle.steps.green.gates",
                    "Green",
                    gates("commit scope build green_own_and_baseline tests_unmodified"),
                ),
                "graphs.main.steps.suite",
                checks=gates("build"),
            ),
            ["unbuilt_suite main.suite"],
            id="a_suite_without_tests",
        ),
        pytest.param(
            put(bugfix(), "graphs.main.steps.repro.gates", "Reproduced", gates("commit scope red no_secrets")),
            ["unguarded_commit main.fix: Fixed, no_secrets"],
            id="what_only_some_keep",
        ),
        pytest.param(
            change(change(bugfix(), "roles.qa", writes=("checks/**",)), "roles.de", writes=("src/**",)),
            [
                "unguarded_commit main.repro: Reproduced",
            ],
            id="an_author_of_tests_and_of_more",
        ),
        pytest.param(
            _refactored("checkpoint scope_tests green"),
            ["unguarded_commit main.tidy: Tidied"],
            id="tests_that_may_have_been_weakened",
        ),
        pytest.param(
            put(bugfix(), "graphs.main.steps.review.gates", "Approved", gates("readonly coverage_complete")),
            ["unguarded_commit main.repro: Reproduced"],
            id="tests_that_nobody_counts",
        ),
    ],
)
def test_a_planted_fault_is_named(protocol: Protocol, expected: list[str]) -> None:
    assert faults_of(protocol, 16) == expected


def test_tests_that_fail_without_the_code_may_be_changed() -> None:
    assert said(_refactored("checkpoint scope_tests green still_red_on_skeleton")) == []


def test_every_author_of_code_needs_the_gates_of_the_others() -> None:
    second = Step(
        kind="agent",
        role="de",
        exits=("Polished",),
        needs=needs("fix.Fixed"),
        gates={"Polished": gates("commit scope build")},
        routes={"Polished": to("review")},
        template="polish.jinja",
    )
    protocol = put(bugfix(), FIX, "Fixed", gates("commit scope build green tests_unmodified interface_unmodified"))
    protocol = put(
        put(protocol, "graphs.main.steps", "polish", second), "exits", "Polished", Exit(fields={"commit": COMMIT})
    )
    protocol = put(protocol, "templates", "polish.jinja", "{{ fix.Fixed.commit }}")
    protocol = put(protocol, "graphs.main.steps.fix.routes", "Fixed", to("polish"))
    protocol = change(protocol, "graphs.main.steps.review", needs=needs("fix.Fixed", "polish.Polished"))
    assert faults_of(protocol, 16) == [
        "unguarded_commit main.polish: Polished",
        "unguarded_commit main.polish: Polished, fix.Fixed",
    ]


WAVE = "graphs.task-test.steps.work.gates"


@pytest.mark.parametrize(
    ("checks", "where"),
    [
        ("commit scope build unbroken", []),
        ("commit scope build red", []),
        ("commit scope build added", []),
        ("commit scope build same_colour", []),
        ("commit scope build", ["task-test.work"]),
        ("commit scope build measure", ["task-test.work"]),
        ("commit scope build unbroken?", ["task-test.work"]),
        ("commit scope build coverage_complete", ["task-test.work"]),
    ],
)
def test_a_step_that_may_break_tests_is_warned_about_unless_a_gate_notices(checks: str, where: list[str]) -> None:
    protocol = put(load("waterfall"), WAVE, "task_done", gates(f"{checks} no_secrets"))
    found = [it for it in check(protocol) if it.code == "protocol.unnoticed_break"]
    assert [(it.where, it.level) for it in found] == [(it, "warning") for it in where]


def test_documents_and_protocols_without_tests_break_none() -> None:
    protocol = load("waterfall")
    untested = put(protocol, WAVE, "task_done", gates("commit scope no_secrets"))
    untested = change(untested, "", toolchain=())
    assert "protocol.unnoticed_break" not in {it.code for it in check(untested)}
    documents = change(untested, "graphs.task-test.steps.work", writes=("docs/**", "README.md"))
    documents = change(documents, "", toolchain=("test",))
    assert "protocol.unnoticed_break" not in {it.code for it in check(documents)}


@pytest.mark.parametrize("name", ["v3", "fractal", "dptr", "riper", "waterfall"])
def test_every_step_of_the_built_in_protocols_notices_broken_tests(name: str) -> None:
    assert check(load(name)) == []


# Planted ways to merge what nobody has approved.


@pytest.mark.parametrize(
    ("protocol", "expected"),
    [
        pytest.param(
            change(
                put(bugfix(), "graphs.main.steps.fix.routes", "Fixed", to("review", when="attempt > 1") + to("merge")),
                "graphs.main.steps.merge",
                needs=needs("review.Approved?", "fix.Fixed?"),
            ),
            ["unapproved_merge main.merge"],
            id="a_way_around_the_reviewer",
        ),
        pytest.param(
            change(
                change(bugfix(), "graphs.main", commands={"/merge": "merge"}),
                "graphs.main.steps.merge",
                needs=needs("review.Approved?"),
            ),
            ["unapproved_merge main.merge: merge"],
            id="a_merge_by_command",
        ),
        pytest.param(
            put(
                change(
                    put(
                        bugfix(),
                        "graphs.main.steps.fix.routes",
                        "Fixed",
                        to("review", when="attempt > 1") + to("build"),
                    ),
                    "graphs.main.steps.merge",
                    needs=needs("review.Approved?"),
                ),
                "graphs.main.steps",
                "build",
                Step(
                    kind="check",
                    checks=gates("build"),
                    needs=needs("fix.Fixed"),
                    routes={"Passed": to("merge"), "Failed": to("human")},
                ),
            ),
            ["unapproved_merge main.merge"],
            id="a_way_around_the_reviewer_through_a_check",
        ),
    ],
)
def test_an_unapproved_merge_is_named(protocol: Protocol, expected: list[str]) -> None:
    assert faults_of(protocol, 16) == expected


def test_a_person_may_lead_the_work_to_the_merge() -> None:
    free = change(bugfix(), "graphs.main.steps.merge", needs=needs("review.Approved?"))
    assert said(put(free, "graphs.main.steps.human.routes", "accept", to("merge")), 16) == []


def test_a_commit_after_the_approval_makes_it_stale() -> None:
    """A writer after the reviewer makes the approval stale, though its slot is still set."""
    late = put(bugfix(), "graphs.main.steps.review.routes", "Approved", to("polish"))
    polish = Step(
        kind="agent",
        role="de",
        exits=("Fixed",),
        needs=needs("review.Approved", "repro.Reproduced", "review.Rejected?"),
        gates={"Fixed": gates("commit scope green tests_unmodified")},
        routes={"Fixed": to("merge")},
    )
    merge = change(late, "graphs.main.steps.merge", needs=needs("review.Approved", "polish.Fixed"))
    stale = put(merge, "graphs.main.steps", "polish", polish)
    assert faults_of(stale, 16) == ["unapproved_merge main.merge"]
    assert "polish.Fixed" in said(stale, 16)[0]


def test_time_is_not_a_person() -> None:
    free = change(bugfix(), "graphs.main.steps.merge", needs=needs("review.Approved?"))
    open_ = put(free, "graphs.main.steps.human.routes", "accept", to("merge"))
    assert said(change(open_, "graphs.main.steps.human", default="accept", default_after=60), 16) != []


# Planted parts that overlap, merges that nothing earned, and contracts that nobody has seen.


PLANNED = "graphs.node.steps.plan.gates"


_CONTRACT = Exit(proves="contract", fields={"commit": COMMIT})


_EXISTS = gates("checkpoint scope plan_covers_criteria children_partition contract_exists")


def _looked_at() -> Protocol:
    """A check between the reviewer and the merge that runs no tests."""
    look = Step(
        kind="check",
        checks=gates("lint"),
        needs=needs("review.Approved"),
        routes={"Passed": to("merge"), "Failed": to("human")},
    )
    protocol = put(bugfix(), "graphs.main.steps.review.routes", "Approved", to("look"))
    protocol = put(protocol, "graphs.main.steps", "look", look)
    protocol = change(protocol, "graphs.main.steps.merge", needs=needs("review.Approved", "look.Passed"))
    heard = needs("fix.Stuck?", "review.Rejected?", "look.Failed?", "!*?")
    return change(protocol, "graphs.main.steps.human", needs=heard)


@pytest.mark.parametrize(
    ("protocol", "expected"),
    [
        pytest.param(
            put(tree(), PLANNED, "Planned", gates("checkpoint scope plan_covers_criteria")),
            ["overlapping_parts node.plan: Planned"],
            id="parts_that_may_overlap",
        ),
        pytest.param(
            put(
                put(
                    tree(),
                    PLANNED,
                    "Planned",
                    gates("checkpoint scope owned_files plan_covers_criteria disjoint_writes"),
                ),
                "graphs.node.steps.work.gates",
                "Built",
                gates("commit scope"),
            ),
            ["overlapping_parts node.work: Built"],
            id="a_part_that_nobody_is_held_to",
        ),
        pytest.param(
            change(bugfix(), "graphs.main.steps.merge", needs=needs("review.Approved?")),
            ["unearned_merge main.merge"],
            id="a_merge_that_needs_nothing",
        ),
        pytest.param(
            change(bugfix(), "graphs.main.steps.merge", needs=needs("repro.Reproduced", "review.Approved?")),
            ["unearned_merge main.merge"],
            id="a_merge_that_needs_too_little",
        ),
        pytest.param(
            _looked_at(),
            ["unearned_merge main.look: merge"],
            id="a_check_that_runs_no_tests",
        ),
        pytest.param(
            put(tree(), "exits", "Merged", _CONTRACT),
            ["missing_contract node.plan: Planned"],
            id="a_contract_that_may_not_exist",
        ),
        pytest.param(
            put(tree(), PLANNED, "Planned", _EXISTS),
            ["missing_contract node.merge"],
            id="a_contract_that_nothing_is_held_to",
        ),
        pytest.param(
            put(put(tree(), PLANNED, "Planned", _EXISTS), "exits", "Merged", _CONTRACT),
            ["missing_contract node.merge: plan.Planned"],
            id="a_contract_that_the_merge_cannot_find",
        ),
    ],
)
def test_a_planted_fault_in_shares_is_named(protocol: Protocol, expected: list[str]) -> None:
    assert faults_of(protocol, 16) == expected


def test_a_contract_from_plan_to_merge() -> None:
    protocol = put(put(tree(), PLANNED, "Planned", _EXISTS), "exits", "Merged", _CONTRACT)
    assert said(change(protocol, "graphs.node.steps.merge", needs=needs("work.Built", "plan.Planned")), 16) == []


def test_a_person_may_merge_without_an_approval() -> None:
    protocol = put(bugfix(), "graphs.main.steps.review.routes", "Approved", to("human"))
    protocol = put(protocol, "graphs.main.steps.human.routes", "accept", to("merge"))
    protocol = change(protocol, "graphs.main.steps.merge", needs=())
    heard = needs("fix.Stuck?", "review.Rejected?", "review.Approved?", "!*?")
    protocol = change(protocol, "graphs.main.steps.human", needs=heard)
    assert said(put(protocol, "graphs.main.ends", "Done", needs("merge.Merged")), 16) == []


# Planted moves of a branch that nobody hears of.


_TOLD = Send(signal="Shift", to="children")


def _adapted(checks: str) -> Protocol:
    """A tree whose rebases are repaired by an agent."""
    adapt = Step(
        kind="agent",
        role="maker",
        template="adapt.jinja",
        exits=("Adapted",),
        needs=needs("rebase.Rebased"),
        gates={"Adapted": gates(checks)},
        routes={"Adapted": to("@resume", _TOLD), "!*": to("conflict")},
    )
    protocol = put(tree(), "graphs.node.steps.rebase.routes", "Rebased", to("adapt"))
    protocol = put(protocol, "graphs.node.steps", "adapt", adapt)
    protocol = put(protocol, "exits", "Adapted", Exit(fields={"commit": COMMIT}))
    return put(protocol, "templates", "adapt.jinja", "{{ spec.text }}")


@pytest.mark.parametrize(
    ("protocol", "expected"),
    [
        pytest.param(
            put(tree(), "graphs.node.steps.merge.routes", "Merged", to("@end:Merged")),
            ["unannounced_branch node.merge: Shift"],
            id="a_merge",
        ),
        pytest.param(
            put(
                tree(),
                "graphs.node.steps.plan.routes",
                "Planned",
                to("work", Spawn(group="parts", graph="node", over="parts")),
            ),
            ["unannounced_branch node.plan: Shift"],
            id="a_new_plan",
        ),
        pytest.param(
            put(tree(), "graphs.node.steps.rebase.routes", "Rebased", to("@resume")),
            ["unannounced_branch node.rebase: Shift"],
            id="a_rebase",
        ),
        pytest.param(
            _adapted("commit scope rebased canon"),
            ["unannounced_branch node.adapt: Adapted, same_colour"],
            id="an_adaptation_that_may_have_changed_more",
        ),
    ],
)
def test_an_unannounced_branch_is_named(protocol: Protocol, expected: list[str]) -> None:
    assert faults_of(protocol) == expected


def test_a_root_may_merge_without_a_signal() -> None:
    rows = to("@end:Merged", when="root") + to("@end:Merged", Send(signal="Shift", to="siblings"))
    assert said(put(tree(), "graphs.node.steps.merge.routes", "Merged", rows)) == []


def test_protocols_without_rebases_or_with_checked_ones_need_no_signal() -> None:
    assert said(batch(), 22) == []
    assert said(_adapted("commit scope rebased canon same_colour")) == []
