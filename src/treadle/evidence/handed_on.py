"""What a Python file hands on from others: the names it imports, with the signatures that stand behind them."""

import ast
from collections.abc import Iterable, Iterator
from typing import Final

from treadle.evidence.signatures import shapes
from treadle.evidence.subject import Subject

_DEEPEST: Final = 5
"""How often a name may be handed on before it is defined."""


async def handed_on(s: Subject, path: str, commit: str = "") -> dict[str, str]:
    """The signatures behind the names that a file imports from other files of the tree, methods with their class."""
    entries = await s.entries(commit)
    found: dict[str, str] = {}
    for name, (module, original) in _imports(await s.text(path, commit) or "", path).items():
        if place := _file_of(module, entries, path):
            defined = await _defined(s, place, original, commit, _DEEPEST)
            found |= {name + member: shape for member, shape in defined.items()}
    return found


async def _defined(s: Subject, path: str, name: str, commit: str, depth: int) -> dict[str, str]:
    """The signature of a name and, of a class, those of its methods (`.add`); nothing if it cannot be found."""
    text = await s.text(path, commit) or ""
    try:
        has = shapes(text)
    except (SyntaxError, ValueError):
        return {}
    if name in has:
        return {one.removeprefix(name): shape for one, shape in has.items() if _is_part(one, name)}
    module, original = _imports(text, path).get(name, ("", ""))
    place = _file_of(module, await s.entries(commit), path) if module else ""
    return await _defined(s, place, original, commit, depth - 1) if place and depth else {}


def _is_part(one: str, name: str) -> bool:
    return one == name or (one.startswith(f"{name}.") and not one.removeprefix(f"{name}.").startswith("_"))


def _imports(source: str, path: str) -> dict[str, tuple[str, str]]:
    """What stands at the top of a file as `from module import name`: name → (module, its name there)."""
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError):
        return {}
    nodes = [node for node in body if isinstance(node, ast.ImportFrom)]
    return {one.asname or one.name: (_absolute(node, path), one.name) for node in nodes for one in node.names}


def _absolute(node: ast.ImportFrom, path: str) -> str:
    """The module as a path without its ending; a relative import is seen from the file that has it."""
    module = (node.module or "").replace(".", "/")
    if not node.level:
        return module
    folders = path.split("/")[: -node.level]
    return "/".join(["", *folders, *([module] if module else [])])


def _file_of(module: str, entries: Iterable[str], path: str) -> str:
    """The file of a module; of several of that name, the one that is nearest to the file that imports it."""
    known = set(entries)
    if module.startswith("/"):
        return next((one for one in _files(module[1:]) if one in known), "")
    fitting = [one for end in _files(module) for one in known if one == end or one.endswith(f"/{end}")]
    return max(sorted(fitting), key=lambda one: _shared(one, path), default="")


def _files(module: str) -> Iterator[str]:
    yield f"{module}.py"
    yield f"{module}/__init__.py"


def _shared(one: str, other: str) -> int:
    """How many folders two paths have in common from the left."""
    pairs = list(zip(one.split("/"), other.split("/"), strict=False))
    return next((at for at, (left, right) in enumerate(pairs) if left != right), len(pairs))
