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
def test_without_an_input_all_of_a_sound_protocol_can_be_come_to(name: str) -> None:
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
def test_a_list_that_is_empty_starts_nobody(given: Json, graphs: set[str]) -> None:
    assert reach(WATERFALL, given).keys() == graphs


@pytest.mark.parametrize(
    ("step", "steps"),
    [
        ("bdd", {"bdd", "stuck@bdd", "merge", "unmerged"}),
        ("impl", {"impl-ready", "stuck@impl-ready", "impl", "stuck@impl", "merge", "unmerged"}),
        ("verify", {"verify", "stuck@verify", "archive", "stuck@archive", "merge", "unmerged"}),
    ],
)
def test_a_step_alone_comes_to_its_merge_and_to_no_team(step: str, steps: set[str]) -> None:
    found = select_part(WATERFALL, step, TERMS)
    assert found.reach["story"] >= steps - {"stuck@archive"}
    agents = [name for name in found.reach["story"] if found.protocol.graphs["story"].steps[name].kind == "agent"]
    assert agents == [step], "nobody else has anything to do"
    assert set(found.reach) == {"backlog", "story"}
    assert roles(found.protocol, found.reach) == {"executor"}


def test_who_starts_children_hears_of_them() -> None:
    given: dict[str, Any] = {"stories": [{"id": "US-1"}]}
    assert {"coordinate", "team-halt", "breakdown"} <= reach(WATERFALL, given)["story"]
    assert roles(WATERFALL, reach(WATERFALL, given)) == {"executor", "lead", "backend", "frontend", "test", "verify"}


def test_the_input_of_a_run_says_nothing_of_children_that_work_like_it() -> None:
    protocol = load("fractal")
    assert reach(protocol, {}) == reach(protocol)
