"""Planned signatures."""

import pytest

from treadle.evidence.code_shapes import is_written, parse_signatures, signature_shapes


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
    assert [one.name for one in parse_signatures(text)] == names


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
    assert (signature_shapes(code)["f"] == parse_signatures(plan)[0].shape) == same


@pytest.mark.parametrize(
    ("plan", "path", "code", "is_there"),
    [
        (
            "func Parse(s string) (Amount, error)",
            "a.go",
            "package a\n\nfunc Parse(s string) (Amount, error) {\n}\n",
            True,
        ),
        ("func Parse(s string) error", "a.go", "package a\n\n// func Parse(s string) error\nfunc Parse() {}\n", False),
        (
            "export function f(a: number): string",
            "a.ts",
            "export function f(\n  a: number,\n): string { return '' }",
            True,
        ),
        (
            "export function f(a: number): string",
            "a.ts",
            "/* export function f(a: number): string */\nlet x = 1",
            False,
        ),
        ("interface I { a: string; b: number }", "a.ts", "export interface I {\n  a: string\n  b: number\n}", True),
        ("fn f(a: u8) -> u8", "a.rs", "pub fn f(a: u8)\n    -> u8 {}", True),
        ("fn f(a: u8) -> u8", "a.rs", "pub fn f(a: u16) -> u8 {}", False),
    ],
)
def test_other_languages_are_compared_by_their_words(plan: str, path: str, code: str, is_there: bool) -> None:
    assert is_written(parse_signatures(plan)[0], path, code) is is_there
