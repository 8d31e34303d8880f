"""Planted groups that are two things, or still at work when everything is finished."""

import pytest

from tests.protocol.checks.planted import COMMIT, change, gates, needs, put, said, to, tree
from treadle.protocol.checks.children import nothing_is_finished_early
from treadle.protocol.checks.subject import Subject
from treadle.protocol.model import CancelGroup, Exit, Field, Protocol, Rows, Send, Spawn, Step, Wait

_ITEMS = Field(type="[Spec]?", route="items")


def _two_lists() -> Protocol:
    fields = {"parts": _ITEMS, "more": _ITEMS, "commit": COMMIT}
    return put(tree(), "exits", "Planned", Exit(proves="plan", fields=fields))


def _spawning(*pairs: tuple[str, str]) -> Rows:
    spawns = [Spawn(group=group, graph="node", over=over) for group, over in pairs]
    return to("work", Send(signal="Shift", to="children"), *spawns)


def _both_waited(protocol: Protocol) -> Protocol:
    waits = tuple(Wait(kind="group", group=group) for group in ("parts", "others"))
    ok = change(protocol, "graphs.node", ok={"parts": ("Merged",), "others": ("Merged",)})
    return change(ok, "graphs.node.steps.work", wait=waits)


PLANNED = "graphs.node.steps.plan.routes"


@pytest.mark.parametrize(
    ("protocol", "expected"),
    [
        pytest.param(
            put(_two_lists(), PLANNED, "Planned", _spawning(("parts", "parts"), ("parts", "more"))),
            [
                (
                    "13 node.plan: Planned spawns group 'parts' twice; the second list would end the first one's "
                    "children (spawn a group once on a row)"
                )
            ],
            id="a_group_spawned_twice",
        ),
        pytest.param(
            _both_waited(put(tree(), PLANNED, "Planned", _spawning(("parts", "parts"), ("others", "parts")))),
            ["13 node.plan: starts children over 'parts' twice (start them once)"],
            id="a_list_used_twice",
        ),
        pytest.param(
            change(tree(), "graphs.node.steps.work", wait=()),
            [
                (
                    "13 node.merge: merges while children of group 'parts' may still be at work (wait for it on every "
                    "way: `wait: [group:parts]`)"
                )
            ],
            id="a_merge_that_does_not_wait",
        ),
        pytest.param(
            put(
                put(
                    change(tree(), "graphs.node.steps.work", wait=()),
                    "graphs.node.steps.work.routes",
                    "Built",
                    to("@end:Merged", when="attempt > 1") + to("merge", CancelGroup(group="parts")),
                ),
                "graphs.node.ends",
                "Merged",
                needs("plan.Planned", "work.Built?", "merge.Merged?"),
            ),
            [
                (
                    "13 node.work: Built ends in 'Merged' while children of group 'parts' may still be at work (wait "
                    "for it on every way: `wait: [group:parts]`)"
                )
            ],
            id="an_end_that_does_not_wait",
        ),
    ],
)
def test_a_planted_fault_is_named(protocol: Protocol, expected: list[str]) -> None:
    assert said(protocol, 13) == expected


def test_a_group_is_of_one_graph() -> None:
    both = put(tree(), "graphs", "other", tree().graphs["node"])
    told = Send(signal="Shift", to="children")
    rows = (
        *to("work", told, Spawn(group="parts", graph="node", over="parts"), when="same_failure > 1"),
        *to("work", told, Spawn(group="parts", graph="other", over="parts")),
    )
    assert said(put(both, PLANNED, "Planned", rows), 13) == [
        (
            "13 node.plan: starts 'other' in group 'parts', in which 'plan' starts 'node' (give each graph a "
            "group of its own)"
        )
    ]


def test_a_cancelled_group_is_not_at_work() -> None:
    protocol = change(tree(), "graphs.node.steps.work", wait=())
    built = to("merge", CancelGroup(group="parts"))
    assert said(put(protocol, "graphs.node.steps.work.routes", "Built", built), 13) == []


def test_what_goes_on_with_a_group_does_not_begin_it() -> None:
    """A join over a group that only the handler of its failed children spawns."""
    again = Step(
        kind="agent",
        role="planner",
        exits=("Planned",),
        gates={"Planned": gates("checkpoint scope plan_covers_criteria children_partition")},
        routes={"Planned": to("@resume", Spawn(group="parts", graph="node", over="parts")), "!*": to("@end:Aborted")},
    )
    protocol = put(put(tree(), "graphs.node.steps", "lost", again), PLANNED, "Planned", to("work"))
    found = [finding.message for finding in nothing_is_finished_early(Subject(protocol, None))]
    assert found == ["waits for group 'parts', which only the handlers of failed children spawn"]
