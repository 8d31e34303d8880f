"""The page on the architecture names files, functions and classes that exist, and every room."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.places import lacks
from tests.test_imports import ROOMS
from tools.places import ROOT

SOURCES = ROOT / "src" / "treadle"
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
PLACES = sorted(set(re.findall(r"`(src/treadle/[\w/.-]+\.(?:py(?:::\w+)?|yaml))`", PAGE)))
NAMES = sorted(set(re.findall(r"`([A-Za-z_]\w*(?:\.\w+)?)`", re.sub(r"```.*?```", "", PAGE, flags=re.DOTALL))))
TABLES = (SOURCES / "protocols" / "v3" / "protocol.yaml", SOURCES / "protocols" / "fragments" / "fold.yaml")


@pytest.mark.parametrize("place", PLACES)
def test_the_walk_follows_files_that_exist(place: str) -> None:
    assert lacks(place) == ""


@cache
def known() -> frozenset[str]:
    """Everything that the page may name: what the code defines, its one-word texts, its two tables, files and rooms."""
    words = {word for table in TABLES for word in re.findall(r"\w+", table.read_text(encoding="utf-8"))}
    paths = [path for path in SOURCES.rglob("*") if "__pycache__" not in path.parts]
    words |= {name for path in paths for name in (path.name, path.stem)}
    for path in paths:
        if path.suffix == ".py":
            words |= set(defined(ast.parse(path.read_text(encoding="utf-8"))))
    return frozenset(words)


def defined(tree: ast.AST) -> Iterator[str]:
    """The functions, classes, names and words of a file; the members of a class also as `Class.member`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            yield from (f"{node.name}.{name}" for one in node.body for name in names_of(one))
        yield from names_of(node)


def names_of(node: ast.AST) -> list[str]:
    match node:
        case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            return [name]
        case ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
        case ast.Assign(targets=targets):
            return [one.id for one in targets if isinstance(one, ast.Name)]
        case ast.Constant(value=str(text)) if text.isidentifier():  # words of the language, names of tools
            return [text]
    return []


@pytest.mark.parametrize("name", NAMES)
def test_the_page_names_what_is_there(name: str) -> None:
    owner, _, member = name.rpartition(".")
    # `world.checks` and `toolchain.apart` are fields of an instance: their owner is no class.
    assert (name if owner[:1].isupper() or Path(name).suffix in (".py", ".yaml") else member) in known()


@pytest.mark.parametrize("name", ["Driver.rest", "Telegraph", "work_out_everything", "walk.py"])
def test_a_name_that_is_not_there_is_noticed(name: str) -> None:
    assert name not in known()


def test_every_room_has_its_row() -> None:
    rooms = {path.name for path in SOURCES.iterdir() if (path / "__init__.py").is_file()}
    assert rooms <= set(ROOMS.split()) | {"demos"}
    table = "\n".join(line for line in PAGE.splitlines() if line.startswith("| `"))
    assert {room for room in rooms - {"demos"} if f"`{room}`" not in table} == set()
