"""Calls a function with inputs of growing size and writes down what that costs; run by the project's interpreter.

`scaling.py ORDER REPORT`. Costs are counted in executed instructions (the same on every machine), in processor time
(the least of some repetitions) and in bytes that are held at once. The report is written after every size, so that
what is known survives a function that does not end.
"""

from __future__ import annotations

import collections
import collections.abc
import gc
import importlib
import importlib.util
import inspect
import json
import os
import random
import signal
import sys
import time
import tracemalloc
import types
import typing
from functools import partial
from pathlib import Path
from typing import Any, Callable, Iterator  # noqa: UP035 - this runs on old versions too

SHAPES = ("shuffled", "rising", "falling", "equal")
LARGEST = 1 << 17
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_MANY = {list, set, frozenset, tuple, collections.deque, collections.abc.Sequence, collections.abc.Iterable}
_MANY |= {collections.abc.Collection, collections.abc.MutableSequence, collections.abc.Set, collections.abc.Iterator}
_MAPS = {
    dict,
    collections.abc.Mapping,
    collections.abc.MutableMapping,
    collections.OrderedDict,
    collections.defaultdict,
}
_NOTHING = type(None)


class TooMuch(BaseException):
    """A call costs more than there is to spend."""


class Unknown(Exception):
    """No input can be made."""


Make = Callable[[int, str, int], Callable[[], Any]]


def main(order: dict[str, Any], report: str) -> None:
    """Measure one function."""
    told: dict[str, Any] = {"problem": "", "points": [], "stops": [], "inputs": ""}
    try:
        _prepare(order["checkout"], order["root"], order["imports"])
        make, shapes, told["inputs"] = _inputs(order)
        for point in _points(make, shapes, order["wants"], order["seconds"]):
            told["stops" if "why" in point else "points"].append(point)
            _write(told, report)
    except TooMuch:
        pass
    except BaseException as error:  # noqa: BLE001, RUF100 - what foreign code raises is what there is to tell
        told["problem"] = f"{type(error).__name__}: {error}"[:500]
    _write(told, report)


def _write(told: dict[str, Any], report: str) -> None:
    draft = f"{report}.part"
    Path(draft).write_text(json.dumps(told), encoding="utf-8")
    os.replace(draft, report)  # noqa: PTH105


def _prepare(checkout: str, root: str, imports: str) -> None:
    """Import from the checkout, and never from the one that the environment was made for."""
    spec = importlib.util.spec_from_file_location("treadle_imports", imports)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.path[:] = [entry for entry in sys.path if entry != os.path.dirname(os.path.abspath(__file__))]  # noqa: PTH100, PTH120
    module.compile_afresh(checkout)
    module.put_checkout_first(checkout, root, True)
    sys.path[:0] = [os.path.join(checkout, "src"), checkout]  # noqa: PTH118


def _inputs(order: dict[str, Any]) -> tuple[Make, tuple[str, ...], str]:
    """How inputs are made, in which shapes, and a word about them."""
    function = _found(order["module"], order["name"]) if order["module"] else None
    if order["sizes"]:
        sizes = getattr(_loaded(order["sizes_file"]), order["sizes"])
        return _given(sizes, function), ("given",), f"by {order['sizes']}(n)"
    if inspect.iscoroutinefunction(function):
        raise Unknown("it is asynchronous; a `sizes(n)` in the tests can return a function that runs it")
    wanted = _wanted(function)
    ordered = any(_is_many(hint) for _, hint in wanted)
    text = ", ".join(f"{name}: {getattr(hint, '__name__', None) or hint}" for name, hint in wanted)
    return _by_hints(function, wanted), (SHAPES if ordered else ("plain",)), f"by the annotations ({text})"


def _found(module: str, name: str) -> Any:
    return getattr(importlib.import_module(module), name)


