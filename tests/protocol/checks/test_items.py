"""Planted faults in what children are started over."""

import pytest

from tests.protocol.checks.planted import batch, change, needs, put, said, to, tree
from treadle.protocol.model import Exit, Field, Graph, Protocol, Spawn, Step


@pytest.mark.parametrize(
    ("protocol", "expected"),
    [
        pytest.param(
            put(batch(), "types.Plan.fields", "cycles", Field(type="[Cycle]")),
            [
                (
                    "15 main.cycles: starts children over 'in.cycles', which is not routed as items (add "
                    "`route: items` to the field)"
                )
            ],
            id="a_list_that_is_not_routed",
        ),
        pytest.param(
            change(batch(), "graphs.main.steps.cycles", over="in.cycle"),
            [
                (
                    "15 main.cycles: starts children over 'in.cycle', but the input 'Plan' has no field "
                    "'cycle' (did you mean 'cycles'?)"
                )
            ],
            id="an_unknown_list_of_the_input",
        ),
        pytest.param(
            put(
                tree(),
                "graphs.node.steps.plan.routes",
                "Planned",
                to("work", Spawn(group="parts", graph="node", over="part")),
            ),
            [
                (
                    "15 node.plan: starts children over 'part', but exit 'Planned' has no field 'part' "
                    "(did you mean 'parts'?)"
                )
            ],
            id="an_unknown_list_of_an_exit",
        ),
        pytest.param(
            change(batch(), "graphs.main.steps.cycles", over="cycles"),
            [
                (
                    "15 main.cycles: starts children over 'cycles', which is no list it knows (write "
                    "`in.field` or `step.Exit.field`)"
                )
            ],
            id="no_list_at_all",
        ),
        pytest.param(
            put(
                tree(),
                "graphs.node.steps.plan.routes",
                "Planned",
                to("work", Spawn(group="parts", graph="node", over="")),
            ),
            ["15 node.plan: spawns group 'parts' over nothing (name a field of the exit with `over`)"],
            id="a_spawn_over_nothing",
        ),
        pytest.param(
            put(batch(), "types.Plan.fields", "cycles", Field(type="[Plan]", route="items")),
            [
                (
                    "15 main.cycles: starts 'cycle' over items of 'Plan', but that takes 'Cycle' (let "
                    "both be the same type)"
                )
            ],
            id="items_of_another_type",
        ),
        pytest.param(
            change(batch(), "graphs.main.steps.cycles", over="", window=""),
            [
                (
                    "15 main.cycles: calls 'cycle' with its own input 'Plan', but that takes 'Cycle' "
                    "(name the items with `over`, or give both graphs the same input)"
                )
            ],
            id="a_call_with_another_input",
        ),
    ],
)
def test_a_planted_fault_is_named(protocol: Protocol, expected: list[str]) -> None:
    assert said(protocol) == expected


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
    [line] = said(change(protocol, "graphs.main.steps.cycles", over="think.AllOk.cycle"))
    assert line == (
        "15 main.cycles: starts children over 'think.AllOk.cycle', but the result of 'think' has no field 'cycle' "
        "(did you mean 'cycles'?)"
    )
