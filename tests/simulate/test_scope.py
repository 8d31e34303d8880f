"""Scopes cut a protocol down without changing what its rows mean."""

import pytest

from tests.kernel.protocols import WORK_AND_REVIEW, agent, graph, protocol, to
from treadle.errors import ProtocolError
from treadle.protocol.load import load
from treadle.protocol.model import Limits, row
from treadle.simulate.scope import Scope, clip, read_scopes, unknown_names
from treadle.testing.scenario import Scenario


def test_attempts_and_budgets_shrink_and_never_grow() -> None:
    small = clip(WORK_AND_REVIEW, Scope(attempts=2, budgets=1)).graphs["main"]
    assert (small.steps["work"].attempts, small.steps["review"].attempts) == (2, 1)
    assert small.budgets["reviews"].max == 1
    large = clip(WORK_AND_REVIEW, Scope(attempts=9, budgets=9)).graphs["main"]
    assert (large.steps["work"].attempts, large.budgets["reviews"].max) == (3, 2)


def test_a_step_that_tried_again_still_exhausts_its_attempts() -> None:
    """With one attempt left a refused claim is `!exhausted`, not the graph's `!gate`."""
    table = protocol(
        graph(
            {"work": agent({"Ready": to("@end:Done")}, gates="green", attempts=3)},
            system={"!gate": to("@end:Done"), "!*": to("@end:Failed")},
        )
    )
    small = clip(table, Scope(attempts=1))
    assert row(small.graphs["main"], "work", "!gate") == to("work")
    assert Scenario(small).says("Ready", fails=["green"]).where() == "@Failed"


def test_a_clipped_protocol_has_no_cost_or_time_limit() -> None:
    small = clip(protocol(graph({"a": agent({"Go": to("@end:Done")})}), limits=Limits(cost=5, wall=9)), Scope(depth=3))
    assert (small.limits.cost, small.limits.wall, small.limits.infra_retries, small.limits.depth) == (0, 0, 0, 3)


def test_a_menu_names_keys_tags_and_originals_of_clones() -> None:
    scope = Scope(menus={"impl": ("Stuck",), "stuck": ("retry",), "stuck@tests": ("abort",)})
    assert scope.menu("impl", ("Ready", "Stuck.Loop", "Stuck.Skill")) == ("Stuck.Loop", "Stuck.Skill")
    assert scope.menu("stuck@impl", ("retry", "abort")) == ("retry",)
    assert scope.menu("stuck@tests", ("retry", "abort")) == ("abort",)
    assert scope.menu("review", ("Good",)) == ("Good",)


# Scopes as data.


def test_a_scope_is_read_by_name() -> None:
    text = "leaf: {help: no children, depth: 0, attempts: 2}\nloose: {budgets: null, items: {parts: [1, null]}}\n"
    assert read_scopes(text) == {
        "leaf": Scope(name="leaf", help="no children", depth=0, attempts=2),
        "loose": Scope(name="loose", budgets=None, items={"parts": (1, None)}),
    }


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("- leaf\n", "scopes.yaml:1: scopes are a mapping"),
        ("a: {depht: 1}\n", "scopes.yaml:1: the scope 'a' is not understood"),
        ("a: {}\nb: {depth: deep}\n", "scopes.yaml:2: the scope 'b' is not understood"),
        ("a: {attempts: 0}\n", "the scope 'a' is not understood: attempts is 0, and must be at least 1"),
        ("a: {widths: [-1]}\n", "the scope 'a' is not understood: widths is -1, and must be at least 0"),
    ],
)
def test_a_broken_scope_is_named_with_its_line(text: str, why: str) -> None:
    with pytest.raises(ProtocolError) as error:
        read_scopes(text)
    assert why in str(error.value)


# Names in a scope that the protocol does not have.


@pytest.mark.parametrize(
    ("scope", "message"),
    [
        (Scope(graph="nodes"), "v3 has no graph 'nodes' (did you mean 'node'?); choose from node"),
        (Scope(menus={"imp": ("TestsPassed",)}), "v3 has no step 'imp' (did you mean 'impl'?)"),
        (Scope(items={"childSpec": (1,)}), "v3 has no field 'childSpec'"),
        (Scope(faults=("!gates",)), "v3 has no system exit '!gates' (did you mean '!gate'?)"),
    ],
)
def test_a_name_that_the_protocol_does_not_have(scope: Scope, message: str) -> None:
    (found,) = unknown_names(load("v3"), scope)
    assert found.startswith(message)


def test_a_scope_that_fits() -> None:
    scope = Scope(graph="node", menus={"stuck@impl": ("retry",)}, items={"InitWork.childSpecs": (1,)})
    assert list(unknown_names(load("v3"), scope)) == []
