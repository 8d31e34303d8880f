"""Python tests that leave something to chance or to the clock, found by reading them."""

import ast
from typing import Final

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_DRAWN: Final = (
    "random.random random.randint random.randrange random.choice random.choices random.sample random.shuffle"
    " random.uniform random.gauss secrets.token_hex secrets.randbelow secrets.choice uuid.uuid4 os.urandom"
)
_CLOCKS: Final = (
    "time.time time.time_ns time.perf_counter time.monotonic datetime.now datetime.utcnow datetime.datetime.now"
)
_BY_CHANCE: Final = frozenset(f"{_DRAWN} {_CLOCKS}".split())
_SETTLED: Final = ("seed", "freeze_time", "freezer", "time_machine", "monkeypatch")


def chance(test: _Function, module: ast.Module) -> str:
    """What a test calls that ends differently each time; empty if nothing, or if the file settles it."""
    if any(name in _SETTLED for name in _names(module)):
        return ""
    own = _imported(module)
    for call in (one for one in ast.walk(test) if isinstance(one, ast.Call)):
        said = ast.unparse(call.func)
        if own.get(said, said) in _BY_CHANCE:
            return ast.unparse(call)[:80]
    return ""


def _names(module: ast.Module) -> set[str]:
    found = {one.id for one in ast.walk(module) if isinstance(one, ast.Name)}
    found |= {one.attr for one in ast.walk(module) if isinstance(one, ast.Attribute)}
    return found | {one.arg for one in ast.walk(module) if isinstance(one, ast.arg)}


def _imported(module: ast.Module) -> dict[str, str]:
    """Names that were imported by themselves, with that of their module."""
    return {
        one.asname or one.name: f"{node.module}.{one.name}"
        for node in ast.walk(module)
        if isinstance(node, ast.ImportFrom)
        for one in node.names
    }
