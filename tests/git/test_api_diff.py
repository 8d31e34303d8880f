"""What changes of exported names mean."""

import pytest

from treadle.git.api.languages import api_of
from treadle.git.api_diff import ApiChange, changes, impact

GO = "package p\n\n"


@pytest.mark.parametrize(
    ("path", "before", "after", "expected", "reach"),
    [
        ("m.py", "def f(a): return 1", "def f(a):\n    '''Doc.'''\n    return 1  # same", [], "Trivial"),
        ("m.py", "def f(a): return 'x'", 'def f(a):\n    return (\n        "x"\n    )', [], "Trivial"),
        ("m.py", "def f(a: 'int'): ...", "def f(a: int): ...", [], "Trivial"),
        ("m.py", "def f(a): return 1", "def f(a): return 2", ["BehaviorChange"], "Breaking"),
        ("m.py", "def f(a): return 1", "def f(a, b): return 1", ["SignatureChange"], "Breaking"),
        ("m.py", "def f(a): ...", "def f(a=1): ...", ["SignatureChange"], "Breaking"),
        ("m.py", "def f(a): ...", "def f(*, a): ...", ["SignatureChange"], "Breaking"),
        ("m.py", "def f(a): ...", "async def f(a): ...", ["SignatureChange"], "Breaking"),
        ("m.py", "def f(a): return 1", "", ["RemovedExport"], "Breaking"),
        ("m.py", "", "def f(a): return 1", ["NewExport"], "Additive"),
        ("m.py", "def _f(a): return 1", "", [], "Trivial"),
        ("m.py", "A = 1", "A = 2", ["BehaviorChange"], "Breaking"),
        ("m.py", "class A:\n    def f(self): return 1", "class A:\n    def f(self): return 2", None, "Breaking"),
        ("m.py", "class A:\n    x = 1", "class A:\n    x = 1\n    def g(self): ...", ["NewExport"], "Additive"),
        (
            "m.py",
            "class A:\n    def f(self): ...",
            "class A:\n    @property\n    def f(self): ...",
            ["SignatureChange"],
            "Breaking",
        ),
        ("m.py", "def f(a): return 1", "def f(:", ["RemovedExport", "NewExport"], "Breaking"),
        ("m.ts", "export const a = 1", "export const a = 2;", ["BehaviorChange"], "Breaking"),
        ("m.ts", "export const a = 1", "export const a = 1; export const b = 2", ["NewExport"], "Additive"),
        ("m.ts", "export interface I { a: 1 }", "export interface I { a: 1; b: 2 }", ["SignatureChange"], "Breaking"),
        ("m.ts", "function f() {}", "function f() { g() }", [], "Trivial"),
        ("m.js", "exports.a = 1", "", ["RemovedExport"], "Breaking"),
        ("m.go", f"{GO}func F() {{}}\n", f"{GO}func F(a int) {{}}\n", ["SignatureChange"], "Breaking"),
        ("m.go", f"{GO}func f() {{}}\n", f"{GO}func f() {{ f() }}\n", [], "Trivial"),
        ("m.rs", "fn f() {}", "fn g() {}", ["BehaviorChange"], "Breaking"),
    ],
)
def test_changes_and_how_far_they_reach(
    path: str, before: str, after: str, expected: list[str] | None, reach: str
) -> None:
    found = changes(api_of(path, before.encode()), api_of(path, after.encode()))
    assert sorted(one.type for one in found) == sorted(["BehaviorChange"] if expected is None else expected)
    assert impact(found) == reach


def test_a_change_has_both_signatures() -> None:
    found = changes(api_of("m.py", b"def f(a): ..."), api_of("m.py", b"def f(b): ..."))
    assert found == [ApiChange("m.f", "SignatureChange", "def f(a)", "def f(b)")]


def test_a_signature_that_is_too_long_to_be_shown_still_differs() -> None:
    long = ", ".join(f"a{number}" for number in range(300))
    found = changes(
        api_of("m.py", f"def f({long}, x): ...".encode()), api_of("m.py", f"def f({long}, y): ...".encode())
    )
    assert [one.type for one in found] == ["SignatureChange"]
    assert len(found[0].before) < 600
