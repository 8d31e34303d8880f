"""What a run can come to, by its protocol and its input."""

from typing import Any

import pytest

from treadle.protocol.alone import TERMS_FILE, read_terms, select_part
from treadle.protocol.items import Json
from treadle.protocol.load import BUILT_IN, load, read_tree
from treadle.protocol.reach import reach, roles

WATERFALL = load("waterfall")
TERMS = read_terms(read_tree(BUILT_IN / "waterfall" / TERMS_FILE))


@pytest.mark.parametrize("name", ["v3", "fractal", "riper", "dptr", "waterfall"])
def test_without_an_input_every_step_is_reachable(name: str) -> None:
    protocol = load(name)
    assert reach(protocol) == {graph: frozenset(it.steps) for graph, it in protocol.graphs.items()}


@pytest.mark.parametrize(
    ("given", "graphs"),
    [
        ({"bootstrap": [{}]}, {"backlog", "bootstrap"}),
        ({"bootstrap": [], "supplements": [{}], "stories": []}, {"backlog", "supplement"}),
        ({"project": "cart"}, {"backlog"}),
        (None, set(WATERFALL.graphs)),
    ],
)
def test_an_empty_list_starts_no_graph(given: Json, graphs: set[str]) -> None:
    assert reach(WATERFALL, given).keys() == graphs


@pytest.mark.parametrize(
    ("step", "steps"),
    [
        ("bdd", {"bdd", "stuck@bdd", "merge", "unmerged"}),
        ("impl", {"impl-ready", "stuck@impl-ready", "impl", "stuck@impl", "merge", "unmerged"}),
        ("verify", {"verify", "stuck@verify", "archive", "stuck@archive", "merge", "unmerged"}),
    ],
)
def test_a_step_alone_reaches_its_merge_and_no_team(step: str, steps: set[str]) -> None:
    found = select_part(WATERFALL, step, TERMS)
    assert found.reach["story"] >= steps - {"stuck@archive"}
    agents = [name for name in found.reach["story"] if found.protocol.graphs["story"].steps[name].kind == "agent"]
    assert agents == [step], "nobody else has anything to do"
    assert set(found.reach) == {"backlog", "story"}
    assert roles(found.protocol, found.reach) == {"executor"}


def test_a_graph_with_children_reaches_the_steps_that_handle_them() -> None:
    given: dict[str, Any] = {"stories": [{"id": "US-1"}]}
    assert {"coordinate", "team-halt", "breakdown"} <= reach(WATERFALL, given)["story"]
    assert roles(WATERFALL, reach(WATERFALL, given)) == {"executor", "lead", "backend", "frontend", "test", "verify"}


def test_the_input_does_not_limit_children_of_the_same_graph() -> None:
    protocol = load("fractal")
    assert reach(protocol, {}) == reach(protocol)
