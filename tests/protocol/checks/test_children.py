"""Planted groups that are two things, or still at work when everything is finished."""

import pytest

from tests.protocol.checks.planted import (
    COMMIT,
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
from treadle.protocol.checks.children import ends_wait_for_children
from treadle.protocol.checks.subject import ProtocolSubject
from treadle.protocol.model import (
    Budget,
    CancelGroup,
    Exit,
    Field,
    Graph,
    Handler,
    Protocol,
    Rows,
    Send,
    Spawn,
    Step,
    Wait,
)

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
            ["mixed_group node.plan: parts"],
            id="a_group_spawned_twice",
        ),
        pytest.param(
            _both_waited(put(tree(), PLANNED, "Planned", _spawning(("parts", "parts"), ("others", "parts")))),
            ["mixed_group node.plan: parts"],
            id="a_list_used_twice",
        ),
        pytest.param(
            change(tree(), "graphs.node.steps.work", wait=()),
            ["early_end node.merge: parts"],
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
            ["early_end node.work: Merged, parts"],
            id="an_end_that_does_not_wait",
        ),
    ],
)
def test_a_planted_fault_is_named(protocol: Protocol, expected: list[str]) -> None:
    assert faults_of(protocol, 13) == expected


def test_a_group_is_of_one_graph() -> None:
    both = put(tree(), "graphs", "other", tree().graphs["node"])
    told = Send(signal="Shift", to="children")
    rows = (
        *to("work", told, Spawn(group="parts", graph="node", over="parts"), when="same_failure > 1"),
        *to("work", told, Spawn(group="parts", graph="other", over="parts")),
    )
    assert faults_of(put(both, PLANNED, "Planned", rows), 13) == ["mixed_group node.plan: other, parts, plan, node"]


def test_a_cancelled_group_is_not_at_work() -> None:
    protocol = change(tree(), "graphs.node.steps.work", wait=())
    built = to("merge", CancelGroup(group="parts"))
    assert said(put(protocol, "graphs.node.steps.work.routes", "Built", built), 13) == []


def test_a_group_that_only_a_handler_spawns_cannot_be_joined() -> None:
    """A join over a group that only the handler of its failed children spawns."""
    again = Step(
        kind="agent",
        role="planner",
        exits=("Planned",),
        gates={"Planned": gates("checkpoint scope plan_covers_criteria children_partition")},
        routes={"Planned": to("@resume", Spawn(group="parts", graph="node", over="parts")), "!*": to("@end:Aborted")},
    )
    protocol = put(put(tree(), "graphs.node.steps", "lost", again), PLANNED, "Planned", to("work"))
    (found,) = ends_wait_for_children(ProtocolSubject(protocol, None))
    assert (found.where, "'parts'" in found.message, "handlers" in found.message) == ("node.work", True, True)


# Planted joins that would never end.


