"""The map of the published protocols names a place that exists for every element, or a room that does not exist yet."""

from collections import Counter
from collections.abc import Iterator

import pytest

from tests.places import misplaced
from tools.coverage_map import Element, Section, Seed, coverage_page, seeds


def faults(seed: Seed) -> list[str]:
    """Everything that is wrong with a part of the map."""
    twice = [name for name, times in Counter(element.element for element in seed.elements).items() if times > 1]
    found = [f"{seed.seed}: '{name}' stands there twice" for name in twice]
    for element in seed.elements:
        found += [f"{seed.seed}: '{element.element}' {fault}" for fault in faults_of(element)]
    return found


def faults_of(element: Element) -> Iterator[str]:
    if not element.element.strip():
        yield "has no name"
    yield from misplaced(element)


@pytest.mark.parametrize("seed", seeds(), ids=lambda seed: str(seed.seed))
def test_every_element_has_a_place_or_awaits_a_room(seed: Seed) -> None:
    awaits = sum(bool(element.awaits) for element in seed.elements)
    print(f"{seed.seed}: {len(seed.elements)} elements, {awaits} of them await a room")  # noqa: T201
    assert not faults(seed), "\n".join(faults(seed))


V3 = "src/treadle/protocols/v3/protocol.yaml"


@pytest.mark.parametrize(
    ("element", "message"),
    [
        (Element(""), "has no name"),
        (Element("x"), "neither a place nor a room"),
        (Element("x", (V3,), meanwhile=(V3,)), "has a place already"),
        (Element("x", ("src/treadle/nowhere.py",)), "there is no such file"),
        (
            Element("x", (f"{V3}#graphs.node.steps.impl.routes.Nowhere",)),
            "no 'Nowhere' in graphs.node.steps.impl.routes",
        ),
        (Element("x", (f"{V3}#graphs.knot",)), "no 'knot' in graphs"),
        (Element("x", (f"{V3}#include.7",)), "no '7' in include"),
        (Element("x", (f"{V3}#graphs.node.steps.impl.attempts=6",)), "'6' is not in graphs.node.steps.impl.attempts"),
        (Element("x", (f"{V3}#graphs.node.steps.impl.gates.TestsPassed=gree",)), "'gree' is not in"),
        (Element("x", ("README.md#no such sentence",)), "'no such sentence' is not in it"),
        (Element("x", ("src/treadle/kernel/routing.py::entr",)), "nothing in it is called 'entr'"),
        (Element("x", ("src/treadle/kernel/state.py::Instance.dead",)), "nothing in it is called 'Instance.dead'"),
        (Element("x", ("tests/kernel/test_trees.py::test_nothing",)), "nothing in it is called 'test_nothing'"),
        (Element("x", ("tests/kernel/test_trees.py::grown",)), "'grown' is not a test"),
        (Element("x", (V3,), awaits="store"), "awaits a room and has a place"),
        (Element("x", awaits="attic"), "no room of the house"),
        (Element("x", awaits="kernel"), "'kernel', which is there now"),
        (Element("x", awaits="kernel/routing"), "'kernel/routing', which is there now"),
        (Element("x", awaits="protocol/checks"), "'protocol/checks', which is there now"),
        (Element("x", awaits="attic/box"), "no room of the house"),
        (Element("x", awaits="web", meanwhile=("nowhere.md",)), "there is no such file"),
    ],
)
def test_a_planted_fault_is_reported(element: Element, message: str) -> None:
    found = list(faults_of(element))
    assert any(message in fault for fault in found), found


def test_an_element_stands_there_once() -> None:
    twice = (Section("a", (Element("x", (V3,)),)), Section("b", (Element("x", (V3,)),)))
    assert faults(Seed("s", "S", "v3", twice)) == ["s: 'x' stands there twice"]


@pytest.mark.parametrize(
    "element",
    [
        Element("x", (V3, "README.md#Treadle")),
        Element("x", (f"{V3}#graphs.node.handlers.ChildMerged.reply=true", f"{V3}#include.0=spec")),
        Element("x", (f'{V3}#graphs.node.system."!*"=stuck', f"{V3}#graphs.node.steps.impl.attempts=5")),
        Element("x", (f"{V3}#graphs.node.steps.impl.gates.TestsPassed=green", f"{V3}#graphs.node.ok=children")),
        Element("x", ("src/treadle/kernel/routing.py::enter", "src/treadle/kernel/state.py::SEMANTICS")),
        Element("x", ("src/treadle/kernel/state.py::Instance.live", "src/treadle/kernel/state.py::Instance.slots")),
        Element("x", ("tests/kernel/test_trees.py::test_the_worked_trace",)),
        Element("x", awaits="kernel/another_part", meanwhile=(V3,)),
    ],
)
def test_a_valid_place_is_not_flagged(element: Element) -> None:
    assert list(faults_of(element)) == []


def test_the_page_shows_every_element_once() -> None:
    rows = [
        line for line in coverage_page().splitlines() if line.startswith("| ") and not line.startswith("| element |")
    ]
    assert len(rows) == sum(len(seed.elements) for seed in seeds()) + len(seeds()) + 1
