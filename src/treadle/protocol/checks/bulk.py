"""Check 15, templates that ask for too much: what constants alone blow up is seen before anything is rendered."""

from typing import Final

from jinja2 import nodes

MAX_ROUNDS: Final = 100_000
"""How often constants may make a loop go round."""
MAX_NUMBER: Final = 10**9
_MAX_EXPONENT: Final = 64
_CLAMP: Final = 10**40


def excess(node: nodes.Node) -> str:
    """What is too much about an expression, as the rest of a sentence; empty if nothing is."""
    match node:
        case nodes.Pow():
            return _power(node)
        case nodes.Mul():
            value = whole(node)
            return f"makes a number beyond {MAX_NUMBER}" if value is not None and abs(value) > MAX_NUMBER else ""
        case nodes.Call(node=nodes.Name(name="range")):
            count = rounds(node)
            return f"counts to {count}" if count is not None and count > MAX_ROUNDS else ""
    return ""


def rounds(node: nodes.Node) -> int | None:
    """How many items a `range` of constants, or a list that is written out, has; None if that is not known."""
    if isinstance(node, nodes.List | nodes.Tuple):
        return len(node.items)
    if not (isinstance(node, nodes.Call) and isinstance(node.node, nodes.Name) and node.node.name == "range"):
        return None
    found = [number for argument in node.args if (number := whole(argument)) is not None]
    if not found or len(found) < len(node.args) or len(found) > 3 or found[2:] == [0]:
        return max(found) if found and max(found) > MAX_ROUNDS else None
    start, stop, step = (0, found[0], 1) if len(found) == 1 else (found[0], found[1], (found[2:] or [1])[0])
    return max(0, -((start - stop) // step)) if step > 0 else max(0, -((stop - start) // -step))


def whole(node: nodes.Node) -> int | None:
    """The whole number that constants make; None if it is not known."""
    match node:
        case nodes.Const(value=int(value)):
            return int(value)
        case nodes.Neg():
            positive = whole(node.node)
            return None if positive is None else -positive
        case nodes.Add() | nodes.Sub() | nodes.Mul() | nodes.Pow():
            left, right = whole(node.left), whole(node.right)
            return None if left is None or right is None else _computed(node, left, right)
    return None


def _computed(node: nodes.BinExpr, left: int, right: int) -> int | None:
    match node:
        case nodes.Add():
            result = left + right
        case nodes.Sub():
            result = left - right
        case nodes.Mul():
            result = left * right
        case _ if right < 0:
            return None
        case _:
            result = left**right if right <= _MAX_EXPONENT else _CLAMP
    return max(-_CLAMP, min(_CLAMP, result))


def _power(node: nodes.Pow) -> str:
    value, exponent = whole(node), whole(node.right)
    if (value is not None and abs(value) > MAX_NUMBER) or (exponent is not None and exponent > _MAX_EXPONENT):
        return "raises a number to an enormous power"
    return ""
