"""The map of the published protocols names a place that exists for every element, or a room that does not exist yet."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.test_imports import LINE_OF
from tools.coverage_map import ROOT, Element, Section, Seed, coverage_page, read_yaml, seeds, split_place

KEY = re.compile(r'"([^"]*)"|([^.]+)')
WORD = re.compile(r"[^\s|,]+")


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
    if element.awaits:
        yield from awaited(element)
    elif not element.places:
        yield "has neither a place nor a room that it awaits"
    elif element.meanwhile:
        yield "has a place already; put what stands under 'meanwhile' there too"
    for place in (*element.places, *element.meanwhile):
        if missing := lacks(place):
            yield f"is said to be at {place}, but {missing}"


def awaited(element: Element) -> Iterator[str]:
    """An awaited room must be one of the house that is not there; of a room that is there, a part that is not."""
    if element.places:
        yield "awaits a room and has a place; what is there already belongs under 'meanwhile'"
    room, _, part = element.awaits.partition("/")
    there = exists(room)
    if room not in LINE_OF:
        yield f"awaits '{room}', which is no room of the house"
    elif there and not part:
        yield f"awaits '{room}', which is there now: say where in it, or which part is still missing ('{room}/part')"
    elif part and not there:
        yield f"awaits a part of '{room}', which is not there at all: await '{room}'"
    elif part and exists(element.awaits):
        yield f"awaits '{element.awaits}', which is there now: say where in it"


def exists(part: str) -> bool:
    path = ROOT / "src" / "treadle" / part
    return path.is_dir() or path.with_name(f"{path.name}.py").is_file()


def lacks(place: str) -> str:
    """What a place lacks to exist; empty if it does."""
    file, mark, inside = split_place(place)
    path = ROOT / file
    if not path.is_file():
        return "there is no such file"
    if not mark:
        return ""
    if mark == "::":
        return name_lacks(path, inside)
    return entry_lacks(path, inside) if path.suffix == ".yaml" else text_lacks(path, inside)


def name_lacks(path: Path, name: str) -> str:
    if name not in names(path):
        return f"nothing in it is called '{name}'"
    if path.is_relative_to(ROOT / "tests") and not name.startswith("test_"):
        return f"'{name}' is not a test"
    return ""


@cache
def names(path: Path) -> frozenset[str]:
    """What a module defines: functions, classes, constants, and `Class.member`."""
    return frozenset(_defined(ast.parse(path.read_text(encoding="utf-8")).body, ""))


def _defined(body: list[ast.stmt], prefix: str) -> Iterator[str]:
    for node in body:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield prefix + name
            case ast.ClassDef(name=name):
                yield prefix + name
                yield from _defined(node.body, f"{prefix}{name}.")
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield prefix + name
            case ast.Assign(targets=targets):
                yield from (prefix + target.id for target in targets if isinstance(target, ast.Name))


def entry_lacks(path: Path, inside: str) -> str:
    where, equals, word = inside.partition("=")
    value, walked = tree(path), ""
    for quoted, plain in KEY.findall(where):
        key = quoted or plain
        if isinstance(value, list) and key.isdigit() and int(key) < len(value):
            value = value[int(key)]
        elif isinstance(value, dict) and key in value:
            value = value[key]
        else:
            return f"there is no '{key}' in {walked or 'it'}"
        walked = f"{walked}.{key}".lstrip(".")
    return f"'{word}' is not in {walked}" if equals and word not in words(value) else ""


@cache
def tree(path: Path) -> Any:
    return read_yaml(path.read_text(encoding="utf-8"))


def words(value: Any) -> set[str]:
    """The words of a text, the words of all entries of a list, the keys of a mapping."""
    if isinstance(value, dict):
        return {str(key) for key in value}
    if isinstance(value, list):
        return {word for entry in value for word in words(entry)}
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return {text, *WORD.findall(text)}


def text_lacks(path: Path, text: str) -> str:
    return "" if text in path.read_text(encoding="utf-8") else f"'{text}' is not in it"


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
def test_a_planted_fault_is_found(element: Element, message: str) -> None:
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
def test_what_is_right_is_not_flagged(element: Element) -> None:
    assert list(faults_of(element)) == []


def test_the_page_shows_every_element_once() -> None:
    rows = [
        line for line in coverage_page().splitlines() if line.startswith("| ") and not line.startswith("| element |")
    ]
    assert len(rows) == sum(len(seed.elements) for seed in seeds()) + len(seeds()) + 1
