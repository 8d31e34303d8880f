"""Which values are certainly there where a test of a template holds, or where it does not."""

from collections.abc import Iterator
from typing import Final

from jinja2 import nodes

_DEFINED: Final = ".is defined"


def written(node: nodes.Node) -> str:
    """An expression of names and parts as it is written; empty for anything else."""
    match node:
        case nodes.Name(name=name):
            return str(name)
        case nodes.Getattr(node=owner, attr=part) | nodes.Getitem(node=owner, arg=nodes.Const(value=str(part))):
            return f"{path}.{part}" if (path := written(owner)) else ""
    return ""


def holding(test: nodes.Node) -> frozenset[str]:
    """The values that are certainly there when a test holds."""
    match test:
        case nodes.And():
            return holding(test.left) | holding(test.right)
        case nodes.Or():
            return holding(test.left) & holding(test.right)
        case nodes.Not():
            return failing(test.node)
        case nodes.Test(name="defined"):
            return _defined(test.node)
        case nodes.Test(name="undefined"):
            return frozenset()
        case nodes.Test() | nodes.Filter() if test.node is not None:
            return holding(test.node) if not (isinstance(test, nodes.Test) and test.name == "none") else frozenset()
        case nodes.Compare(expr=left, ops=[nodes.Operand(op="ne", expr=nodes.Const(value=None))]):
            return holding(left)
        case nodes.Compare(expr=left, ops=[nodes.Operand(op=op, expr=right)]) if op not in ("ne", "notin"):
            return holding(left) if not (isinstance(right, nodes.Const) and right.value is None) else frozenset()
    path = written(test)
    return frozenset(_prefixes(path)) if path else frozenset()


def failing(test: nodes.Node) -> frozenset[str]:
    """The values that are certainly there when a test does not hold."""
    match test:
        case nodes.Not():
            return holding(test.node)
        case nodes.Or():
            return failing(test.left) | failing(test.right)
        case nodes.Test(name="none"):
            return holding(test.node)
        case nodes.Test(name="undefined"):
            return _defined(test.node)
        case nodes.Compare(expr=left, ops=[nodes.Operand(op="eq", expr=nodes.Const(value=None))]):
            return holding(left)
    return frozenset()


def is_there(path: str, sure: frozenset[str], *, slot: bool) -> bool:
    """Whether a value is certainly there; that it is defined says so only of a slot: an absent field is null."""
    return path in sure or (slot and path + _DEFINED in sure)


def _defined(node: nodes.Node) -> frozenset[str]:
    """What is certainly there if an expression is defined: all that it looks into, and itself as far as slots go."""
    path = written(node)
    return frozenset({*list(_prefixes(path))[:-1], path + _DEFINED}) if path else frozenset()


def _prefixes(path: str) -> Iterator[str]:
    parts = path.split(".")
    return (".".join(parts[: end + 1]) for end in range(len(parts)))
