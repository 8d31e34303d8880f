"""What may change in a piece of code that follows a merge: names and arguments, as far as the merge asks for it."""

import pytest

from treadle.evidence.call_arguments import SideFile, changed_definitions, changed_lines, rebase_problems
from treadle.evidence.code_pieces import definitions_of, read_units

LIB = "def total(a, b):\n    return a + b\n\n\ndef kept(a):\n    return a\n\n\nclass Item:\n    price: int\n"
WIDER = LIB.replace("a, b", "a, b, c")


def codes(
    own: str, now: str, merged: str = WIDER, *, lib: str = LIB, file: str = "a.py", module: str = "lib.py"
) -> list[str]:
    """The codes of what a rebase of `own` to `now` did wrong, after `lib` has become `merged`."""
    others = changed_definitions(definitions_of(module, lib), definitions_of(module, merged))
    was, result = read_units(file, own), read_units(file, now)
    assert was is not None
    assert result is not None
    return [one.code for one in rebase_problems([SideFile(was, others)], result)]


def function(body: str, head: str = "from lib import total, kept") -> str:
    return f"{head}\n\n\ndef test_it(x, y):\n    {body}\n"


TYPED = LIB.replace("def total(a, b)", "def total(a: Money, b)")
FEWER = LIB.replace("def total(a, b)", "def total(a)")
GONE = LIB.replace("total", "whole")
SPLIT = LIB.replace("return a\n", "return a + 0\n") + "\n\ndef kept_net(a):\n    return a\n"


@pytest.mark.parametrize(
    ("merged", "old", "new"),
    [
        (WIDER, "assert total(3, 4) == 7", "assert total(3, 4, 0) == 7"),
        (WIDER, "assert total(3, 4) == 7", "assert total(b=4, a=3, c=kept(0)) == 7"),
        (WIDER, "assert total(kept(3), 4) == 7", "assert lib.total(0, lib.kept(3), 4) == 7"),
        (WIDER, "assert run(total, 3, 4) == 7", "assert run(total, 3, 4, 0) == 7"),
        (WIDER, "assert run(lambda: total(3, 4))", "assert run(lambda: total(3, 4, 5))"),
        (WIDER, "z = x; assert kept(z)", "w = x; assert kept(w)"),
        (TYPED, "assert total(3, 4) == 7", "assert total(Money(3), 4) == 7"),
        (FEWER, "assert total(3, 4) == 7", "assert total(3) == 7"),
        (GONE, "assert total(3, 4) == 7", "assert whole(3, 4) == 7"),
        (SPLIT, "assert kept(3) == 3", "assert kept_net(3) == 3"),
        (LIB.replace("price: int", "price: int\n    tax: int"), "assert Item(3).price", "assert Item(3, 0).price"),
    ],
)
def test_a_piece_follows_what_the_other_side_has_changed(merged: str, old: str, new: str) -> None:
    head = "import lib\nfrom lib import total, kept, whole, kept_net, Item, Money"
    assert codes(function(old, head), function(new, head), merged) == []


@pytest.mark.parametrize(
    ("merged", "old", "new", "code"),
    [
        (WIDER, "assert kept(3) == 7", "assert kept(4) == 7", "canon.arguments"),
        (WIDER, "assert kept(3) == 7", "assert kept(3, 0) == 7", "canon.arguments"),
        (LIB, "assert total(3, 4) == 7", "assert total(3, 4, 0) == 7", "canon.arguments"),
        (WIDER, "assert total(3, 4) == 7", "assert total(3, 5, 0) == 7", "canon.arguments"),
        (WIDER, "assert total(3, 4) == 7", "assert total(3, 4 + 1, 0) == 7", "canon.arguments"),
        (WIDER, "assert total(3, 4) == 7", "assert total(3, min(4, 1), 0) == 7", "canon.arguments"),
        (WIDER, "assert total(kept(3), 4)", "assert total(kept(2), 4, 0)", "canon.arguments"),
        (TYPED, "assert total(3, 4) == 7", "assert total(Money(2), 4) == 7", "canon.arguments"),
        (FEWER, "assert total(3, 4) == 7", "assert total(4) == 7", "canon.arguments"),
        (WIDER, "assert kept(3).x == 7", "assert kept(4).x == 7", "canon.arguments"),
        (WIDER, "assert kept(x) == 7", "assert kept(y) == 7", "canon.renamed"),
        (WIDER, "assert kept(x, y) == 7", "assert kept(y, x) == 7", "canon.renamed"),
        (WIDER, "assert max(x, y) == 7", "assert min(x, y) == 7", "canon.renamed"),
        (WIDER, "assert x.first == 7", "assert x.second == 7", "canon.renamed"),
        (WIDER, "assert kept(x) == 7", "assert total(x) == 7", "canon.renamed"),
    ],
)
def test_a_piece_keeps_everything_else(merged: str, old: str, new: str, code: str) -> None:
    assert codes(function(old), function(new), merged) == [code]