def _loaded(file: str) -> Any:
    sys.path.insert(0, os.path.dirname(file))  # noqa: PTH120
    spec = importlib.util.spec_from_file_location("treadle_sizes", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _given(sizes: Any, function: Any) -> Make:
    def make(n: int, _shape: str, _seed: int) -> Callable[[], Any]:
        value = sizes(n)
        if callable(value):
            return value  # type: ignore[no-any-return]
        if function is None:
            raise Unknown("it returns arguments, and there is no function to call with them")
        arguments = value if isinstance(value, tuple) else (value,)
        return lambda: function(*arguments)

    return make


def _wanted(function: Any) -> list[tuple[str, Any]]:
    """The parameters that must be given, with their types."""
    try:
        hints = typing.get_type_hints(function)
    except Exception as error:  # noqa: BLE001, RUF100
        raise Unknown(f"its annotations cannot be read: {error}") from None
    needed = [
        one
        for one in inspect.signature(function).parameters.values()
        if one.default is one.empty and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
    ]
    if not needed:
        raise Unknown("it takes no arguments, so nothing can grow")
    for one in needed:
        if one.name not in hints:
            raise Unknown(f"its parameter '{one.name}' has no annotation")
        if one.kind is one.KEYWORD_ONLY:
            raise Unknown(f"its parameter '{one.name}' must be named")
        _value(hints[one.name], 4, "shuffled", random.Random(0), True)
    if not any(_grows(hints[one.name]) for one in needed):
        raise Unknown("none of its parameters has a size")
    return [(one.name, hints[one.name]) for one in needed]


def _by_hints(function: Any, wanted: list[tuple[str, Any]]) -> Make:
    is_sized = any(_is_many(hint) or _plain(hint) in (str, bytes) for _, hint in wanted)

    def make(n: int, shape: str, seed: int) -> Callable[[], Any]:
        source = random.Random(seed * 1_000_003 + n)
        arguments = [_value(hint, n, shape, source, not is_sized) for _, hint in wanted]
        return lambda: function(*arguments)

    return make


def _plain(hint: Any) -> Any:
    """A type without `Optional`, `Annotated` and names of its own."""
    origin = typing.get_origin(hint)
    if origin is typing.Union or origin is getattr(types, "UnionType", None):
        return _plain(next(one for one in typing.get_args(hint) if one is not _NOTHING))
    if isinstance(hint, typing.TypeVar):
        return _plain(hint.__bound__ or (hint.__constraints__[0] if hint.__constraints__ else int))
    if hasattr(hint, "__metadata__"):
        return _plain(hint.__origin__)
    return hint if not hasattr(hint, "__supertype__") else _plain(hint.__supertype__)


def _kind(hint: Any) -> Any:
    plain = _plain(hint)
    return typing.get_origin(plain) or plain


def _is_many(hint: Any) -> bool:
    return _kind(hint) in _MANY or _kind(hint) in _MAPS


def _grows(hint: Any) -> bool:
    return _is_many(hint) or _kind(hint) in (str, bytes, int)


def _value(hint: Any, n: int, shape: str, source: random.Random, counts: bool) -> Any:
    """An argument of size n; a number is n itself only where nothing else has a size."""
    kind, inner = _kind(hint), typing.get_args(_plain(hint))
    if kind in _MAPS:
        key, value = inner if len(inner) == 2 else (int, int)
        return dict(zip(_many(key, n, shape, source), _many(value, n, shape, source)))  # noqa: B905 - old versions
    if kind in _MANY:
        return _collected(kind, inner, n, shape, source)
    if kind is str:
        return "a" * n if shape == "equal" else "".join(source.choice(_LETTERS) for _ in range(n))
    if kind is bytes:
        return bytes(source.randrange(256) for _ in range(n))
    if kind is int:
        return n if counts else n // 2
    known = {float: float(n), bool: False, _NOTHING: None, typing.Any: n, object: n}
    if kind not in known:
        raise Unknown(f"no input can be made for {hint}; a `sizes(n)` in the tests can")
    return known[kind]


def _collected(kind: Any, inner: tuple[Any, ...], n: int, shape: str, source: random.Random) -> Any:
    if kind is tuple and inner and Ellipsis not in inner:
        return tuple(_value(one, n, shape, source, False) for one in inner)
    values = _many(inner[0] if inner else int, n, shape, source)
    if kind is collections.abc.Iterator:
        return iter(values)
    makers = {tuple: tuple, set: set, frozenset: frozenset, collections.deque: collections.deque}
    return makers.get(kind, set if kind is collections.abc.Set else list)(values)


def _many(hint: Any, n: int, shape: str, source: random.Random) -> list[Any]:
    kind = _kind(hint)
    if kind in (int, float, typing.Any, object):
        numbers: list[Any] = list(range(n))
        values = numbers if kind is not float else [float(one) for one in numbers]
    elif kind is str:
        values = [f"{one:08d}" for one in range(n)]
    else:
        values = [_value(hint, 4, shape, source, False) for _ in range(n)]
    if shape == "shuffled":
        source.shuffle(values)
    if shape == "falling":
        values.reverse()
    return values[:1] * n if shape == "equal" else values


def _points(make: Make, shapes: tuple[str, ...], wants: list[str], seconds: float) -> Iterator[dict[str, Any]]:
    """What every size costs, until there is no more to spend."""
    ways = [(what, cost) for want in wants for what, cost in _WAYS[want]]
    going = [(shape, what, cost) for shape in shapes for what, cost in ways]
    most = seconds / 40
    end = time.thread_time() + seconds  # of its own: what else the machine does changes nothing
    for n in _sizes():
        for one in list(going):
            shape, what, cost = one
            began = time.thread_time()
            if began > end:
                return
            try:
                value = _limited(partial(cost, partial(make, n, shape)), most * 8)
            except (TooMuch, RecursionError, MemoryError) as error:
                yield {"shape": shape, "what": what, "n": n, "why": type(error).__name__, "after": most * 8}
                going.remove(one)
                continue
            yield {"shape": shape, "what": what, "n": n, "cost": value}
            if time.thread_time() - began > most:
                going.remove(one)
        if not going:
            return


def _sizes() -> Iterator[int]:
    yield from (4, 6, 8, 11, 16, 23)
    n = 32
    while n <= LARGEST:
        yield n
        n *= 2


def _limited(work: Callable[[], float], seconds: float) -> float:
    def ring(*_: Any) -> None:
        raise TooMuch

    signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        return work()
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _run(work: Callable[[], Any]) -> Any:
    """Do the work, to its end: what comes lazily is taken."""
    value = work()
    if isinstance(value, collections.abc.Iterator):
        return collections.deque(value, 0)
    return value


def _instructions(make: Callable[[int], Callable[[], Any]]) -> float:
    work, total = make(0), 0

    def trace(frame: Any, event: str, _: Any) -> Any:
        nonlocal total
        frame.f_trace_lines, frame.f_trace_opcodes = False, True
        total += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        _run(work)
    finally:
        sys.settrace(before)
    return total


def _processor(make: Callable[[int], Callable[[], Any]]) -> float:
    """Seconds, the least of some repetitions; every one has its own input, as results may be remembered."""
    least, spent, seed = float("inf"), 0.0, 0
    gc.collect()
    gc.disable()
    try:
        while seed < 3 or (spent < 0.005 and seed < 9):
            work = make(seed)
            began = time.thread_time()
            _run(work)
            took = time.thread_time() - began
            least, spent, seed = min(least, took), spent + took, seed + 1
            if spent > 0.05:
                break
    finally:
        gc.enable()
    return least


def _bytes(make: Callable[[int], Callable[[], Any]]) -> float:
    work = make(0)
    gc.collect()
    tracemalloc.start()
    try:
        began, _ = tracemalloc.get_traced_memory()
        kept = _run(work)
        _, peak = tracemalloc.get_traced_memory()
        del kept
        return peak - began
    finally:
        tracemalloc.stop()


_WAYS: dict[str, list[tuple[str, Callable[..., float]]]] = {
    "time": [("instructions", _instructions), ("seconds", _processor)],
    "space": [("bytes", _bytes)],
}


if __name__ == "__main__":
    main(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")), sys.argv[2])
