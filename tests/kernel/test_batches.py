"""Maps, windows, barriers, dependencies, calls."""

import msgspec

from tests.kernel.protocols import BATCH, agent, ask, graph, protocol, to
from treadle.protocol.items import Item
from treadle.protocol.model import Handler, Limits, Step
from treadle.testing.scenario import Scenario, items


def batch(*keys: str, parallel: int = 2) -> Scenario:
    return Scenario(BATCH, {"cycles": items(*keys), "parallel": parallel})


def test_windows_run_one_after_the_other() -> None:
    run = batch("a", "b", "c")
    assert run.running() == ["root/a:red", "root/b:red"]
    assert "root/c" not in run.state.insts
    for key in "ab":
        run.says("Red", at=f"root/{key}:red")
    for key in "ab":
        run.says("Green", at=f"root/{key}:green")
    for key in "ab":
        run.says("Fine", at=f"root/{key}:review")
    assert run.running() == ["root/c:red"]


def test_a_barrier_opens_only_for_all_siblings() -> None:
    run = batch("a", "b").says("Red", at="root/a:red")
    assert (run.status("root/a"), run.running()) == ("synced", ["root/b:red"])
    run.says("Red", at="root/b:red", fails=["red"])
    assert run.running() == ["root/b:red"]
    run.says("Red", at="root/b:red")
    assert run.running() == ["root/a:green", "root/b:green"]


def test_a_loop_inside_the_barrier_does_not_wait_twice() -> None:
    run = batch("a", "b").says("Red", at="root/a:red").says("Red", at="root/b:red")
    run.says("Green", at="root/a:green").says("Issue", at="root/b:green").says("Adjusted")
    assert run.running() == ["root/b:green"]
    run.says("Green")
    assert run.running() == ["root/a:review", "root/b:review"]


def test_ended_siblings_leave_the_barrier() -> None:
    run = batch("a", "b").says("Red", at="root/a:red").says("Red", at="root/b:red")
    run.says("Green", at="root/a:green").says("Green", at="root/b:green")
    run.says("Fine", at="root/a:review").says("Again", at="root/b:review")
    assert run.running() == ["root/b:red"]
    run = batch("a", "b").says("Red", at="root/a:red").fails("blocked", at="root/b:red")
    assert run.running() == ["root/a:green"]


def test_an_aborted_child_leaves_its_barrier() -> None:
    run = batch("a", "b").says("Red", at="root/a:red").signals("abort", to="root/a")
    assert run.inst().groups["all"].arrived == 0
    assert run.says("Red", at="root/b:red").running() == ["root/b:green"]


def test_a_barrier_opens_while_a_sibling_is_interrupted() -> None:
    cycle = BATCH.graphs["cycle"]
    looked = {**cycle.steps, "look": agent({"Seen": to("@resume")})}
    cycle = msgspec.structs.replace(cycle, steps=looked, handlers={"Shift": Handler(step="look", prio=0)})
    table = msgspec.structs.replace(BATCH, graphs={**BATCH.graphs, "cycle": cycle})
    run = Scenario(table, {"cycles": items("a", "b"), "parallel": 2}).says("Red", at="root/a:red")
    run.signals("Shift", to="root/a").says("Red", at="root/b:red")
    assert run.running() == ["root/a:look", "root/b:green"]
    assert run.says("Seen", at="root/a:look").running() == ["root/a:green", "root/b:green"]


def _finish(run: Scenario, key: str) -> None:
    for exit_, step in (("Red", "red"), ("Green", "green"), ("Fine", "review")):
        run.says(exit_, at=f"root/{key}:{step}")


def test_a_map_is_done_when_all_windows_are() -> None:
    run = batch("a", "b", parallel=1)
    _finish(run, "a")
    assert run.running() == ["root/b:red"]
    _finish(run, "b")
    assert run.where() == "@Done"


def test_a_failure_stops_the_next_window() -> None:
    run = batch("a", "b", parallel=1).fails("blocked", at="root/a:red")
    assert run.where() == "@Failed"
    assert run.inst().slots["all.SomeFailed"].fields["failed"] == 2


def test_an_empty_map_is_done_at_once() -> None:
    run = batch()
    assert run.where() == "@Done"
    assert run.inst().slots["all.AllOk"].fields["total"] == 0


