"""Values that say themselves what they equal."""

from pathlib import Path

from tests.toolchains.projects import project, run, verdicts

LYING = """
import sys
class Once(int):
    def __eq__(self, other): return True
    __hash__ = None
class First:
    met = None
    def __eq__(self, other):
        self.met = other if self.met is None else self.met
        return self.met == other
class Caller:
    def __init__(self, code): self.values = code.co_consts
    def __eq__(self, other): return other in self.values
calls = set()
def once(name, value):
    fresh = name not in calls
    calls.add(name)
    return value if fresh else 0
def in_row(): return [once("row", Once(1))]
def by_caller(): return once("caller", Caller(sys._getframe(1).f_code))
"""
TESTS = """
import unittest
from thing import *

def test_once(): assert once("once", Once(1)) == 7
def test_row(): assert in_row() == [7]
def test_first(): assert once("first", First()) == 7
def test_caller(): assert by_caller() == 7
class TestOld(unittest.TestCase):
    def test_helper(self): self.assertEqual(once("helper", Once(1)), 7)
"""
HONEST = """
import dataclasses, enum
@dataclasses.dataclass
class Point:
    x: int
class Name(str):
    def __eq__(self, other): return self.casefold() == other.casefold()
    __hash__ = None
class Version(str):
    def __lt__(self, other): return [*map(int, self.split("."))] < [*map(int, other.split("."))]
class Nearly(float):
    def __eq__(self, other): return abs(float(self) - other) < 1e-6
    __hash__ = None
class Money:
    def __init__(self, cents): self.cents = cents
    def __eq__(self, other): return self.cents == getattr(other, "cents", other)
class Row:
    def __eq__(self, other): return Row()
    def __bool__(self): raise ValueError
    def all(self): return True
class Cents(int):
    def __eq__(self, other): return int(self) == other
    __hash__ = int.__hash__
class Kind(enum.IntEnum):
    PEN = 3
"""
USES = """
from thing import *
def test_plain():
    assert Point(1) == Point(1)
    assert [Money(3)] == [3]
    assert (Row() == Row()).all()
    assert Cents(4) == 4 and Kind.PEN == 3
def test_own():
    assert Name("Ann") == "ANN"
    assert Version("1.9") < "1.10"
    assert Nearly(0.1 + 0.2) == 0.3
def test_fails(): assert Cents(4) == 5
"""


def test_the_value_that_satisfied_a_test_is_the_one_that_is_judged(tmp_path: Path) -> None:
    ran = run(project(tmp_path, thing=LYING, test_it=TESTS), mirrors=1)
    bent = {one.partition(" passes")[0].rpartition("::")[2] for one in ran.bent}
    assert bent == {"test_once", "test_row", "test_caller", "test_helper"}
    assert verdicts(ran)["test_first"] == "failed"
    said = "thing.py: Once takes a wrong value for the right one: 1 == 7 (in test_it.py::test_once)"
    assert said in ran.tampering


def test_honest_equality_is_at_most_pointed_out(tmp_path: Path) -> None:
    ran = run(project(tmp_path, thing=HONEST, test_it=USES), mirrors=1)
    assert verdicts(ran) == {"test_plain": "passed", "test_own": "passed", "test_fails": "failed"}
    assert ran.bent == ()
    said = [one.partition(" compares in its own way: ")[::2] for one in ran.tampering]
    where = "does not hold (in test_it.py::test_own)"
    assert said == [
        ("thing.py: Name", f"by itself, 'Ann' == 'ANN' {where}"),
        ("thing.py: Version", f"by itself, '1.9' < '1.10' {where}"),
        ("thing.py: Nearly", f"by itself, 0.30000000000000004 == 0.3 {where}"),
    ]


