"""How far a project is, in a few lines."""

from typing import Any

from treadle.protocol.alone import alone
from treadle.protocol.load import load
from treadle.talk.progress import Story, stories, told
from treadle.testing.scenario import Scenario, items
from treadle.views.tree import how_it_ended, tree


def story(id_: str, where: Any, step: str = "", then: str = "") -> Story:
    return Story(id=id_, title="", where=where, step=step, then=then)


def test_the_lines_of_the_published_conversation() -> None:
    done = [story(f"US-00{number}", "done") for number in range(1, 7)]
    assert list(told([*done, story("US-007", "next")])) == ["✅ US-001 ~ US-006", "⏭ Next US-007"]


def test_everything_has_its_line() -> None:
    found = [
        *(story(id_, "done") for id_ in ("US-1", "US-2", "US-4", "X", "US-9", "US-10")),
        story("US-3", "given up"),
        story("US-5", "under way", "impl"),
        story("US-6", "in part", "bdd", "sdd-delta"),
        *(story(f"N{number}", "next") for number in range(6)),
    ]
    assert list(told(found)) == [
        "✅ US-1, US-2, US-4, X, US-9, US-10",
        "✗ US-3 (given up)",
        "☑ US-6: bdd is done, sdd-delta is next",
        "▶ US-5: impl",
        "⏭ Next N0 (then N1, N2, N3 …)",
    ]


def test_where_each_story_of_a_run_stands() -> None:
    blocked = items("US-4", blocked_by=("US-3",))
    run = Scenario(load("waterfall"), {"stories": (*items("US-1", "US-2", "US-3"), *blocked)})
    run.says("pass_bdd", "root/US-1:bdd", complexity="S", parallel_tasks=0)
    run.signals("abort", to="root/US-2")
    found = stories(run.protocol, run.state, lambda ref: {"title": f"about {ref}"})
    assert [(it.id, it.title, it.where, it.step) for it in found] == [
        ("US-1", "about ref:US-1", "under way", "sdd-delta"),
        ("US-2", "about ref:US-2", "given up", ""),
        ("US-3", "about ref:US-3", "under way", "bdd"),
        ("US-4", "about ref:US-4", "next", ""),
    ]


def test_a_story_stands_at_what_people_know() -> None:
    run = Scenario(load("waterfall"), {"stories": items("US-1")})
    for exit_, step in (("pass_bdd", "bdd"), ("pass", "sdd-delta"), ("pass", "contract")):
        run.says(exit_, step, complexity="S", parallel_tasks=0)
    run.answers("approve").says("pass_red", "scaffold").says("pass_green", "impl").says("pass_verified", "verify")
    assert [it.step for it in stories(run.protocol, run.state, lambda _: {})] == ["Archive the delta"]


def test_a_story_of_which_one_step_is_done_is_not_done() -> None:
    run = Scenario(alone(load("waterfall"), "bdd").protocol, {"stories": items("US-1")})
    run.says("pass_bdd", complexity="S", parallel_tasks=0).says("MergeComplete")
    [found] = stories(run.protocol, run.state, lambda _: {"title": "Coupons"})
    assert (found.where, found.step, found.then) == ("in part", "bdd", "sdd-delta")
    assert how_it_ended(run.protocol, run.state, run.state.insts["root/US-1"]) == "bdd is done ✓ Next: sdd-delta."
    assert [line.text for line in tree(run.protocol, run.state) if line.name == "US-1"] == ["bdd is done"]
