from tests.protocol.sample import SAMPLE, rows
from treadle.protocol.drawing.picture import Label, PictureEdge, PicturePart, picture
from treadle.protocol.model import Budget, Graph, Protocol, Route, Step


def drawn(graph: str = "node") -> tuple[PicturePart, ...]:
    return picture(SAMPLE, graph).parts


def edge(part: PicturePart, source: str, target: str) -> PictureEdge:
    (found,) = [it for it in part.edges if (it.source, it.target) == (source, target)]
    return found


def titles(part: PicturePart) -> set[str]:
    return {node.title for node in part.nodes}


def test_the_work_and_each_interruption_are_parts_of_their_own() -> None:
    main, rebase, judge = drawn()
    assert {"Ω₁ᴰ plan", "tests", "impl", "review", "merge", "stuck"} <= titles(main)
    assert not titles(main) & {"rebase", "judge"}
    assert titles(rebase) == {"ContextShift", "rebase", "resume", "go on at plan", "Aborted"}
    assert "ChildMerged" in titles(judge)


def test_exits_with_the_same_way_and_consequences_share_an_edge() -> None:
    assert edge(drawn()[0], "step:review", "step:tests").labels == (
        Label(("MoreTests",), ("[data.additionalTests > 0]", "≤ 5 reviews", "· round = round + 1")),
    )
    assert edge(drawn("stories")[0], "step:each", "end:Failed").labels == (Label(("SomeFailed",)),)


def test_retries_and_aborts_are_lines_in_their_node() -> None:
    lines = {node.title: node.lines for node in drawn()[0].nodes}
    assert lines["impl"] == ("impl", "↻ RequestRetry (max 5)", "↻ Stuck.SkillCeiling (max 5)")
    assert lines["stuck"] == ("ask human", "↩ retry", "✕ abort")


def test_children_are_spawned_into_a_group_and_waited_for() -> None:
    main = drawn()[0]
    assert edge(main, "step:plan", "group:children").labels == (Label(("InitWork",)),)
    assert edge(main, "group:children", "step:impl").style == "spawn"


def test_a_row_of_every_step_starts_at_any_step() -> None:
    found = edge(drawn()[0], "any", "step:stuck")
    assert (found.style, found.labels) == ("system", (Label(("!*",)),))


def test_a_step_that_only_a_spent_budget_leads_to_is_connected() -> None:
    steps = {
        "a": Step(
            kind="agent", role="r", exits=("X",), routes={"X": (Route(to="a", fresh=True, charge="tries", over="b"),)}
        ),
        "b": Step(kind="ask", asks="human", routes={"go": rows("a")}),
    }
    graph = Graph(start="a", ends={}, steps=steps, budgets={"tries": Budget(max=2, to="b")})
    (main,) = picture(Protocol(name="p", version="1", root="g", graphs={"g": graph}), "g").parts
    assert edge(main, "step:a", "step:b").labels == (Label(("tries spent",)),)


def test_budgets_become_notes() -> None:
    assert picture(SAMPLE, "node").notes == ("reviews: at most 5, then stuck, refilled by plan",)
