"""Planned signatures."""

import pytest

from treadle.evidence.signatures import planned, shapes


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("def f(a: int) -> str", ["f"]),
        ("def f(a: int) -> str:\nasync def g()", ["f", "g"]),
        ("def Cart.add(self, item: Item) -> None", ["Cart.add"]),
        (
            "class Cart:\n    def add(self) -> None: ...\n    def total(self) -> int: ...",
            ["Cart", "Cart.add", "Cart.total"],
        ),
        ("func Parse(s string) (Amount, error)", [""]),
    ],
)
def test_signatures_are_read(text: str, names: list[str]) -> None:
    assert [one.name for one in planned(text)] == names


@pytest.mark.parametrize(
    ("plan", "code", "same"),
    [
        ("def f(a: int) -> str", "def f(a: int) -> str:\n    return ''", True),
        ("def f(a: int) -> str", "def f(a:int)->str: ...", True),
        ("def f(a: int) -> Amount", "def f(a: int) -> 'Amount': ...", True),
        ("def f(a: int) -> str", "def f(a: int, b: int = 0) -> str: ...", False),
        ("def f(a: int) -> str", "def f(b: int) -> str: ...", False),
        ("def f(a: int) -> str", "def f(a: int): ...", False),
        ("def f(a: int)", "async def f(a: int): ...", False),
    ],
)
def test_shapes_are_compared(plan: str, code: str, same: bool) -> None:
    assert (shapes(code)["f"] == planned(plan)[0].shape) == same
