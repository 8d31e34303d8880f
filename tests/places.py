"""Whether the places that the documentation names exist."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from tests.test_imports import LINE_OF
from tools.places import ROOT, Placed, read_yaml, split_place

KEY = re.compile(r'"([^"]*)"|([^.]+)')
WORD = re.compile(r"[^\s|,]+")


def misplaced(it: Placed) -> Iterator[str]:
    """Everything that is wrong with where something is said to be."""
    if it.awaits:
        yield from awaited(it)
    elif not it.places:
        yield "has neither a place nor a room that it awaits"
    elif it.meanwhile:
        yield "has a place already; put what stands under 'meanwhile' there too"
    for place in (*it.places, *it.meanwhile):
        if missing := lacks(place):
            yield f"is said to be at {place}, but {missing}"


def awaited(it: Placed) -> Iterator[str]:
    """An awaited room must be one of the house that is not there; of a room that is there, a part that is not."""
    if it.places:
        yield "awaits a room and has a place; what is there already belongs under 'meanwhile'"
    room, _, part = it.awaits.partition("/")
    there = exists(room)
    if room not in LINE_OF:
        yield f"awaits '{room}', which is no room of the house"
    elif there and not part:
        yield f"awaits '{room}', which is there now: say where in it, or which part is still missing ('{room}/part')"
    elif part and not there:
        yield f"awaits a part of '{room}', which is not there at all: await '{room}'"
    elif part and exists(it.awaits):
        yield f"awaits '{it.awaits}', which is there now: say where in it"


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
    return read_yaml(path)


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
