"""What code does, apart from its names."""

import pytest

from treadle.evidence.code_shapes import line_shapes, logic_shapes


def logic(path: str, source: str) -> set[str]:
    return {shape.logic for shape in logic_shapes(path, source)}


GO = 'package p\n\nimport "a"\n\nfunc f(a int) int {\n\tBODY\n}\n'


@pytest.mark.parametrize(
    ("path", "frame", "one", "other", "same"),
    [
        ("a.py", "def f(a):\n    BODY\n", "return g(a)", "return m.h(a, b=1)", True),
        ("a.py", "def f(a):\n    BODY\n", "'''Doc.'''; return g(a)", "return g(a)", True),
        ("a.py", "def f(a):\n    BODY\n", "return a + 1", "return a - 1", False),
        ("a.py", "class A:\n    BODY\n", "x = 1", "x = 2", False),
        ("a.py", "BODY\n", "x = 1", "x = 2", False),
        ("a.py", "BODY\n", "import a", "from b import c", True),
        ("a.ts", "function f(a) { BODY }", "return g(a)", "return m.h(a, 1) /* why */", True),
        ("a.ts", "function f(a) { BODY }", "return a + 1", "return a - 1", False),
        ("a.ts", "BODY", "function f(a: number): T { return a }", "function g(b: string, c) { return b }", True),
        ("a.ts", "run(() => { BODY })", "return 1", "return 2", False),
        ("a.ts", "class A { BODY }", "x = 1", "x = 2", False),
        ("a.ts", "BODY", "import { a } from 'a'", "import b from 'b'", True),
        ("a.js", "BODY", "const x = 'a'", "const y = 'a'", True),
        ("a.js", "BODY", "const x = 'a'", "const x = 'b'", False),
        ("a.go", GO, "return g(a)", "return m.H(a, 1)", True),
        ("a.go", GO, "return a + 1", "return a + 2", False),
        ("a.go", GO, "go func() { x = 1 }()\n\treturn 1", "go func() { x = 2 }()\n\treturn 1", False),
        ("a.rs", "BODY", "use a::b;\nlet x = f(y, z) + 1;\n", "use c;\nlet x2 = g(y) + 1;\n", True),
        ("a.rs", "BODY", "x = 1", "x = 2", False),
    ],
)
def test_logic_ignores_names_and_compares_operations(path: str, frame: str, one: str, other: str, same: bool) -> None:
    first, second = (logic(path, frame.replace("BODY", text)) for text in (one, other))
    assert (first == second) == same


@pytest.mark.parametrize("path", ["a.py", "a.ts", "a.go"])
def test_unparsable_code_is_refused(path: str) -> None:
    with pytest.raises(SyntaxError):
        logic_shapes(path, "func ( {{ def")


def test_logic_shapes_have_names_and_lines() -> None:
    assert [(one.name, one.line) for one in logic_shapes("a.ts", "\nconst f = () => 1;\nfunction g() {}\n")] == [
        ("f", 2),
        ("g", 3),
        ("the module", 2),
    ]
    assert line_shapes("x\n\ny = 2\n")[1][1:] == ("the line", 3)
