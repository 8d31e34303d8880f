"""Calls a function with inputs of growing size and records what that costs; run by the project's interpreter.

`scaling.py ORDER REPORT`. Costs are executed instructions (the same on every machine), processor time (the least of
some repetitions) and bytes that are held at once. The report is written after every size, so that the known costs
survive a function that does not end.
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
SIZES = (4, 6, 8, 11, 16, 23, *(1 << power for power in range(5, 18)))

Make = Callable[[int, str, int], Callable[[], Any]]
"""Prepares a call for a size, a shape and a seed."""


class TooMuch(BaseException):
    """A call costs more than there is to spend."""


class NoInput(Exception):
    """No input can be made."""


def main(order: dict[str, Any], report: str) -> None:
    """Measure one function."""
    measured: dict[str, Any] = {"problem": "", "points": [], "stops": [], "inputs": ""}
    try:
        _import_from_checkout(order)
        make, shapes, measured["inputs"] = _choose_inputs(order)
        for point in _measure(make, shapes, order["wants"], order["seconds"]):
            measured["stops" if point.get("why") else "points"].append(point)
            _write(measured, report)
    except TooMuch:
        pass
    except BaseException as error:  # noqa: BLE001, RUF100 - the error of foreign code is the result
        measured["problem"] = f"{type(error).__name__}: {error}"[:500]
    _write(measured, report)


def _write(measured: dict[str, Any], report: str) -> None:
    draft = f"{report}.part"
    Path(draft).write_text(json.dumps(measured), encoding="utf-8")
    os.replace(draft, report)  # noqa: PTH105


def _import_from_checkout(order: dict[str, Any]) -> None:
    """Import from the checkout, and never from the one that the environment was made for."""
    imports, checkout = _load("treadle_imports", order["imports"]), order["checkout"]
    sys.path[:] = [entry for entry in sys.path if entry != str(Path(__file__).resolve().parent)]
    imports.compile_afresh(checkout)
    imports.put_checkout_first(checkout, order["root"], True)
    sys.path[:0] = [str(Path(checkout, "src")), checkout]


def _load(name: str, file: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _choose_inputs(order: dict[str, Any]) -> tuple[Make, tuple[str, ...], str]:
    """Return how to make inputs, in which shapes, and a description of them."""
    function = getattr(importlib.import_module(order["module"]), order["name"]) if order["module"] else None
    if not order["sizes"]:
        return _inputs_by_annotations(function)
    sys.path.insert(0, str(Path(order["sizes_file"]).parent))
    sizes = getattr(_load("treadle_sizes", order["sizes_file"]), order["sizes"])

    def make(n: int, _shape: str, _seed: int) -> Callable[[], Any]:
        value = sizes(n)
        if callable(value):
            return value  # type: ignore[no-any-return]
        if function is None:
            raise NoInput("it returns arguments, and there is no function to call with them")
        return partial(function, *(value if isinstance(value, tuple) else (value,)))

    return make, ("given",), f"by {order['sizes']}(n)"


def _inputs_by_annotations(function: Any) -> tuple[Make, tuple[str, ...], str]:
    if inspect.iscoroutinefunction(function):
        raise NoInput("it is asynchronous; a `sizes(n)` in the tests can return a function that runs it")
    try:
        annotations = typing.get_type_hints(function)
    except Exception as error:  # noqa: BLE001, RUF100
        raise NoInput(f"its annotations cannot be read: {error}") from None
    hints = {}
    for one in inspect.signature(function).parameters.values():
        if one.default is not one.empty or one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD):
            continue
        if one.name not in annotations:
            raise NoInput(f"its parameter '{one.name}' has no annotation")
        if one.kind is one.KEYWORD_ONLY:
            raise NoInput(f"its parameter '{one.name}' must be named")
        hints[one.name] = _plain(annotations[one.name])
    kinds = [typing.get_origin(hint) or hint for hint in hints.values()]
    is_ordered = any(map(_is_collection, kinds))
    is_sized = is_ordered or str in kinds or bytes in kinds
    if not is_sized and int not in kinds:
        raise NoInput("none of its parameters has a size")

    def make(n: int, shape: str, seed: int) -> Callable[[], Any]:
        source = random.Random(seed * 1_000_003 + n)
        # A number is the size itself only where nothing else has a size.
        number = n // 2 if is_sized else n
        return partial(function, *[_argument(hint, n, shape, source, number) for hint in hints.values()])

    text = ", ".join(f"{name}: {getattr(hint, '__name__', None) or hint}" for name, hint in hints.items())
    return make, (SHAPES if is_ordered else ("plain",)), f"by the annotations ({text})"


def _plain(hint: Any) -> Any:
    """A type without `Optional` and type variables."""
    if typing.get_origin(hint) in (typing.Union, getattr(types, "UnionType", typing.Union)):
        return _plain(next(one for one in typing.get_args(hint) if one is not type(None)))
    if isinstance(hint, typing.TypeVar):
        return _plain(hint.__bound__ or (*hint.__constraints__, int)[0])
    return hint


def _is_collection(kind: Any) -> bool:
    if getattr(kind, "__module__", "") not in ("builtins", "collections", "collections.abc") or kind in (str, bytes):
        return False
    return isinstance(kind, type) and issubclass(kind, collections.abc.Iterable)


def _argument(hint: Any, n: int, shape: str, source: random.Random, number: int) -> Any:
    """Make an argument of size n."""
    hint = _plain(hint)
    kind, inner = typing.get_origin(hint) or hint, typing.get_args(hint)
    scalars = {int: number, float: float(n), bool: False, type(None): None, typing.Any: n, object: n}
    if kind in scalars:
        return scalars[kind]
    if kind is str:
        return "a" * n if shape == "equal" else "".join(source.choices("abcdefghijklmnopqrstuvwxyz", k=n))
    if kind is bytes:
        return bytes(source.choices(range(256), k=n))
    if kind is tuple and inner and Ellipsis not in inner:
        return tuple(_argument(one, n, shape, source, n // 2) for one in inner)
    if not _is_collection(kind):
        raise NoInput(f"no input can be made for {hint}; a `sizes(n)` in the tests can")
    items = _items(inner[:1], n, shape, source)
    if issubclass(dict, kind) and not issubclass(list, kind):
        return dict(zip(items, _items(inner[1:], n, shape, source)))  # noqa: B905 - old versions
    # An abstract kind (`Sequence`, `Iterable`) gets the first of these that fits it.
    makers = [one for one in (list, tuple, set, frozenset, collections.deque) if issubclass(one, kind)]
    return makers[0](items) if makers else iter(items)


def _items(inner: tuple[Any, ...], n: int, shape: str, source: random.Random) -> list[Any]:
    """Make the n items of a collection in order, then bring them into the shape."""
    hint = _plain(inner[0]) if inner else int
    if hint in (int, typing.Any, object):
        values: list[Any] = list(range(n))
    elif hint is float:
        values = [float(one) for one in range(n)]
    elif hint is str:
        values = [f"{one:08d}" for one in range(n)]
    else:
        values = [_argument(hint, 4, shape, source, 2) for _ in range(n)]
    if shape == "shuffled":
        source.shuffle(values)
    if shape == "falling":
        values.reverse()
    return values[:1] * n if shape == "equal" else values


def _measure(make: Make, shapes: tuple[str, ...], wants: list[str], seconds: float) -> Iterator[dict[str, Any]]:
    """Yield the cost of every size, until there is no more to spend."""
    going = [(shape, what, cost) for shape in shapes for want in wants for what, cost in _WAYS[want].items()]
    most = seconds / 40
    end = time.thread_time() + seconds  # processor time of its own: other work of the machine changes nothing
    for n in SIZES:
        for one in list(going):
            shape, what, cost = one
            began = time.thread_time()
            if began > end:
                return
            try:
                value = _limit(partial(cost, partial(make, n, shape)), most * 8)
            except (TooMuch, RecursionError, MemoryError) as error:
                yield {"shape": shape, "what": what, "n": n, "cost": most * 8, "why": type(error).__name__}
                going.remove(one)
                continue
            yield {"shape": shape, "what": what, "n": n, "cost": value}
            if time.thread_time() - began > most:
                going.remove(one)


def _limit(work: Callable[[], float], seconds: float) -> float:
    def ring(*_: Any) -> None:
        raise TooMuch

    signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        return work()
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _run(work: Callable[[], Any]) -> Any:
    """Do the work to its end: exhaust a lazy result."""
    value = work()
    return collections.deque(value, 0) if isinstance(value, collections.abc.Iterator) else value


def _instructions(make: Callable[[int], Callable[[], Any]]) -> float:
    work, total = make(0), 0

    def trace(frame: Any, event: str, _: Any) -> Any:
        nonlocal total
        frame.f_trace_lines, frame.f_trace_opcodes = False, True
        total += event == "opcode"
        return trace

    sys.settrace(trace)
    try:
        _run(work)
    finally:
        sys.settrace(None)
    return total


def _processor(make: Callable[[int], Callable[[], Any]]) -> float:
    """Seconds, the least of some repetitions; each has its own input, as a function may remember its results."""
    times: list[float] = []
    gc.collect()
    gc.disable()
    try:
        while len(times) < 3 or (sum(times) < 0.005 and len(times) < 9):
            work = make(len(times))
            began = time.thread_time()
            _run(work)
            times.append(time.thread_time() - began)
            if sum(times) > 0.05:
                break
    finally:
        gc.enable()
    return min(times)


def _bytes(make: Callable[[int], Callable[[], Any]]) -> float:
    work = make(0)
    gc.collect()
    tracemalloc.start()
    try:
        began, _ = tracemalloc.get_traced_memory()
        _run(work)
        return tracemalloc.get_traced_memory()[1] - began  # the peak
    finally:
        tracemalloc.stop()


_WAYS: dict[str, dict[str, Callable[..., float]]] = {
    "time": {"instructions": _instructions, "seconds": _processor},
    "space": {"bytes": _bytes},
}


if __name__ == "__main__":
    main(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")), sys.argv[2])