def test_decorators_and_defaults_of_a_piece_are_kept() -> None:
    own = "@pytest.mark.parametrize('n', [3, 4])\ndef test_n(n, m=5):\n    assert kept(n) == m\n"
    assert codes(own, own) == []
    assert codes(own, own.replace("n, m=5", "n, more, m=5")) == []
    assert codes(own, own.replace("[3, 4]", "[3]")) == ["canon.arguments"]
    assert codes(own, own.replace("m=5", "m=6")) == ["canon.arguments"]
    assert codes(own, f"@pytest.mark.skip\n{own}") == ["canon.arguments"]


def test_a_function_that_both_sides_define_may_get_another_name_with_its_uses() -> None:
    own = "def made(x):\n    return [x]\n\n\ndef test_it():\n    assert made(3) == [3]\n"
    theirs = "def made(x):\n    return (x,)\n"
    now = f"{theirs}\n\n{own.replace('made', 'made_list')}"
    files = [SideFile(read_units("a.py", text), changed_definitions([], [])) for text in (own, theirs)]  # type: ignore[arg-type]
    result = read_units("a.py", now)
    assert result is not None
    assert [one.code for one in rebase_problems(files, result)] == []


SCRIPT = 'import { total } from "./lib.js";\ntest("adds", () => {\n  assert.equal(total(3, 4), 7);\n});\n'
SCRIPT_LIB = "export function total(a, b) { return a + b }\nexport function kept(a) { return a }\n"
GO = 'package p\n\nfunc TestAdds(t *testing.T) {\n\tif Total(3, 4) != 7 {\n\t\tt.Fatal("no")\n\t}\n}\n'
GO_LIB = "package p\n\nfunc Total(a int, b int) int {\n\treturn a + b\n}\n"


@pytest.mark.parametrize(
    ("own", "lib", "merged", "call", "code"),
    [
        (SCRIPT, SCRIPT_LIB, SCRIPT_LIB.replace("a, b", "a, b, c"), "total(3, 4, 0)", ""),
        (SCRIPT, SCRIPT_LIB, SCRIPT_LIB.replace("a, b", "a, b, c"), "total(3, 5, 0)", "canon.arguments"),
        (SCRIPT, SCRIPT_LIB, SCRIPT_LIB, "total(3, 4, 0)", "canon.arguments"),
        (SCRIPT, SCRIPT_LIB, SCRIPT_LIB, "kept(3, 4)", "canon.renamed"),
        (GO, GO_LIB, GO_LIB.replace("b int", "b int, c int"), "Total(3, 4, 0)", ""),
        (GO, GO_LIB, GO_LIB.replace("b int", "b int, c int"), "Total(3, 5, 0)", "canon.arguments"),
        (GO, GO_LIB, GO_LIB, "Total(4, 3)", "canon.arguments"),
    ],
)
def test_scripts_and_go_are_compared_too(own: str, lib: str, merged: str, call: str, code: str) -> None:
    file, module = ("a_test.go", "lib.go") if own is GO else ("a.test.js", "lib.js")
    now = own.replace("Total(3, 4)" if own is GO else "total(3, 4)", call)
    assert codes(own, now, merged, lib=lib, file=file, module=module) == ([code] if code else [])


def test_a_line_of_an_unknown_language_keeps_its_literals() -> None:
    known = ["assert total(3, 'a') == 7", "done()"]
    assert list(changed_lines("assert total(3, 'a', 0) == 7\ndone()", known)) == []
    assert list(changed_lines("done()\nassert total(4, 'a') == 7", known)) == [2]
