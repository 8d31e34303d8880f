"""Planted parts that overlap, merges that nothing earned, and contracts that nobody has seen."""

import pytest

from tests.protocol.checks.planted import COMMIT, bugfix, change, gates, needs, put, said, to, tree
from treadle.protocol.model import Exit, Protocol, Step

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
            [
                (
                    "16 node.plan: exit 'Planned' hands out parts of which nobody has shown that they are"
                    " disjoint (gate it by 'children_partition' or 'disjoint_writes')"
                )
            ],
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
            ["16 node.work: exit 'Built' is not held to the files that were given to it (gate it by 'owned_files')"],
            id="a_part_that_nobody_is_held_to",
        ),
        pytest.param(
            change(bugfix(), "graphs.main.steps.merge", needs=needs("review.Approved?")),
            [
                (
                    "16 main.merge: merges whatever comes to it (add what earns the merge to `needs`: fix.Fixed or "
                    "review.Approved)"
                )
            ],
            id="a_merge_that_needs_nothing",
        ),
        pytest.param(
            change(bugfix(), "graphs.main.steps.merge", needs=needs("repro.Reproduced", "review.Approved?")),
            [
                (
                    "16 main.merge: merges whatever comes to it (add what earns the merge to `needs`: fix.Fixed or "
                    "review.Approved)"
                )
            ],
            id="a_merge_that_needs_too_little",
        ),
        pytest.param(
            _looked_at(),
            ["16 main.look: leads to merge 'merge', but runs no tests (add 'green')"],
            id="a_check_that_runs_no_tests",
        ),
        pytest.param(
            put(tree(), "exits", "Merged", _CONTRACT),
            [
                (
                    "16 node.plan: exit 'Planned' plans work that a contract suite decides, but not that there is one "
                    "(gate it by 'contract_exists')"
                )
            ],
            id="a_contract_that_may_not_exist",
        ),
        pytest.param(
            put(tree(), PLANNED, "Planned", _EXISTS),
            [
                (
                    "16 node.merge: merges work that has a contract suite, but none of its exits proves contract (add "
                    "`proves: contract`)"
                )
            ],
            id="a_contract_that_nothing_is_held_to",
        ),
        pytest.param(
            put(put(tree(), PLANNED, "Planned", _EXISTS), "exits", "Merged", _CONTRACT),
            [
                (
                    "16 node.merge: runs the contract suite, but does not read 'plan.Planned', which names it (add "
                    "'plan.Planned*' to `needs`)"
                )
            ],
            id="a_contract_that_the_merge_cannot_find",
        ),
    ],
)
def test_a_planted_fault_is_named(protocol: Protocol, expected: list[str]) -> None:
    assert said(protocol, 16) == expected


def test_a_contract_from_plan_to_merge() -> None:
    protocol = put(put(tree(), PLANNED, "Planned", _EXISTS), "exits", "Merged", _CONTRACT)
    assert said(change(protocol, "graphs.node.steps.merge", needs=needs("work.Built", "plan.Planned")), 16) == []


def test_a_person_may_merge_what_they_like() -> None:
    protocol = put(bugfix(), "graphs.main.steps.review.routes", "Approved", to("human"))
    protocol = put(protocol, "graphs.main.steps.human.routes", "accept", to("merge"))
    protocol = change(protocol, "graphs.main.steps.merge", needs=())
    heard = needs("fix.Stuck?", "review.Rejected?", "review.Approved?", "!*?")
    protocol = change(protocol, "graphs.main.steps.human", needs=heard)
    assert said(put(protocol, "graphs.main.ends", "Done", needs("merge.Merged")), 16) == []
