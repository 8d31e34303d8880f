"""A graph as edges: which rows can be taken, and where they lead."""

import pytest

from tests.protocol.checks.planted import batch, bugfix, change, gates, put, to, tree
from treadle.protocol.checks.flow import Flow
from treadle.protocol.model import Becomes, Protocol


def _flow(protocol: Protocol, graph: str = "") -> Flow:
    name = graph or protocol.root
    return Flow(protocol, name, protocol.graphs[name])


def _edges(protocol: Protocol, step: str, graph: str = "") -> list[str]:
    return [
        f"{edge} → {edge.row.over or edge.to.name if edge.over else edge.row.to}"
        for edge in _flow(protocol, graph).out[step]
    ]


def test_an_edge_for_every_row_that_can_be_taken() -> None:
    assert _edges(bugfix(), "merge") == ["merge.Merged → @end:Done", "merge.!timeout → human", "merge.!crash → human"]


def test_a_row_that_charges_has_a_second_way_for_when_its_budget_is_spent() -> None:
    _, first, second = [edge for edge in _flow(bugfix()).out["review"] if edge.key == "Rejected"]
    assert (first.to.name, first.charges, second.to.name, second.charges) == ("fix", "rounds", "human", "")
    assert second.actions == ()


def test_variants_share_the_row_of_their_tag() -> None:
    keys = [edge.key for edge in _flow(bugfix()).out["fix"] if not edge.is_system]
    assert keys == ["Fixed", "Stuck", "Stuck.Lost"]


@pytest.mark.parametrize(
    ("protocol", "possible"),
    [
        (bugfix(), False),
        (change(bugfix(), "graphs.main.steps.fix", becomes=(Becomes(key="!exhausted"),)), True),
        (change(bugfix(), "graphs.main.steps.fix", becomes=(Becomes(key="!exhausted"),), attempts=1), False),
    ],
    ids=["it becomes something else", "it becomes just that", "it never tries again"],
)
def test_attempts_are_exhausted_only_where_they_can_be(protocol: Protocol, possible: bool) -> None:
    assert ("!exhausted" in _flow(protocol).failures("fix")) == possible


def test_a_check_that_tries_again_can_be_exhausted() -> None:
    again = put(batch(), "graphs.main.steps.suite.routes", "Failed", to("suite"))
    assert _flow(batch()).failures("suite") == ["!timeout", "!crash"]
    assert _flow(again).failures("suite") == ["!timeout", "!crash", "!exhausted"]


def test_a_spawn_can_be_refused_even_where_nothing_is_gated() -> None:
    bare = change(tree(), "graphs.node.steps.plan", gates={})
    assert "!gate" in _flow(bare).failures("plan")
    assert "!gate" not in _flow(change(tree(), "graphs.node.steps.work", gates={})).failures("work")


def test_a_row_of_the_graph_for_one_check_is_a_row_of_its_steps() -> None:
    graph = put(change(bugfix(), "graphs.main.steps.repro", attempts=1), "graphs.main.system", "!gate.red", to("human"))
    assert "!gate.red" in _flow(graph).keys("repro")
    assert gates("red")[0] in graph.graphs["main"].steps["repro"].gates["Reproduced"]


def test_main_and_handler_steps() -> None:
    flow = _flow(tree())
    assert flow.main == {"plan", "work", "merge", "clarify", "stuck"}
    assert flow.handled == {"Shift": {"rebase", "conflict"}, "Question": {"answer"}, "child:Aborted": {"lost"}}
    assert [str(edge) for edge in flow.redirects] == ["conflict.replan", "lost.replan"]


def test_a_row_is_called_as_the_table_calls_it() -> None:
    flow = _flow(tree())
    assert {(edge.key, edge.name) for edge in flow.out["rebase"]} == {
        ("Rebased", "Rebased"),
        ("!timeout", "!*"),
        ("!crash", "!*"),
    }
