"""What Python files export, and what changes of it mean."""

import pytest

from treadle.git.api import api_of, is_test, module_name
from treadle.git.api_diff import ApiChange, changes, impact


def python(source: str, path: str = "src/shop/cart.py") -> dict[str, str]:
    return {name: symbol.signature for name, symbol in api_of(path, source.encode()).items()}


def test_exported_names_and_their_signatures() -> None:
    source = '''
from x import y as y, z
import os
LIMIT: int = 3
names = ["a"]
_hidden = 1
def total(items: list[int], *, tax: float = 0.2) -> float: ...
async def load(): ...
def _private(): ...
class Cart(Base, frozen=True):
    """A cart."""
    size: int
    def __init__(self, size): ...
    def add(self, one): ...
    def _inner(self): ...
if True:
    def late(): ...
'''
    assert python(source) == {
        "shop.cart.y": "from x import y",
        "shop.cart.LIMIT": "LIMIT: int",
        "shop.cart.names": "names",
        "shop.cart.total": "def total(items: list[int], *, tax: float=0.2) -> float",
        "shop.cart.load": "async def load()",
        "shop.cart.Cart": "class Cart(Base, frozen=True)",
        "shop.cart.Cart.size": "size: int",
        "shop.cart.Cart.__init__": "def __init__(self, size)",
        "shop.cart.Cart.add": "def add(self, one)",
        "shop.cart.late": "def late()",
    }


def test_all_decides_where_it_is_there() -> None:
    assert set(python('__all__ = ["_a", "b"]\ndef _a(): ...\ndef b(): ...\ndef c(): ...\n')) == {
        "shop.cart._a",
        "shop.cart.b",
    }


@pytest.mark.parametrize(
    ("path", "name"),
    [("src/a/b.py", "a.b"), ("a/__init__.py", "a"), ("lib/x.py", "x"), ("__init__.py", "__init__"), ("src.py", "src")],
)
def test_module_names(path: str, name: str) -> None:
    assert module_name(path) == name


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("tests/a.py", True),
        ("src/test_a.py", True),
        ("src/a_test.go", True),
        ("web/a.spec.ts", True),
        ("conftest.py", True),
        ("src/contest.py", False),
        ("src/latest.py", False),
    ],
)
def test_tests_are_nobodys_interface(path: str, expected: bool) -> None:
    assert is_test(path) is expected


@pytest.mark.parametrize(
    ("before", "after", "expected", "reach"),
    [
        ("def f(a): return 1", "def f(a):\n    '''Doc.'''\n    return 1  # same", [], "Trivial"),
        ("def f(a): return 1", "def f(a): return 2", ["BehaviorChange"], "Breaking"),
        ("def f(a): return 1", "def f(a, b): return 1", ["SignatureChange"], "Breaking"),
        ("def f(a): return 1", "", ["RemovedExport"], "Breaking"),
        ("", "def f(a): return 1", ["NewExport"], "Additive"),
        ("def _f(a): return 1", "", [], "Trivial"),
        ("class A:\n    def f(self): return 1", "class A:\n    def f(self): return 2", ["BehaviorChange"], "Breaking"),
        ("class A:\n    x = 1", "class A:\n    x = 1\n    def g(self): ...", ["NewExport"], "Additive"),
    ],
)
def test_changes_and_how_far_they_reach(before: str, after: str, expected: list[str], reach: str) -> None:
    found = changes(api_of("m.py", before.encode()), api_of("m.py", after.encode()))
    assert [one.type for one in found] == expected
    assert impact(found) == reach


def test_a_change_has_both_signatures() -> None:
    found = changes(api_of("m.py", b"def f(a): ..."), api_of("m.py", b"def f(b): ..."))
    assert found == [ApiChange("m.f", "SignatureChange", "def f(a)", "def f(b)")]


@pytest.mark.parametrize(
    ("path", "source"), [("a.py", b"def f(:"), ("a.py", b"\0"), ("a.ts", b"x"), ("a.py", b"(" * 5000 + b")" * 5000)]
)
def test_what_cannot_be_read_counts_as_a_file(path: str, source: bytes) -> None:
    assert list(api_of(path, source)) == [path]
    assert api_of(path, source) != api_of(path, source + b" # other")


def test_documents_export_nothing() -> None:
    assert api_of("README.md", b"x") == {}
