import msgspec
import pytest

from tests.protocol.sample import SAMPLE, STORIES, rows
from treadle.protocol.alone import select_part
from treadle.protocol.load import load
from treadle.protocol.model import Graph, Protocol, Route, Step
from treadle.testing.scenario import Scenario, items
from treadle.views.tree import InstanceLine, Mood, foremost, tree

V3 = load("v3")


def shown(run: Scenario) -> list[tuple[str, str, str, str]]:
    return [(line.instance, line.step, line.mood, line.text) for line in tree(run.protocol, run.state)]


def spawned() -> Scenario:
    return Scenario(V3).says("InitWork", childSpecs=items("a", "b"))


def test_children_stand_below_their_parent() -> None:
    at_work = {"step": "scaffold", "mood": "works", "waits_for": "agent", "text": "planner:Scaffold", "part": None}
    assert [msgspec.structs.asdict(line) for line in tree(V3, spawned().state)[1:]] == [
        {"depth": 1, "instance": "root/a", "name": "a", **at_work},
        {"depth": 1, "instance": "root/b", "name": "b", **at_work},
    ]


def test_a_claim_is_shown_with_the_checks_that_it_must_pass() -> None:
    run = spawned().claims("TestsReady", at="root:tests")
    assert shown(run)[0] == (
        "root",
        "tests",
        "checks",
        "TestsReady claimed, checking checkpoint scope scope_tests build manifest_complete red",
    )


def test_a_claim_is_shown_by_the_name_that_people_know() -> None:
    run = Scenario(load("waterfall"), {"stories": items("US-1")}).claims("pass_bdd", "bdd")
    assert shown(run)[1][3].startswith("pass claimed, checking ")


def test_a_refused_claim_is_another_attempt() -> None:
    run = spawned().says("TestsReady", at="root:tests", fails=["red"])
    assert shown(run)[0] == ("root", "tests", "works", "tdd:WriteTests, attempt 2 of 5")


def test_a_restarted_agent_is_marked_until_its_activity_ends() -> None:
    run = spawned().says("TestsReady", at="root:tests", fails=["red"]).fails("crash", at="root:tests")
    lost = "attempt 2 of 5, lost and started again (1)"
    assert shown(run)[0] == ("root", "tests", "works", f"tdd:WriteTests, {lost}")
    assert shown(run.claims("TestsReady", at="root:tests"))[0][3].endswith(f"red, {lost}")


def test_a_join_says_how_many_are_open() -> None:
    run = spawned().says("TestsReady", at="root:tests")
    assert shown(run)[0][:3] == ("root", "impl", "waits")


def test_a_question_to_a_person_lists_the_choices() -> None:
    run = spawned().says("InitWork", at="root/a:scaffold").says("TestsReady", at="root/a:tests")
    run.says("Stuck", at="root/a:impl")
    assert ("root/a", "stuck", "asks", "asks a person: retry, replan, abort") in shown(run)


def test_a_handler_stands_above_the_step_that_waits_for_it() -> None:
    run = spawned().signals("ContextShift", to="root/a").says("InitWork", at="root/a:scaffold")
    assert [line for line in shown(run) if line[0] == "root/a"] == [
        ("root/a", "rebase on ContextShift", "works", "Rebase"),
        ("root/a", "tests", "waits", "held until rebase is done"),
    ]


def test_below_a_handler_a_step_still_waits_for_its_children() -> None:
    run = spawned().says("TestsReady", at="root:tests").signals("ContextShift", to="root")
    assert shown(run)[:2] == [
        ("root", "rebase on ContextShift", "works", "Rebase"),
        ("root", "impl", "waits", "waits for children: 2 open"),
    ]


def test_below_a_handler_a_question_is_still_asked() -> None:
    run = Scenario(V3).says("InitWork").says("TestsReady").says("Stuck").signals("ContextShift")
    assert [line[1:] for line in shown(run)] == [
        ("rebase on ContextShift", "works", "Rebase"),
        ("stuck", "asks", "asks a person: retry, replan, abort"),
    ]


def test_ends_are_good_or_bad_as_the_parent_sees_them() -> None:
    run = spawned().signals("abort", to="root/a")
    assert ("root/a", "", "failed", "Aborted") in shown(run)
    run.signals("abort", to="root")
    assert shown(run)[0] == ("root", "", "failed", "Aborted")


def test_a_pause_and_a_manual_start_wait_for_a_person() -> None:
    *_, mood, words = shown(spawned().signals("pause", to="root/a"))[1]
    assert (mood, words.partition(" ")[0]) == ("waits", "paused")
    *place, words = shown(Scenario(SAMPLE))[0]
    assert (place, words.rpartition(" ")[2]) == (["root", "sdd-delta", "waits"], "go")


def test_a_map_counts_its_children() -> None:
    run = Scenario(SAMPLE).signals("go", step="sdd-delta").says("InitWork", childSpecs=items("x", "y"))
    run.signals("abort", to="root/x")
    assert shown(run)[0] == ("root", "each", "waits", "1 of 2 children done")


def test_a_barrier_is_a_wait_for_siblings() -> None:
    steps = {
        "a": Step(kind="effect", effect="fold", exits=("Done",), routes={"Done": (Route(to="b", sync=True),)}),
        "b": Step(kind="effect", effect="fold", exits=("Done",), routes={"Done": rows("@end:Merged")}),
    }
    pair = Graph(start="a", ends={"Merged": ()}, steps=steps)
    both = Protocol(name="p", version="1", root="stories", graphs={"stories": STORIES, "node": pair})
    run = Scenario(both).signals("go", step="sdd-delta").says("InitWork", childSpecs=items("x", "y"))
    run.says("Done", at="root/x:a")
    assert [words for *place, words in shown(run) if place == ["root/x", "a", "waits"] and "siblings" in words]


def test_the_most_urgent_lines_are_kept_in_their_order() -> None:
    moods: list[Mood] = ["waits", "done", "failed", "works", "asks", "checks"]
    lines = [InstanceLine(depth=1, instance=mood, name=mood, mood=mood, text="") for mood in moods]
    assert [line.name for line in foremost(lines, 6)] == moods
    assert [line.name for line in foremost(lines, 4)] == ["waits", "works", "asks", "checks"]
    assert [line.name for line in foremost(lines, 1)] == ["asks"]
    assert foremost(lines, -3) == []


def test_a_story_with_one_step_done_is_not_all_complete() -> None:
    run = Scenario(select_part(load("waterfall"), "bdd").protocol, {"stories": items("US-1")})
    run.says("pass_bdd", complexity="S", parallel_tasks=0).says("MergeComplete")
    (line,) = [line for line in tree(run.protocol, run.state) if line.name == "US-1"]
    assert (line.text, line.end) == ("bdd is done", "bdd is done ✓ Next: sdd-delta.")


@pytest.mark.parametrize("name", ["v3", "fractal", "dptr", "riper", "waterfall"])
def test_every_step_without_an_agent_has_a_title(name: str) -> None:
    for graph in load(name).graphs.values():
        own = [step for step in graph.steps.values() if step.kind != "agent"]
        assert [step for step in own if not step.title and not step.row] == []


def test_the_root_of_a_run_that_failed_is_drawn_as_failed() -> None:
    steps = {"a": Step(kind="effect", effect="fold", exits=("Done",), routes={"Done": rows("@end:Failed")})}
    graph = Graph(start="a", ends={"Failed": ()}, steps=steps)
    run = Scenario(Protocol(name="p", version="1", root="node", graphs={"node": graph})).says("Done")
    assert shown(run) == [("root", "", "failed", "Failed")]
