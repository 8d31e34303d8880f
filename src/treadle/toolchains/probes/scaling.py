"""Calls a function with inputs of growing size and records the cost of each call; run by the project's interpreter.

`scaling.py ORDER REPORT`. The report is written after every call, so that the known costs survive a function that does
not end.
"""

from __future__ import annotations

import collections
import importlib
import inspect
import json
import random
import runpy
import signal
import sys
import time
import timeit
import tracemalloc
import types
import typing
from functools import partial
from pathlib import Path
from typing import Any, Callable, Sequence  # noqa: UP035 - this runs on old versions too

SIZES = (4, 6, 8, 11, 16, 23, *(1 << power for power in range(5, 18)))
COSTS = {"time": ("instructions", "seconds"), "space": ("bytes",)}
SCALARS: dict[Any, Callable[[int], Any]] = {int: int, float: float, bool: lambda _: False, typing.Any: int, object: int}
ITEMS = {**SCALARS, str: "{:08d}".format}

Make = Callable[[int, str, int], Callable[[], Any]]
"""Prepares a call for a size, a shape and a seed."""


class TooMuch(BaseException):
    """A call takes more time than it may; no `except Exception` of the function catches it."""


def main(order: dict[str, Any], report: Path) -> None:
    """Measure one function until its time is spent."""
    measured: dict[str, Any] = {"problem": "", "points": [], "stops": [], "inputs": ""}

    def write() -> None:
        draft = report.with_suffix(".part")
        draft.write_text(json.dumps(measured), encoding="utf-8")
        draft.replace(report)

    def ring(*_: Any) -> None:
        raise TooMuch

    signal.signal(signal.SIGPROF, ring)
    try:
        make, shapes, measured["inputs"] = _choose_inputs(order)
        going = [(shape, what) for shape in shapes for want in order["wants"] for what in COSTS[want]]
        most = order["seconds"] / 40
        end = time.thread_time() + order["seconds"]  # of this thread: other work of the machine changes nothing
        for n, (shape, what) in ((n, one) for n in SIZES for one in list(going)):
            began = time.thread_time()
            if began > end:
                break
            cost, why = most * 8, ""
            signal.setitimer(signal.ITIMER_PROF, most * 8)
            try:
                cost = _cost(what, partial(make, n, shape))
            except (TooMuch, RecursionError, MemoryError) as error:
                why = type(error).__name__
            finally:
                signal.setitimer(signal.ITIMER_PROF, 0)
            call = {"shape": shape, "what": what, "n": n, "cost": cost, "why": why}
            measured["stops" if why else "points"].append(call)
            write()
            if why or time.thread_time() - began > most:
                going.remove((shape, what))
    except BaseException as error:  # noqa: BLE001, RUF100 - the error of foreign code is the result
        measured["problem"] = f"{type(error).__name__}: {error}"[:500]
    write()


def _choose_inputs(order: dict[str, Any]) -> tuple[Make, tuple[str, ...], str]:
    """Return how to make inputs, in which shapes, and a description of them."""
    # Import from the checkout, and never from the one that the environment was made for.
    sys.path[:] = [order["witness"], *(entry for entry in sys.path if entry != str(Path(__file__).resolve().parent))]
    imports, checkout = importlib.import_module("treadle_witness.imports"), order["checkout"]
    imports.compile_afresh(checkout)
    imports.put_checkout_first(checkout, order["root"], True)
    sys.path[:0] = [str(Path(checkout, "src")), checkout]

    function = getattr(importlib.import_module(order["module"]), order["name"]) if order["module"] else None
    if not order["sizes"]:
        return _inputs_by_annotations(function)
    file = Path(checkout, order["sizes_file"])
    sys.path.insert(0, str(file.parent))
    sizes = runpy.run_path(str(file), run_name="treadle_sizes")[order["sizes"]]

    def make(n: int, _shape: str, _seed: int) -> Callable[[], Any]:
        value = sizes(n)
        if callable(value):
            return value  # type: ignore[no-any-return]
        if function is None:
            raise ValueError("it returns arguments, and there is no function to call with them")
        return partial(function, *(value if isinstance(value, tuple) else (value,)))

    return make, ("given",), f"by {order['sizes']}(n)"


