"""Planned signatures, and whether code has exactly these."""

import ast
import re
from collections.abc import Iterable
from typing import Final

import msgspec

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_HEAD: Final = re.compile(r"(?:async\s+)?def\s+|class\s+|@")
_OWNER: Final = re.compile(r"((?:async\s+)?def\s+)((?:\w+\.)+)(\w+)")


class Planned(msgspec.Struct, frozen=True):
    """A signature that a plan demands."""

    text: str
    name: str
    """With the class before it; empty if the text is not Python."""
    shape: str
    """Parameters and result, in a form that can be compared."""


def planned(text: str) -> list[Planned]:
    """The signatures in a text: `def f(x: int) -> str`, `def Class.method(self)`, or a class with methods."""
    blocks = _blocks(text)
    return [one for block in blocks for one in _parsed(block)]


def _blocks(text: str) -> list[str]:
    """One block for each line at the left edge that starts one, with what is indented below it."""
    blocks: list[list[str]] = []
    for line in text.strip("\n").splitlines():
        if blocks and (not line.strip() or line[:1].isspace() or blocks[-1][-1].startswith("@")):
            blocks[-1].append(line)
        elif line.strip():
            blocks.append([line])
    return ["\n".join(block).rstrip() for block in blocks]


def _parsed(block: str) -> list[Planned]:
    text = block.strip().strip("`").strip()
    owner = _OWNER.match(text)
    plain = _OWNER.sub(r"\1\3", text, count=1)
    for source in (plain, f"{plain.rstrip(':')}: ...", f"{plain}\n    ..."):
        try:
            body = ast.parse(source).body
        except (SyntaxError, ValueError):
            continue
        found = [Planned(text, (owner[2] if owner else "") + name, shape) for name, shape in _shapes(body, "")]
        if found:
            return found
    return [Planned(text, "", _squeezed(text))] if text else []


def shapes(source: str) -> dict[str, str]:
    """Every function, method and class of a program, with its parameters and result."""
    return dict(_shapes(ast.parse(source).body, ""))


def _shapes(body: Iterable[ast.stmt], prefix: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for node in body:
        if isinstance(node, _Function):
            found.append((prefix + node.name, _shape(node)))
        elif isinstance(node, ast.ClassDef):
            found.append((prefix + node.name, "class"))
            found += _shapes(node.body, f"{prefix}{node.name}.")
        elif isinstance(node, ast.If | ast.Try):
            found += _shapes([*node.body, *node.orelse], prefix)
    return found


def _shape(node: _Function) -> str:
    start = "async " if isinstance(node, ast.AsyncFunctionDef) else ""
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    # An annotation in quotes is the same annotation.
    return re.sub(r"""(?<=: |> )(['"])([^'"]+)\1""", r"\2", f"{start}({ast.unparse(node.args)}){returns}")


def is_written(one: Planned, source: str) -> bool:
    """Whether a text in any language holds a signature, whatever the spaces are."""
    return one.shape in _squeezed(source)


def _squeezed(text: str) -> str:
    return re.sub(r"\s+", "", text)
