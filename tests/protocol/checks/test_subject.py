"""Findings speak of gates as the file does, however many copies the loader makes of them."""

import re

import pytest

from tests.protocol.checks.planted import batch, bugfix, change, gates, put, to, tree
from tests.protocol.loading import loaded
from treadle.protocol.check import check
from treadle.protocol.checks.subject import Flow
from treadle.protocol.model import Becomes, Protocol

TEXT = """\
protocol: small
root: main
exits: {Fixed: {}, Lost: {why: text}}
roles: {de: {template: work.jinja}}
graphs:
  main:
    start: work
    ends: [Done]
    system: {"!*": stuck}
    steps:
      work: {role: de, exits: [Fixed, Lost], routes: {Fixed: next, Lost: stuck}}
      next: {role: de, exits: [Fixed], routes: {Fixed: '@end:Done'}}
      stuck:
        ask: human
        needs: ["work.Lost?", "!*?"]
        routes: {retry: "@back", abort: "@end:Aborted"}
"""


def said(old: str, new: str, number: int) -> list[str]:
    assert old in TEXT
    found = loaded(TEXT.replace(old, new, 1), **{"templates/work.jinja": "Work."})
    return [str(it) for it in check(found.protocol, found.place_of) if it.check == number]


def test_a_fault_in_a_gate_is_reported_once() -> None:
    [line] = said('abort: "@end:Aborted"', "abort: nowhere", 3)
    assert line.startswith("protocol.yaml:16: main.stuck: abort ")
    assert [text for text in ("'nowhere'", "next, stuck, work") if text not in line] == []


def test_the_nearest_step_is_called_as_in_the_file() -> None:
    [line] = said("Lost: stuck", "Lost: stuk", 3)
    assert line.endswith("(did you mean 'stuck'?)")


def test_an_exit_that_a_gate_does_not_read_names_the_gate() -> None:
    lines = said('needs: ["work.Lost?", "!*?"]', 'needs: ["!*?"]', 19)
    [line] = [line for line in lines if "Lost" in line]
    assert line.startswith("protocol.yaml:11: main.work: Lost leads to 'stuck'")
    assert "'work.Lost?'" in line


def test_a_loop_through_a_gate_names_the_gate() -> None:
    timed = 'retry: "@back", abort: "@end:Aborted"}\n        default: retry\n        default_after: 1h'
    lines = said('retry: "@back", abort: "@end:Aborted"}', timed, 9)
    assert [re.findall(r"loop (.*?),", line) for line in lines] == [["work → stuck → work"], ["next → stuck → next"]]


def test_a_gate_that_is_read_as_one_step_is_explained() -> None:
    [need] = said("routes: {Fixed: '@end:Done'}", "needs: ['stuck.retry?'], routes: {Fixed: '@end:Done'}", 3)
    assert [text for text in ("'stuck.retry?' of 'stuck'", "@back", "`stuck@work`") if text not in need] == []
    [guard] = said("Fixed: next", "Fixed: [{to: work, when: last.stuck == 'retry'}, {to: next}]", 18)
    assert [text for text in ("`stuck@work`", "`last['stuck@work']`") if text not in guard] == []


def test_findings_quote_the_file_as_it_stands() -> None:
    [guard] = said("Fixed: next", "Fixed: [{to: work, when: \"last['stuck@work'] == 'x'\"}, {to: next}]", 18)
    assert "guard `last['stuck@work'] == 'x'` compares" in guard
    [need] = said("routes: {Fixed: '@end:Done'}", "needs: ['stuck@work.again?'], routes: {Fixed: '@end:Done'}", 3)
    assert [text for text in ("'stuck@work.again?'", "'stuck@work'", "'again'") if text not in need] == []


# A graph as edges: which rows can be taken, and where they lead.


def _flow(protocol: Protocol, graph: str = "") -> Flow:
    name = graph or protocol.root
    return Flow(protocol, name, protocol.graphs[name])


def _edges(protocol: Protocol, step: str, graph: str = "") -> list[str]:
    return [
        f"{edge} → {edge.row.over or edge.to.name if edge.over else edge.row.to}"
        for edge in _flow(protocol, graph).out[step]
    ]


def test_every_reachable_row_has_an_edge() -> None:
    assert _edges(bugfix(), "merge") == ["merge.Merged → @end:Done", "merge.!timeout → human", "merge.!crash → human"]


def test_a_charging_row_has_a_second_edge_for_a_spent_budget() -> None:
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


def test_a_spawn_can_be_refused_without_any_gate() -> None:
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
