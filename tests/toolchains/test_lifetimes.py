"""The witness changes nothing that a test can observe of its own values."""

import subprocess

import pytest

from tests.toolchains.projects import PYTEST, project, run, verdicts

THING = """
import weakref
log = []
class Value:
    alive = weakref.WeakSet()
    def __init__(self, name="value"):
        self.name = name
        self.alive.add(self)
    def __del__(self): log.append(self.name)
    def __eq__(self, other): return isinstance(other, Value)
    __hash__ = object.__hash__
class Grumpy(Value):
    def __eq__(self, other): raise ValueError
    __hash__ = object.__hash__
def boom(): raise KeyError("boom")
class Tested:
    def assertEqual(self, first, second, msg=None): log.append("compared")
    def __getattribute__(self, name):
        log.append(name)
        return object.__getattribute__(self, name)
"""

TESTS = """
import sys, traceback, unittest, weakref
import pytest
import thing
from checking import same, same_by_method
from thing import Grumpy, Tested, Value, boom, log

def compared(first, second): pass
compared(Value("first"), Value("second"))
PLAIN = list(log)

class TestHelper(unittest.TestCase):
    def setUp(self): log.clear()
    def test_gone(self):
        self.assertEqual(Value(), Value())
        self.assertEqual(len(Value.alive), 0)
    def test_order(self):
        self.assertEqual(Value("first"), Value("second"))
        assert log == PLAIN
    def test_count(self):
        value = object()
        before = sys.getrefcount(value)
        self.assertEqual(value, value)
        self.assertEqual(sys.getrefcount(value), before)
    def test_failing(self):
        with self.assertRaises(AssertionError): self.assertEqual(Value(), 1)
        self.assertEqual(len(Value.alive), 0)
    def test_second_raises(self):
        with self.assertRaises(KeyError): self.assertEqual(Value(), boom())
        self.assertEqual(len(Value.alive), 0)
    def test_lookup_comes_first(self):
        Tested().assertEqual(log.append("first"), log.append("second"), log.append("message"))
        assert log == ["assertEqual", "first", "second", "message", "compared"]
    def test_lookup_fails_first(self):
        nothing = None
        with self.assertRaises(AttributeError): nothing.assertEqual(log.append("first"), 1)
        assert log == []
    def test_traceback(self):
        try:
            self.assertEqual(
                Value(),
                boom(),
            )
        except KeyError as error:
            frames = traceback.extract_tb(error.__traceback__)
            assert [one.name for one in frames] == ["test_traceback", "boom"]
            assert error.__context__ is None
    def test_names(self):
        self.assertEqual(Value(), Value())
        assert not [name for name, one in locals().items() if isinstance(one, (Value, int))]

def test_asserted():
    assert Value() == Value()
    assert len(Value.alive) == 0

def test_shared():
    log.clear()
    assert same() and len(Value.alive) == 0
    assert log == ["first", "second"]

def test_shared_method():
    same_by_method(unittest.TestCase())
    assert len(Value.alive) == 0

@pytest.mark.parametrize("what", ["differs", "raises"])
def test_shared_failing(what):
    with pytest.raises((AssertionError, ValueError)) as caught: same(what)
    assert [one.name for one in traceback.extract_tb(caught.tb)][1:2] == ["same"]
    if what == "differs":
        assert len(Value.alive) == 0
    del caught

def test_no_twin_is_seen_dying():
    log.clear()
    assert thing.Value("a") == thing.Value("b")
    assert sorted(log) == ["a", "b"]
"""

SHARED = """
from thing import Grumpy, Value
def same(what="equal"):
    if what == "differs":
        assert Value() == 1, what
    if what == "raises":
        assert Grumpy() == 1
    assert Value("first") == Value("second")
    return True
def same_by_method(case):
    case.assertEqual(Value(), Value())
    assert len(Value.alive) == 0
"""


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    path = tmp_path_factory.mktemp("lifetimes")
    project(path, thing=THING, tests__checking=SHARED, tests__test_thing=TESTS)
    (path / "pytest.ini").write_text("[pytest]\npythonpath = . tests\n")
    ran = run(path)
    assert (ran.bent, ran.problems) == ((), ()), ran.output
    plain = subprocess.run([*PYTEST, "-q", "-p", "no:cacheprovider"], check=False, cwd=path, capture_output=True)
    assert plain.returncode == 0, plain.stdout
    return verdicts(ran)


def test_values_do_not_outlive_the_statement_that_compares_them(ended: dict[str, str]) -> None:
    assert len(ended) == 15
    assert ended == dict.fromkeys(ended, "passed")
