"""What Python files export."""

import pytest

from treadle.git.api.languages import is_private, module_name
from treadle.git.api.python import definitions, read


def signatures(source: str, path: str = "src/shop/cart.py") -> dict[str, str]:
    return {name: one.signature for name, one in read(path, source.encode()).symbols.items()}


def test_exported_names_and_their_signatures() -> None:
    source = '''
from x import z
import os
LIMIT: int = 3
names = ["a"]
low, (high, _) = 1, (2, 3)
_hidden = 1
def total(items: "list[int]", /, extra, *more: int, tax: float = 0.2, unit="€", **rest) -> "float": ...
def only(*, key): ...
async def load(): ...
def _private(): ...
@frozen
class Cart(Base, frozen=True):
    """A cart."""
    size: int
    def __init__(self, size): self.size, self._x, self.owner = size, 1, ""
    @property
    def price(self) -> int: ...
    @price.setter
    def price(self, value): ...
    @classmethod
    def empty(cls): ...
    @staticmethod
    def parse(text: str) -> "Cart": ...
    def _inner(self): ...
    class Line:
        def __len__(self): ...
if True:
    def late(): ...
else:
    def late(x): ...
'''
    assert signatures(source) == {
        "shop.cart.LIMIT": "LIMIT: int",
        "shop.cart.names": "names",
        "shop.cart.low": "low",
        "shop.cart.high": "high",
        "shop.cart.total": (
            "def total(items: list[int], /, extra, *more: int, tax: float = 0.2, unit='€', **rest) -> float"
        ),
        "shop.cart.only": "def only(*, key)",
        "shop.cart.load": "async def load()",
        "shop.cart.Cart": "@frozen class Cart(Base, frozen=True)",
        "shop.cart.Cart.size": "size: int",
        "shop.cart.Cart.__init__": "def __init__(self, size)",
        "shop.cart.Cart.price": "@property def price(self) -> int; @price.setter def price(self, value)",
        "shop.cart.Cart.empty": "@classmethod def empty(cls)",
        "shop.cart.Cart.parse": "@staticmethod def parse(text: str) -> Cart",
        "shop.cart.Cart.Line": "class Line",
        "shop.cart.Cart.Line.__len__": "def __len__(self)",
        "shop.cart.late": "def late(); def late(x)",
    }


def test_attributes_that_a_new_object_gets_are_public_too() -> None:
    source = "class A:\n    def __init__(self, x: int):\n        self.x: int = x\n        self._y = self.z = 1\n"
    assert signatures(source, "a.py") == {
        "a.A": "class A",
        "a.A.__init__": "def __init__(self, x: int)",
        "a.A.x": "x: int",
        "a.A.z": "z",
    }


@pytest.mark.parametrize("suffix", ["py", "pyi"])
def test_overloads_are_one_name(suffix: str) -> None:
    source = "from typing import overload\n@overload\ndef f(a: int) -> int: ...\n@overload\ndef f(a: str) -> str: ...\n"
    assert signatures(source, f"m.{suffix}") == {
        "m.f": "@overload def f(a: int) -> int; @overload def f(a: str) -> str"
    }


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ('__all__ = ["_a", "b"]\ndef _a(): ...\ndef b(): ...\ndef c(): ...\n', {"_a", "b"}),
        ('__all__ = ["b"]\n__all__ += ["c"]\ndef a(): ...\ndef b(): ...\ndef c(): ...\n', {"b", "c"}),
        ('__all__ = ("b",) + ("c",)\ndef a(): ...\ndef b(): ...\ndef c(): ...\n', {"b", "c"}),
        ('__all__ = []\n__all__.extend(["b"])\ndef a(): ...\ndef b(): ...\n', set()),
    ],
)
def test_all_decides_on_exports_if_it_is_defined(source: str, names: set[str]) -> None:
    assert {name.removeprefix("shop.cart.") for name in signatures(source)} == names


@pytest.mark.parametrize(
    ("path", "source", "links"),
    [
        ("shop/__init__.py", "from .cart import Cart\nfrom shop.tax import rate as vat\n", ["Cart", "vat"]),
        ("shop/__init__.py", "import os\nfrom typing import Any\nfrom ._x import _y\n", []),
        ("shop/__init__.py", "from .cart import *\n", ["*"]),
        ("shop/__init__.py", "from os import path\nfrom .a import b, c\n__all__ = ['path', 'b']\n", ["path", "b"]),
        ("shop/cart.py", "from .tax import rate\nfrom x import y as y\nimport z as z\n", ["y", "z"]),
    ],
)
def test_names_that_are_passed_on(path: str, source: str, links: list[str]) -> None:
    module = module_name(path)
    assert list(read(path, source.encode()).links) == [f"{module}.{name}" for name in links]


@pytest.mark.parametrize(
    ("path", "source", "target"),
    [
        ("shop/__init__.py", "from ._cart import Cart as Basket", "shop._cart.Cart"),
        ("shop/__init__.py", "from .sub import *", "shop.sub.*"),
        ("shop/__init__.py", "from shop.sub import *", "shop.sub.*"),
        ("shop/sub/__init__.py", "from ..tax import rate", "shop.tax.rate"),
        ("shop/sub/part.py", "from .other import x as x", "shop.sub.other.x"),
        ("shop/_part.py", "from ._cart import Cart", "shop._cart.Cart"),
        ("top.py", "from ....far import x as x", "top.far.x"),
    ],
)
def test_a_reexport_links_to_its_source(path: str, source: str, target: str) -> None:
    assert list(read(path, source.encode()).links.values()) == [target]


@pytest.mark.parametrize(
    ("path", "name"),
    [("src/a/b.py", "a.b"), ("a/__init__.py", "a"), ("lib/x.py", "x"), ("__init__.py", "__init__"), ("src.py", "src")],
)
def test_module_names(path: str, name: str) -> None:
    assert module_name(path) == name


def test_an_underscore_makes_a_module_private() -> None:
    assert is_private("shop._cart")
    assert is_private("_shop.cart")
    assert not is_private("shop.__main__")
    assert read("shop/_cart.py", b"def f(): ...").is_private


def test_the_encoding_is_the_file_s_own() -> None:
    found = read("a.py", "# coding: latin-1\ndef f(a='é'): ...\n".encode("latin-1"))
    assert found.symbols["a.f"].signature == "def f(a='é')"


def test_definitions_include_private_names_and_values() -> None:
    found = definitions("class _A:\n    @x\n    def _f(self): ...\nB = 1\n")
    assert [(one.name, one.shape, one.marks, one.is_value) for one in found] == [
        ("_A", "class _A", "", False),
        ("_A._f", "def _f(self)", "@x ", False),
        ("B", "B", "", True),
    ]