@pytest.mark.parametrize(
    ("protocol", "expected"),
    [
        pytest.param(
            change(bugfix(), "graphs.main.steps.fix", wait=(Wait(kind="group", group="parts"),)),
            ["endless_join main.fix: parts"],
            id="a_group_that_is_never_spawned",
        ),
        pytest.param(
            put(
                put(
                    change(tree(), "graphs.node.steps.plan", wait=(Wait(kind="group", group="parts"),)),
                    "graphs.node.steps.plan.routes",
                    "Planned",
                    to("work"),
                ),
                "graphs.node.steps.merge.routes",
                "Merged",
                to(
                    "@end:Merged",
                    Send(signal="Shift", to="siblings"),
                    Spawn(group="parts", graph="node", over="commit"),
                ),
            ),
            [
                "endless_join node.plan: parts",
                "endless_join node.work: parts",
                "endless_join node.lost: Aborted, plan, parts",
                "unfit_items node.merge: commit",
            ],
            id="a_group_that_is_spawned_too_late",
        ),
        pytest.param(
            change(batch(), "graphs.main", ok={}),
            ["endless_join main.cycles: cycles"],
            id="a_group_without_good_outcomes",
        ),
        pytest.param(
            put(batch(), "graphs.main.ok", "cycle", ("Done",)),
            ["endless_join main: ok, cycle -> cycles"],
            id="good_outcomes_of_no_group",
        ),
        pytest.param(
            put(batch(), "graphs.main.ok", "cycles", ("Doen",)),
            ["endless_join main: cycles, Doen -> Done"],
            id="a_good_outcome_that_is_none",
        ),
        pytest.param(
            put(batch(), "graphs.main.ok", "cycles", ("Done", "Aborted")),
            ["endless_join main: Aborted, cycles"],
            id="an_abort_is_never_good",
        ),
        pytest.param(
            drop(tree(), "graphs.node.handlers", "child:Aborted"),
            [
                "unreachable_step node.lost",
                "endless_join node: parts, Aborted",
            ],
            id="a_bad_outcome_nobody_handles",
        ),
        pytest.param(
            put(tree(), "graphs.node.steps.lost.routes", "ignore", to("@resume")),
            ["endless_join node.lost: Aborted, parts"],
            id="a_handler_that_resumes_as_if_nothing_had_happened",
        ),
        pytest.param(
            put(tree(), "graphs.node.steps.lost.routes", "ignore", to("^work")),
            ["endless_join node.lost: Aborted, work, parts"],
            id="a_redirect_that_comes_to_the_join_again",
        ),
    ],
)
def test_an_endless_join_is_named(protocol: Protocol, expected: list[str]) -> None:
    assert faults_of(protocol) == expected


def test_the_roster_may_be_changed_on_the_way() -> None:
    calm = to("@resume", CancelGroup(group="parts"))
    assert said(put(tree(), "graphs.node.steps.lost.routes", "ignore", calm)) == []


# Planted faults around barriers.


@pytest.mark.parametrize(
    ("protocol", "expected"),
    [
        pytest.param(
            put(batch(), "graphs.cycle.steps.red.routes", "!*", to("halt", sync=True)),
            ["barrier_out_of_step cycle.red: red, green, halt"],
            id="two_landings_after_the_start",
        ),
        pytest.param(
            put(
                put(
                    change(
                        put(batch(), "graphs.cycle.steps.green.routes", "Green", to("suite", sync=True)),
                        "graphs.cycle",
                        handlers={"Shift": Handler(step="shift")},
                        ends={"Done": needs("suite.Passed?", "suite.Failed?")},
                    ),
                    "graphs.cycle.steps",
                    "shift",
                    Step(kind="ask", asks="human", routes={"go": to("^red")}),
                ),
                "graphs.cycle.steps",
                "suite",
                Step(
                    kind="check",
                    checks=gates("build"),
                    needs=needs("green.Green"),
                    routes={"Passed": to("@end:Done"), "Failed": to("@end:Done")},
                ),
            ),
            ["barrier_out_of_step cycle.green: green, suite, green"],
            id="a_redirect_across_a_barrier",
        ),
        pytest.param(
            put(bugfix(), "graphs.main.steps.fix.routes", "Fixed", to("review", sync=True)),
            ["barrier_without_map main.fix: main"],
            id="a_barrier_in_the_root",
        ),
        pytest.param(
            put(tree(), "graphs.node.steps.work.routes", "Built", to("merge", sync=True)),
            [
                "barrier_without_map node.work: node",
                "barrier_without_map node.work: node.plan, node",
            ],
            id="a_barrier_among_spawned_children",
        ),
        pytest.param(
            change(batch(), "graphs.main.steps.cycles", after="after"),
            ["barrier_without_map cycle.red: main.cycles, after"],
            id="a_barrier_in_a_sliding_window",
        ),
    ],
)
def test_a_barrier_out_of_step_is_named(protocol: Protocol, expected: list[str]) -> None:
    assert faults_of(protocol) == expected


def test_a_retry_inside_a_barrier_is_in_step() -> None:
    assert said(change(batch(), "graphs.cycle.steps.red", attempts=3)) == []


def test_a_spent_budget_leads_past_the_barrier() -> None:
    graph = change(batch(), "graphs.cycle", budgets={"rounds": Budget(max=1, to="halt")})
    again = to("green", sync=True, charge="rounds")
    protocol = change(graph, "graphs.cycle.steps.green", needs=needs("red.Red", "green.Green?"))
    looped = put(protocol, "graphs.cycle.steps.green.routes", "Green", again)
    assert said(looped, 10) == []