KINDS = """
import dataclasses
import unittest.mock
whatever = unittest.mock.ANY
class Kind:
    def __init__(self, name): self.name = name
    def __eq__(self, other): return isinstance(other, Kind)
class Slotted(Kind):
    __slots__ = ("more",)
    def __init__(self, name): self.more = name
@dataclasses.dataclass
class Loose:
    name: str = dataclasses.field(compare=False)
@dataclasses.dataclass
class Holder:
    held: list
class Every:
    def __eq__(self, other): return True
class Full:
    def __contains__(self, one): return True
    def __len__(self): return 2
class Number(int):
    def __eq__(self, other): return isinstance(other, int)
    __hash__ = None
"""
COMPARED = """
import helping
from thing import *
def test_kind(): assert Kind("a") == Kind("b")
def test_row(): assert {"x": [Kind("a")]} == {"x": [Kind("b")]}
def test_slotted(): assert Slotted("a") == Slotted("b")
def test_loose(): assert Loose("a") == Loose("b")
def test_held(): assert Holder([Kind("a")]) == Holder([Kind("b")])
def test_every(): assert Every() == Kind("b")
def test_full(): assert "a" in Full()
def test_any(): assert [whatever] == [len("abc")]
def test_helper(): helping.same(Number(1), 7)
def test_old(): helping.Old().same(Number(1), 7)
"""
HELPING = '''"""Shared."""
from __future__ import annotations
import unittest

def same(one, other):
    "Compares."
    assert one == other, "by its own words"

class Old(unittest.TestCase):
    def same(self, one, other): self.assertEqual(one, other)
'''


def test_equality_that_ignores_the_value_is_reported(tmp_path: Path) -> None:
    ran = run(project(tmp_path, thing=KINDS, tests__test_it=COMPARED, tests__helping=HELPING), mirrors=1)
    assert set(verdicts(ran).values()) == {"passed"}
    bent = {one.partition(" passes")[0].rpartition("::")[2] for one in ran.bent}
    assert bent == {"test_any", "test_helper", "test_old"}
    [full] = [one for one in ran.tampering if "Full" in one]
    assert full.startswith("thing.py: Full takes ")
    assert full.endswith("is 2 long (in tests/test_it.py::test_full)")
    rest = [one.split(": ") for one in ran.tampering if "Number" not in one and one != full]
    wrong = " takes a wrong value for the right one"  # `green` reads this line
    assert {tuple(one) for one in rest} == {
        ("thing.py", f"{kind}{wrong}", f"{said} (in tests/test_it.py::{test})")
        for kind, said, test in [
            ("Kind", "Kind(name='a') == Kind(name='b')", "test_kind"),
            ("Kind", "Kind(name='a') == Kind(name='b')", "test_row"),
            ("Kind", "Slotted(more='a') == Slotted(more='b')", "test_slotted"),
            ("Loose", "Loose(name='a') == Loose(name='b')", "test_loose"),
            ("Kind", "Kind(name='a') == Kind(name='b')", "test_held"),
            ("Every", "Every() == Kind(name='b')", "test_every"),
        ]
    }


def test_empty_or_equal_values_are_left_alone(tmp_path: Path) -> None:
    honest = """
class Nothing:
    def __eq__(self, other): return isinstance(other, Nothing)
class Kind:
    def __init__(self, name): self.name = name
    def __eq__(self, other): return isinstance(other, Kind)
class Set:
    def __init__(self, *held): self.held, self.asked = held, 0
    def __contains__(self, one):
        self.asked += 1
        return one in self.held
    def __len__(self): return len(self.held)
class All:
    def __contains__(self, one): return True
"""
    uses = """
from unittest import mock
from thing import *
def test_all():
    some = Set(1)
    assert Nothing() == Nothing()
    assert Kind("a") == Kind("a")
    assert 1 in some
    assert some.asked == 1
    assert "x" in All()
    assert {"id": len("abc")} == {"id": mock.ANY}
"""
    ran = run(project(tmp_path, thing=honest, test_it=uses), mirrors=1)
    assert (ran.is_green, ran.tampering, ran.bent) == (True, (), ())