def _inputs_by_annotations(function: Any) -> tuple[Make, tuple[str, ...], str]:
    annotations = typing.get_type_hints(function)
    hints = []
    for one in inspect.signature(function).parameters.values():
        if one.default is one.empty and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD):
            if one.name not in annotations or one.kind is one.KEYWORD_ONLY:
                raise ValueError(f"its parameter '{one.name}' has no annotation, or must be named; write `sizes(n)`")
            hints.append(_plain(annotations[one.name]))
    is_sized = any(hint not in SCALARS for hint in hints)
    if not is_sized and int not in hints:
        raise ValueError("none of its parameters has a size")

    def make(n: int, shape: str, seed: int) -> Callable[[], Any]:
        shuffled = random.Random(seed * 1_000_003 + n).sample(range(n), n)
        order = {"rising": range(n), "falling": range(n)[::-1], "equal": [0] * n}.get(shape, shuffled)
        # A number is the size itself only where nothing else has a size.
        return partial(function, *[_argument(hint, order, n // 2 if is_sized else n) for hint in hints])

    shapes = ("shuffled", "rising", "falling", "equal") if is_sized else ("plain",)
    return make, shapes, f"by the annotations {inspect.signature(function)}"


def _plain(hint: Any) -> Any:
    """A type without `Optional` and type variables."""
    if isinstance(hint, typing.TypeVar):
        return _plain(hint.__bound__ or (*hint.__constraints__, int)[0])
    if typing.get_origin(hint) in (typing.Union, getattr(types, "UnionType", typing.Union)):
        return _plain(next(one for one in typing.get_args(hint) if one is not type(None)))
    return hint


def _argument(hint: Any, order: Sequence[int], number: int) -> Any:
    """Make an argument: a number, or a text or collection with an item for each number of `order`."""
    hint = _plain(hint)
    kind, inner = typing.get_origin(hint) or hint, typing.get_args(hint)
    if kind in SCALARS:
        return SCALARS[kind](number)
    if kind in (str, bytes):
        text = "".join(chr(97 + at % 26) for at in order)
        return text if kind is str else text.encode()
    if kind is tuple and inner and Ellipsis not in inner:
        return tuple(_argument(one, order, number) for one in inner)

    columns = []
    for one in [_plain(one) for one in inner if one is not Ellipsis] or [int, int]:
        item = ITEMS.get(one)
        columns.append([item(at) if item else _argument(one, range(at, at + 4), at) for at in order])
    # An abstract kind (`Sequence`, `Iterable`) gets the first of these that fits it.
    makers: tuple[Any, ...] = (list, tuple, set, frozenset, collections.deque, dict, type(iter([])))
    maker = next((one for one in makers if isinstance(kind, type) and issubclass(one, kind)), None)
    if maker is None:
        raise ValueError(f"no input can be made for {hint}; a `sizes(n)` in the tests can")
    if maker is dict:
        return dict(zip(*columns))  # noqa: B905 - old versions
    return iter(columns[0]) if maker is makers[-1] else maker(columns[0])


def _cost(what: str, make: Callable[[int], Callable[[], Any]]) -> float:
    """Return the cost of one call, without the cost of its input."""
    # Each call has its own input, as a function may remember its results.
    works = iter([make(seed) for seed in range(3 if what == "seconds" else 1)])
    count = 0

    def run() -> None:
        value = next(works)()
        if inspect.iscoroutine(value):
            value.close()
            raise ValueError("it is asynchronous; a `sizes(n)` in the tests can return a function that runs it")
        if isinstance(value, collections.abc.Iterator):
            collections.deque(value, 0)  # a lazy result does its work only now

    def trace(frame: Any, event: str, _: Any) -> Any:
        nonlocal count
        frame.f_trace_lines, frame.f_trace_opcodes = False, True
        count += event == "opcode"
        return trace

    if what == "seconds":
        return min(timeit.repeat(run, timer=time.thread_time, repeat=3, number=1))
    try:
        if what == "bytes":
            tracemalloc.start()
        else:
            sys.settrace(trace)
        run()
        return tracemalloc.get_traced_memory()[1] if what == "bytes" else count
    finally:
        sys.settrace(None)
        tracemalloc.stop()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]), Path(sys.argv[2]))