# Planted faults in what children are started over.


@pytest.mark.parametrize(
    ("protocol", "expected"),
    [
        pytest.param(
            put(batch(), "types.Plan.fields", "cycles", Field(type="[Cycle]")),
            ["unfit_items main.cycles: in.cycles"],
            id="a_list_that_is_not_routed",
        ),
        pytest.param(
            change(batch(), "graphs.main.steps.cycles", over="in.cycle"),
            ["unfit_items main.cycles: in.cycle, Plan, cycle -> cycles"],
            id="an_unknown_list_of_the_input",
        ),
        pytest.param(
            put(
                tree(),
                "graphs.node.steps.plan.routes",
                "Planned",
                to("work", Spawn(group="parts", graph="node", over="part")),
            ),
            ["unfit_items node.plan: part, Planned, part -> parts"],
            id="an_unknown_list_of_an_exit",
        ),
        pytest.param(
            change(batch(), "graphs.main.steps.cycles", over="cycles"),
            ["unfit_items main.cycles: cycles"],
            id="no_list_at_all",
        ),
        pytest.param(
            put(
                tree(),
                "graphs.node.steps.plan.routes",
                "Planned",
                to("work", Spawn(group="parts", graph="node", over="")),
            ),
            ["unfit_items node.plan: parts"],
            id="a_spawn_over_nothing",
        ),
        pytest.param(
            put(batch(), "types.Plan.fields", "cycles", Field(type="[Plan]", route="items")),
            ["unfit_items main.cycles: cycle, Plan, Cycle"],
            id="items_of_another_type",
        ),
        pytest.param(
            change(batch(), "graphs.main.steps.cycles", over="", window=""),
            ["unfit_items main.cycles: cycle, Plan, Cycle"],
            id="a_call_with_another_input",
        ),
    ],
)
def test_unfit_items_are_named(protocol: Protocol, expected: list[str]) -> None:
    assert faults_of(protocol) == expected


def test_a_call_hands_on_the_fields_of_the_exit_that_ended_it() -> None:
    """`plan.AllOk.cycles`: the map's items come from the result of a graph that was called before."""
    planned = Exit(fields={"cycles": Field(type="[Cycle]", route="items")})
    planner = Graph(
        start="think",
        input=("plan", "Plan"),
        ends={"Done": needs("think.Planned"), "Aborted": needs("!*?")},
        system={"!*": to("@end:Aborted")},
        steps={
            "think": Step(
                kind="agent",
                role="qa",
                template="think.jinja",
                exits=("Planned",),
                routes={"Planned": to("@end:Done")},
            )
        },
    )
    protocol = put(put(batch(), "graphs", "planner", planner), "exits", "Planned", planned)
    protocol = put(protocol, "templates", "think.jinja", "{{ plan.id }}")
    call = Step(
        kind="map",
        graph="planner",
        needs=needs("prepare.Ready"),
        routes={"AllOk": to("cycles"), "SomeFailed": to("halt")},
    )
    protocol = put(put(protocol, "graphs.main.steps", "think", call), "graphs.main.ok", "think", ("Done",))
    protocol = put(protocol, "graphs.main.steps.prepare.routes", "Ready", to("think"))
    protocol = put(protocol, "graphs.main.steps.halt.routes", "go", to("think"))
    protocol = change(protocol, "graphs.main.steps.think", needs=needs("prepare.Ready?"))
    halted = needs("think.SomeFailed?", "cycles.SomeFailed?", "suite.Failed?", "!*?")
    protocol = change(protocol, "graphs.main.steps.halt", needs=halted)
    protocol = put(protocol, "graphs.main.ends", "Done", needs("think.AllOk", "cycles.AllOk", "suite.Passed"))
    assert said(change(protocol, "graphs.main.steps.cycles", over="think.AllOk.cycles")) == []
    assert faults_of(change(protocol, "graphs.main.steps.cycles", over="think.AllOk.cycle")) == [
        "unfit_items main.cycles: think.AllOk.cycle, think, cycle -> cycles"
    ]
