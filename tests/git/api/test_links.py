"""Names that one file has from another."""

import pytest

from treadle.git.api.languages import read_api
from treadle.git.api.links import Places, linked

CART = "class Cart:\n    def add(self, x): ...\n    def _hide(self): ...\ndef _own(): ...\n"


def together(**files: str) -> dict[str, str]:
    paths = {f"shop/{name}.py": text for name, text in files.items()}
    found = linked(read_api(path, text.encode()) for path, text in paths.items())
    return {name: one.signature for name, one in found.items()}


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        ("from ._cart import Cart", {"shop.Cart": "class Cart", "shop.Cart.add": "def add(self, x)"}),
        ("from shop._cart import Cart as Basket", {"shop.Basket": "class Cart", "shop.Basket.add": "def add(self, x)"}),
        ("from ._cart import *", {"shop.Cart": "class Cart", "shop.Cart.add": "def add(self, x)"}),
        ("from ._cart import _own as own", {"shop.own": "def _own()"}),
        ("from ._gone import Cart", {"shop.Cart": "from shop._gone import Cart"}),
        ("from ._more import Cart", {"shop.Cart": "class Cart", "shop.Cart.add": "def add(self, x)"}),
        ("", {}),
    ],
)
def test_a_private_place_is_told_where_it_is_passed_on(start: str, expected: dict[str, str]) -> None:
    assert together(__init__=start, _cart=CART, _more="from ._cart import Cart") == expected


def test_a_public_place_tells_of_itself() -> None:
    assert together(__init__="from .cart import total", cart="def total(): ...") == {
        "shop.total": "from shop.cart import total",
        "shop.cart.total": "def total()",
    }


def test_circles_end() -> None:
    found = together(__init__="from ._a import x", _a="from ._b import x", _b="from ._a import x")
    assert list(found) == ["shop.x"]


def test_what_has_to_be_read_besides() -> None:
    places = Places(["shop/__init__.py", "shop/_cart.py", "shop/tax.py", "web/a.ts"])
    reading = read_api("shop/__init__.py", b"from ._cart import Cart\nfrom .tax import rate\n")
    assert list(places.sources(reading)) == ["shop/_cart.py"]
    assert places.mentions(["shop/_cart.py", "shop/tax.py", "web/a.ts"]) == (b"_cart",)
