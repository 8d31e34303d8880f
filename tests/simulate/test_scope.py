"""Scopes cut a protocol down without changing what its rows mean."""

from tests.kernel.protocols import WORK_AND_REVIEW, agent, graph, protocol, to
from treadle.protocol.model import Limits, row
from treadle.simulate.scope import Scope, clip
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


def test_nothing_but_the_protocol_ends_a_search() -> None:
    small = clip(protocol(graph({"a": agent({"Go": to("@end:Done")})}), limits=Limits(cost=5, wall=9)), Scope(depth=3))
    assert (small.limits.cost, small.limits.wall, small.limits.infra_retries, small.limits.depth) == (0, 0, 0, 3)


def test_a_menu_names_keys_tags_and_originals_of_clones() -> None:
    scope = Scope(menus={"impl": ("Stuck",), "stuck": ("retry",), "stuck@tests": ("abort",)})
    assert scope.menu("impl", ("Ready", "Stuck.Loop", "Stuck.Skill")) == ("Stuck.Loop", "Stuck.Skill")
    assert scope.menu("stuck@impl", ("retry", "abort")) == ("retry",)
    assert scope.menu("stuck@tests", ("retry", "abort")) == ("abort",)
    assert scope.menu("review", ("Good",)) == ("Good",)