def test_equal_keys_get_numbered_instances() -> None:
    assert batch("a", "a").running() == ["root/a:red", "root/a~2:red"]
    assert batch("a", "a~2", "a", parallel=3).running() == ["root/a:red", "root/a~2:red", "root/a~3:red"]


def test_hostile_keys_cannot_shape_an_id() -> None:
    assert batch("../x:y#1", "", parallel=2).running() == ["root/-:red", "root/..-x-y-1:red"]


def _stories(keep_going: bool = True) -> Scenario:
    stories = Step(
        kind="map",
        graph="story",
        over="in.stories",
        window="2",
        after="blocked_by",
        keep_going=keep_going,
        routes={"AllOk": to("@end:Done"), "SomeFailed": to("@end:Failed")},
    )
    table = protocol(
        graph({"stories": stories}, ok={"stories": ("Done",)}),
        ("story", graph({"work": agent({"Ok": to("@end:Done")})})),
    )
    backlog = (
        Item("a", "1"),
        Item("b", "2", {"blocked_by": ("a",)}),
        Item("c", "3", {"blocked_by": ("b", "a")}),
        Item("d", "4"),
    )
    return Scenario(table, {"stories": backlog})


def test_items_start_when_their_dependencies_are_done() -> None:
    run = _stories()
    assert run.running() == ["root/a:work", "root/d:work"]
    assert run.says("Ok", at="root/a:work").running() == ["root/b:work", "root/d:work"]
    assert run.says("Ok", at="root/d:work").running() == ["root/b:work"]
    assert run.says("Ok").says("Ok").where() == "@Done"


def test_dependents_of_a_failed_item_do_not_start() -> None:
    run = _stories().fails("blocked", at="root/a:work")
    assert run.running() == ["root/d:work"]
    assert run.says("Ok").where() == "@Failed"
    assert run.inst().slots["stories.SomeFailed"].fields["failed"] == 3


def test_items_that_wait_for_each_other_end_the_map() -> None:
    table = _stories().protocol
    circle = (Item("a", "1", {"blocked_by": ("b",)}), Item("b", "2", {"blocked_by": ("a",)}))
    assert Scenario(table, {"stories": circle}).where() == "@Failed"


def test_a_call_hands_up_the_childs_result() -> None:
    call = Step(kind="map", graph="plan", routes={"AllOk": to("rest"), "SomeFailed": to("@end:Failed")})
    rest = Step(
        kind="map",
        graph="plan",
        over="call.AllOk.parts",
        window="1",
        routes={"AllOk": to("@end:Done"), "SomeFailed": to("@end:Failed")},
    )
    plan = graph({"plan": agent({"Plan": to("@end:Done")})})
    table = protocol(graph({"call": call, "rest": rest}, ok={"call": ("Done",), "rest": ("Done",)}), ("plan", plan))
    run = Scenario(table, {"x": 1})
    assert run.running() == ["root/call:plan"]
    assert run.inst("root/call").input.fields == {"x": 1}
    run.says("Plan", parts=items("p", "q"))
    assert run.running() == ["root/p:plan"]
    assert run.says("Plan").says("Plan").where() == "@Done"


def test_a_map_beyond_the_limit_of_instances_leaves_by_limit() -> None:
    table = msgspec.structs.replace(BATCH, limits=Limits(instances=2))
    run = Scenario(table, {"cycles": items("a", "b"), "parallel": 2})
    assert run.inst().last == {"all": "!limit"}


def test_a_map_entered_again_restarts_all_items_unless_it_keeps_done_ones() -> None:
    for keep, expected in ((False, ["root/a~2:work", "root/b~2:work"]), (True, ["root/b~2:work"])):
        every = Step(
            kind="map",
            graph="part",
            over="in.parts",
            keep_going=True,
            keep_done=keep,
            routes={"AllOk": to("@end:Done"), "SomeFailed": to("again")},
        )
        steps = {"every": every, "again": ask(retry="every")}
        part = ("part", graph({"work": agent({"Ok": to("@end:Done")})}))
        run = Scenario(protocol(graph(steps, ok={"every": ("Done",)}), part), {"parts": items("a", "b")})
        run.says("Ok", at="root/a:work").fails("blocked", at="root/b:work").answers("retry")
        assert run.running() == expected
        for place in expected:
            run.says("Ok", at=place)
        assert run.where() == "@Done"
        assert run.inst().slots["every.AllOk"].fields["total"] == 2
