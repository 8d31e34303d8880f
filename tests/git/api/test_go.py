"""What packages of Go offer."""

import pytest

from treadle.git.api.go import read

SOURCE = """package shop

import "fmt"

const (
	Low = iota
	High
	hidden
)

const Name, Short string = "a", "b"

// Cart holds lines.
type Cart[T any] struct {
	A, b  int `json:"a"`
	lines []T
	Base
	*other.Log
}

type Priced interface {
	Price(unit string) (int, error)
}

type (
	Alias = int
	Rule  func(int) string
	own   struct{}
)

func (c *Cart[T]) Add(item T, more ...T) (n int, err error) { return }
func (own) Visible()                                      {}
func (c Cart[T]) hide()                                   {}
func New(size int) *Cart[int]                             { fmt.Println(size); return nil }
func small()                                              {}

var Limit, low = 1, 2
"""


def test_exported_names_and_their_signatures() -> None:
    found = {name: one.signature for name, one in read("pkg/shop/cart.go", SOURCE.encode()).symbols.items()}
    assert found == {
        "pkg/shop.Low": "const Low",
        "pkg/shop.High": "const High",
        "pkg/shop.Name": "const Name string",
        "pkg/shop.Short": "const Short string",
        "pkg/shop.Cart": "type Cart[T any]struct",
        "pkg/shop.Cart.A": 'A int `json:"a"`',
        "pkg/shop.Cart.Base": "Base",
        "pkg/shop.Cart.Log": "*other.Log",
        "pkg/shop.Priced": "type Priced interface { Price(unit string) (int, error) }",
        "pkg/shop.Alias": "type Alias = int",
        "pkg/shop.Rule": "type Rule func(int) string",
        "pkg/shop.Cart.Add": "func(*Cart[T]) Add(item T, more...T) (n int, err error)",
        "pkg/shop.New": "func New(size int) *Cart[int]",
        "pkg/shop.Limit": "var Limit",
    }


def test_a_top_level_file_goes_by_its_package_name() -> None:
    assert list(read("cart.go", b"package shop\n\nfunc New() {}\n").symbols) == ["shop.New"]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("func F() int { return 1 }", "// F is one.\nfunc F() int {\n\treturn 1 // one\n}", True),
        ("func (a *T) F() {}", "func (b *T) F() {}", True),
        ("func F() int { return 1 }", "func F() int { return 2 }", False),
        ('const A = "x y"', 'const A = "x  y"', False),
        ("const (\n\tA = iota\n\tB\n)", "const (\n\tA = iota\n\tc\n\tB\n)", False),
        ("type S struct {\n\ta int\n}", "type S struct {\n\ta string\n}", False),
        ("var A, B = 1, 2", "var A, B = 2, 1", False),
    ],
)
def test_layout_comments_and_receiver_names_do_not_matter(one: str, other: str, same: bool) -> None:
    before, after = (read("p/a.go", f"package p\n\n{text}\n".encode()) for text in (one, other))
    assert before.symbols
    assert (before == after) == same


def test_a_syntax_error_has_its_line() -> None:
    with pytest.raises(SyntaxError) as caught:
        read("a.go", b"package a\n\nfunc F( {\n}\n")
    assert caught.value.lineno
