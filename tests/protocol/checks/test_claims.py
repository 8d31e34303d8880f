"""Planted exits that are held to a proof and do not say so."""

import pytest

from tests.protocol.checks.planted import (
    COMMIT,
    TEXT,
    WORKER,
    batch,
    bugfix,
    change,
    drop,
    gates,
    needs,
    put,
    said,
    to,
    tree,
)
from treadle.protocol.model import Artifact, Exit, Field, Protocol

_PARTS = Field(type="[Spec]?", route="items")
_FAULTS = Field(type="[Fault]", route="value")


@pytest.mark.parametrize(
    ("protocol", "expected"),
    [
        pytest.param(
            put(batch(), "exits", "Red", Exit(fields={"commit": COMMIT})),
            ["16 cycle.red: exit 'Red' passes what proves red, but does not say so (add `proves: red` to the exit)"],
            id="red",
        ),
        pytest.param(
            put(bugfix(), "exits", "Fixed", Exit(fields={"commit": COMMIT, "note": Field(type="text?")})),
            [
                (
                    "16 main.fix: exit 'Fixed' passes what proves green, but does not say so (add `proves: "
                    "green` to the exit)"
                )
            ],
            id="green",
        ),
        pytest.param(
            put(tree(), "exits", "Planned", Exit(fields={"parts": _PARTS, "commit": COMMIT})),
            [
                (
                    "16 node.plan: exit 'Planned' passes what proves plan, but does not say so (add `proves: "
                    "plan` to the exit)"
                )
            ],
            id="a_plan",
        ),
        pytest.param(
            put(tree(), "exits", "Planned", Exit(proves="plan", fields={"parts": _PARTS})),
            [
                (
                    "16 node.plan: exit 'Planned' proves plan, but neither records what was changed nor "
                    "forbids it (add a field `by: git`, or gate it by 'readonly')"
                )
            ],
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
                (
                    "16 main.review: can refuse, but none of its exits proves anything (Approved, Rejected) (add "
                    "`proves: approval` to exit 'Approved')"
                ),
                (
                    "16 main.review: exit 'Approved' leads to merge 'merge', but does not prove approval (add `proves: "
                    "approval` to exit 'Approved')"
                ),
                "16 main.merge: merges whatever comes to it (add what earns the merge to `needs`: fix.Fixed)",
            ],
            id="an_approval",
        ),
        pytest.param(
            change(bugfix(), "roles.critic", perms=WORKER, writes=("docs/**",)),
            ["16 main.review: may write docs/**, but every exit wants the tree unchanged (write `writes: []`)"],
            id="a_reader_who_may_write",
        ),
        pytest.param(
            change(bugfix(), "", artifacts={"reason": Artifact(path="review.md", writer="critic")}),
            [
                (
                    "16 main.review: exit 'Approved' returns the document 'reason', but no gate looks at "
                    "it (gate it by 'documents')"
                )
            ],
            id="a_document_that_nobody_looks_at",
        ),
    ],
)
def test_a_planted_fault_is_named(protocol: Protocol, expected: list[str]) -> None:
    assert said(protocol) == expected


def test_a_view_is_no_document_of_an_agent() -> None:
    artifacts = {"reason": Artifact(path="review.md", writer="orchestrator", view="state")}
    assert said(change(bugfix(), "", artifacts=artifacts)) == []


def test_a_variant_that_was_held_to_less_is_not_merged() -> None:
    verdict = Exit(proves="approval", route_on="verdict", fields={"verdict": Field(type="Good | Bad"), "reason": TEXT})
    protocol = put(bugfix(), "exits", "Approved", verdict)
    checks = {
        "Approved.Good": gates("readonly green"),
        "Approved.Bad": gates("readonly"),
        "Rejected": gates("readonly"),
    }
    protocol = change(protocol, "graphs.main.steps.review", gates=checks)
    [line] = said(protocol)
    assert line == (
        "16 main.review: exit 'Approved' leads to merge 'merge' without 'green', unlike its other variants (lead it "
        "elsewhere, or gate it alike)"
    )
    rows = {**bugfix().graphs["main"].steps["review"].routes, "Approved.Bad": to("human")}
    parted = change(protocol, "graphs.main.steps.review", routes={**rows, "Approved.Good": to("merge")})
    parted = drop(parted, "graphs.main.steps.review.routes", "Approved")
    heard = needs("fix.Stuck?", "review.Rejected?", "review.Approved?", "!*?")
    assert said(change(parted, "graphs.main.steps.human", needs=heard), 16) == []


def test_what_no_guard_speaks_of_is_not_merged() -> None:
    rows = to("human", when="last.fix == 'Stuck.Lost'") + to("merge")
    protocol = put(bugfix(), "graphs.main.steps.review.routes", "Approved", rows)
    heard = needs("fix.Stuck?", "review.Rejected?", "review.Approved?", "!*?")
    assert said(change(protocol, "graphs.main.steps.human", needs=heard), 16) == [
        (
            "16 main.review: exit 'Approved' leads to merge 'merge' whenever no guard holds (merge under "
            "a guard, and let the last row lead elsewhere)"
        )
    ]
