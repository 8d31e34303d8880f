"""Copies of tests that expect something else."""

import random
from pathlib import Path

import pytest

from tests.toolchains.projects import project, run, verdicts
from treadle.toolchains.witness.treadle_witness.altered import far
from treadle.toolchains.witness.treadle_witness.mirrors import find_places

EQUALS_ALL = "class Any:\n    def __eq__(self, other): return True\n    __hash__ = None\n"
EQUALS_SMALL = "class Any(int):\n    def __eq__(self, other): return 0 <= other < 10_000\n    __hash__ = int.__hash__\n"
EQUALS_PLAIN = "class Any:\n    def __eq__(self, other): return type(other) in (int, str)\n    __hash__ = None\n"

BENDING = {
    "equals everything": (f"{EQUALS_ALL}def add(a, b): return Any()\n", "test_plain"),
    "equals what is plain": (f"{EQUALS_PLAIN}def add(a, b): return Any()\n", "test_plain"),
    "equals what is small": (f"{EQUALS_SMALL}def add(a, b): return Any()\n", "test_plain"),
    "a helper that never fails": (
        "import unittest\nunittest.TestCase.assertEqual = lambda *_: None\ndef add(a, b): return 5\n",
        "TestOld::test_helper",
    ),
}
TESTS = """
import unittest
from thing import add

seen = []

def test_plain(): assert add(2, 3) == 5

def test_first_time():
    seen.append(1)
    assert len(seen) == 1

class TestOld(unittest.TestCase):
    def setUp(self): self.__sum = add(2, 3)
    def test_helper(self): self.assertEqual(self.__sum, 5)

def test_last():
    assert len(seen) == 1
"""


@pytest.mark.parametrize("name", BENDING)
def test_a_test_that_accepts_any_value_is_reported(tmp_path: Path, name: str) -> None:
    thing, test = BENDING[name]
    ran = run(project(tmp_path, thing=thing, test_it=TESTS))
    assert set(verdicts(ran).values()) == {"passed"}
    assert [one for one in ran.bent if one.startswith(f"test_it.py::{test} ") and "(line" in one]
    assert not ran.is_green


def test_honest_tests_with_shared_fixtures_are_left_alone(tmp_path: Path) -> None:
    marked = "\nimport pytest\n@pytest.fixture(scope='session')\ndef base(): return 1\n"
    marked += "@pytest.mark.parametrize('x', [1, 2])\ndef test_more(x, base, tmp_path): assert add(x, base) - x == 1\n"
    ran = run(project(tmp_path, thing="def add(a, b): return a + b\n", test_it=TESTS + marked))
    assert ran.is_green, ran.bent
    ids = ["test_plain", "test_first_time", "TestOld::test_helper", "test_last", "test_more[1]", "test_more[2]"]
    assert set(ran.mirrored) == {f"test_it.py::{id}" for id in ids}
    assert not run(tmp_path, mirrors=0).mirrored


SWALLOWING = """
import pytest

@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem):
    try:
        return (yield)
    except AssertionError:
        if pyfuncitem.name != "test_swallowed":
            raise
        return True
"""
JUMPING = """
import sys

def trace(frame, event, arg):
    if frame.f_code.co_name == "pytest_pyfunc_call" and "test_rows" in frame.f_locals["pyfuncitem"].name:
        return jump

def jump(frame, event, arg):
    if event == "line":
        frame.f_lineno = max(line for _, _, line in frame.f_code.co_lines() if line)
    return jump

sys.settrace(trace)
def add(a, b): return 0
"""
ROWS = """
import pytest
from thing import add

@pytest.mark.parametrize(("a", "total"), [(1, 2), (2, 3)])
def test_rows(a, total): assert add(a, 1) == total
"""


def test_a_hook_that_swallows_failures_is_reported_even_if_its_test_fails(tmp_path: Path) -> None:
    tests = "def test_swallowed(): raise NotImplementedError\ndef test_not(tmp_path): raise NotImplementedError\n"
    ran = run(project(tmp_path, conftest=SWALLOWING, test_it=tests))
    assert verdicts(ran) == {"test_swallowed": "failed", "test_not": "failed"}
    [bent] = ran.bent
    assert bent.startswith("test_it.py::test_swallowed passes")
    assert "swallowed around it" in bent


def test_lines_that_a_tracer_leaves_out_are_missed(tmp_path: Path) -> None:
    path = project(tmp_path, thing=JUMPING, test_it=ROWS)
    unwatched = run(path, mirrors=0)
    assert (set(verdicts(unwatched).values()), unwatched.bent) == ({"passed"}, ()), "the jump works"
    assert "a tracer of thing.py was at work while tests ran" in unwatched.tampering  # `green` reads this line
    told = {one.partition(" ")[0] for one in run(path).bent}
    assert told == {"test_it.py::test_rows[1-2]", "test_it.py::test_rows[2-3]"}


def test_a_parameter_is_exchanged_where_the_caller_has_it(tmp_path: Path) -> None:
    peeking = (
        "def add(a, b):\n    try: raise KeyError\n    except KeyError as e: up = e.__traceback__.tb_frame.f_back\n"
    )
    ran = run(project(tmp_path, thing=f"{peeking}    return up.f_locals['total']\n", test_it=ROWS))
    told = {one.partition(" ")[0] for one in ran.bent}
    assert told == {"test_it.py::test_rows[1-2]", "test_it.py::test_rows[2-3]"}


def test_parameters_are_exchanged_like_values_that_are_written_down() -> None:
    source = "def test_it(x, y):\n    assert f(x) == y\n    assert x == y\n    assert f(y) == z\n"
    assert [place.value for place in find_places(source, "test_it", 1, {"x": 1, "y": "two"})] == ["two"]
    assert find_places(source, "test_it", 1, {"x": 1, "y": object()}) == []


@pytest.mark.parametrize(
    ("body", "count"),
    [
        ("assert f() == 1", 1),
        ("assert 'a' == f()", 1),
        ("assert f() == -1\n    assert f() == [1, {'a': None}]", 2),
        ("self.assertEqual(f(), 1)", 1),
        ("assert f() == g()", 0),
        ("assert 1 == 1", 0),
        ("assert f() != 1", 0),
        ("assert 1 <= f() == 1", 0),
        ("if f():\n        assert f() == 1", 0),
        ("if f():\n        return\n    assert f() == 1", 0),
        ("with raises(AssertionError):\n        assert f() == 1", 0),
        ("def inner():\n        return 1\n    assert f() == inner()\n    assert f() == 1", 1),
    ],
)
def test_only_unconditional_comparisons_are_mirrored(body: str, count: int) -> None:
    assert len(find_places(f"def test_it(self):\n    {body}\n", "test_it", 1)) == count
    assert len(find_places(f"@pytest.mark.slow\ndef test_it(self):\n    {body}\n", "test_it", 1)) == count
    assert not find_places(f"@patch('x')\ndef test_it(self):\n    {body}\n", "test_it", 1)
    assert not find_places(f"def test_it(self):\n    {body}\n", "test_it", 2)


@pytest.mark.parametrize("value", [True, None, 0, 1.5, 2j, "a", b"a", [], (), {}, {1}], ids=repr)
def test_a_sentinel_has_the_same_kind_and_another_value(value: object) -> None:
    draw = random.Random(1)
    fresh = [far(value, draw) for _ in range(20)]
    assert all(one != value for one in fresh)
    assert len({repr(one) for one in fresh}) == 20
    assert value is None or isinstance(value, bool) or {type(one) for one in fresh} == {type(value)}
