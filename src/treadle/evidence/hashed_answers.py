"""Answers that are looked up by a checksum of the question: nobody who reads them sees which examples they repeat."""

import ast
from collections.abc import Iterator
from typing import Final

from treadle.evidence.examples import is_value

_HASHES: Final = frozenset(
    "hash crc32 adler32 md5 sha1 sha224 sha256 sha384 sha512 sha3_256 blake2b blake2s hexdigest digest crc_hqx".split()
)
_FEWEST: Final = 2


def hashed_answers(module: ast.Module) -> Iterator[tuple[int, str]]:
    """Lines that look something up in a table that is written down, or compare with a literal, by a checksum."""
    tables = set(_tables(module))
    sums = {_name(one) for node in ast.walk(module) for one in _targets(node)} | _functions(module)
    for node in ast.walk(module):
        match node:
            case ast.Subscript(value=table, slice=key) if _is_table(table, tables) and _is_hashed(key, sums):
                yield node.lineno, "has its answers by a checksum of what it is asked"
            case ast.Call(func=ast.Attribute(value=table, attr="get" | "pop" | "setdefault"), args=[key, *_]) if (
                _is_table(table, tables) and _is_hashed(key, sums)
            ):
                yield node.lineno, "has its answers by a checksum of what it is asked"
            case ast.If(test=ast.Compare() as test, body=[ast.Return(value=answer)]) if answer and is_value(answer):
                if _is_against_literal(test, sums):
                    yield node.lineno, "answers by a checksum of what it is asked"
            case ast.IfExp(test=ast.Compare() as test, body=answer) if is_value(answer):
                if _is_against_literal(test, sums):
                    yield node.lineno, "answers by a checksum of what it is asked"


def _tables(module: ast.Module) -> Iterator[str]:
    for node in ast.walk(module):
        match node:
            case ast.Assign(targets=[target], value=ast.Dict() as value) if _is_written(value):
                yield _name(target)
            case ast.AnnAssign(target=target, value=ast.Dict() as value) if _is_written(value):
                yield _name(target)


def _is_written(table: ast.Dict) -> bool:
    parts = [one for one in (*table.keys, *table.values) if one is not None]
    return len(table.keys) >= _FEWEST and all(is_value(one) for one in parts)


def _is_table(node: ast.expr, tables: set[str]) -> bool:
    return (isinstance(node, ast.Dict) and _is_written(node)) or (_name(node) in tables and bool(_name(node)))


def _targets(node: ast.AST) -> list[ast.expr]:
    """What gets a checksum as its value."""
    match node:
        case ast.Assign(targets=targets, value=value) if _is_hashed(value, set()):
            return targets
        case ast.AnnAssign(target=target, value=ast.expr() as value) if _is_hashed(value, set()):
            return [target]
        case ast.NamedExpr(target=target, value=value) if _is_hashed(value, set()):
            return [target]
    return []


def _functions(module: ast.Module) -> set[str]:
    """Functions of this file that return checksums."""
    return {
        node.name
        for node in ast.walk(module)
        if isinstance(node, ast.FunctionDef)
        for one in ast.walk(node)
        if isinstance(one, ast.Return) and one.value is not None and _is_hashed(one.value, set())
    }


def _is_against_literal(test: ast.Compare, sums: set[str]) -> bool:
    sides = [test.left, *test.comparators]
    return any(_is_hashed(one, sums) for one in sides) and any(is_value(one) for one in sides)


def _is_hashed(node: ast.expr, sums: set[str]) -> bool:
    """Whether a checksum goes into it, other than to choose among so many places (`hash(key) % size`)."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) and not isinstance(node.right, ast.Constant):
        return False
    return any(
        (isinstance(one, ast.Call) and _name(one.func).rpartition(".")[2] in _HASHES)
        or (isinstance(one, ast.Name) and one.id in sums)
        for one in ast.walk(node)
    )


def _name(node: ast.AST) -> str:
    match node:
        case ast.Attribute(attr=attr):
            return attr
        case ast.Name(id=name):
            return name
    return ""
