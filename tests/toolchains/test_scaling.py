"""Functions that are measured in a process of their own."""

import asyncio
import sys
from pathlib import Path

import pytest

from tests.toolchains.projects import write
from treadle.evidence.checks.scaling import judge_limit, parse_growth
from treadle.toolchains.sandbox import NONE
from treadle.toolchains.scaling import ScalingMeasurement, ScalingProbe, measure_scaling

CODE = """
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Optional, TypeVar

T = TypeVar("T")


def pairs(xs: list[int]) -> int:
    return sum(1 for x in xs for y in xs if x < y)


def once(xs: "Sequence[T]", key: Optional[str]) -> Iterator[T]:
    for x in xs:
        yield x


def unique(xs: list[int]) -> list[int]:
    out = []
    for x in xs:
        if x not in out:
            out.append(x)
    return out


def table(n: int) -> list[list[int]]:
    return [[0] * n for _ in range(n)]


def fib(n: int) -> int:
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def hangs(words: Mapping[str, int]) -> int:
    while len(words) > 20:
        pass
    return 0


def bare(xs):
    return xs


def strange(xs: Iterator[complex]) -> None: ...


def fails(xs: list[int]) -> int:
    return xs[len(xs)]


class Stack:
    def push(self, x: int) -> None: ...
"""
SIZES = """
from algo import Stack, bare


def sizes(n):
    def work():
        stack = Stack()
        for x in range(n):
            stack.push(x)

    return work


def sizes_bare(n):
    return (list(range(n)),)
"""


def measure(folder: Path, name: str, want: str = "time", seconds: float = 0.5, **more: str) -> ScalingMeasurement:
    write(folder, "src/algo.py", CODE)
    write(folder, "tests/test_algo.py", SIZES)
    probe = ScalingProbe(module=more.pop("module", "algo"), name=name, wants=(want,), seconds=seconds, **more)
    return asyncio.run(measure_scaling((sys.executable,), folder, folder, probe, NONE))


@pytest.mark.parametrize(
    ("name", "want", "bound", "verdict"),
    [
        ("pairs", "time", "O(n log n)", "exceeds"),
        ("once", "time", "O(n)", "fits"),
        ("unique", "time", "O(n)", "exceeds"),
        ("table", "space", "O(n)", "exceeds"),
        ("fib", "time", "O(n)", "exceeds"),
        ("hangs", "time", "O(n)", "exceeds"),
    ],
)
def test_measured_functions_are_judged(tmp_path: Path, name: str, want: str, bound: str, verdict: str) -> None:
    # What goes on inside of a single instruction shows only on larger inputs, which take their time.
    found = judge_limit(
        want, parse_growth(bound), measure(tmp_path, name, want, seconds=3.0 if name == "unique" else 0.5)
    )
    assert found.verdict == verdict, found


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("bare", "'xs' has no annotation"),
        ("strange", "complex"),
        ("gone", "has no attribute 'gone'"),
        ("fails", "IndexError"),
    ],
)
def test_a_function_that_cannot_be_measured_says_why(tmp_path: Path, name: str, reason: str) -> None:
    measured = measure(tmp_path, name)
    assert reason in measured.problem
    assert judge_limit("time", parse_growth("O(n)"), measured).verdict == "unmeasurable"


def test_a_test_file_makes_the_inputs(tmp_path: Path) -> None:
    work = measure(tmp_path, "sizes", module="", sizes="sizes", sizes_file="tests/test_algo.py")
    assert (work.problem, work.inputs) == ("", "by sizes(n)")
    assert judge_limit("time", parse_growth("O(n)"), work).verdict == "fits"
    given = measure(tmp_path, "bare", sizes="sizes_bare", sizes_file="tests/test_algo.py")
    assert judge_limit("time", parse_growth("O(1)"), given).verdict == "fits", given.problem


def test_instructions_are_the_same_every_time(tmp_path: Path) -> None:
    one, other = (measure(tmp_path, "pairs").points for _ in range(2))
    counted = [{(p.shape, p.n): p.cost for p in points if p.what == "instructions"} for points in (one, other)]
    both = counted[0].keys() & counted[1].keys()
    assert len(both) > 8
    assert all(counted[0][key] == counted[1][key] for key in both)
