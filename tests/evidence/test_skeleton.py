"""Stubs, and what is more than one."""

import pytest

from treadle.evidence.stubs import beyond_stubs

STUB = 'def due(lent: date, days: int = 28) -> date:\n    """When."""\n    raise NotImplementedError\n'
THROWS = 'throw new Error("not implemented");'
PANICS = '{ panic("not implemented") }'
OLD_GO = "package a\n\nfunc Old() int { return 1 }\n"
COMMON_JS = f"""\
'use strict'

const {{ b }} = require('./b')

function due (x) {{
  {THROWS}
}}

class A {{
  f () {{ {THROWS} }}
}}

module.exports = {{ due, A, other: (x) => {{ {THROWS} }} }}
"""
CODE = """\
import os

LIMIT = 5


def old(x: int) -> int:
    return x + LIMIT


class Shelf:
    def put(self) -> int:
        return 1
"""
SHAPES = """\
from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from datetime import date

T = TypeVar("T")
Pair = tuple[int, int]
__all__ = ["Kind", "Loan"]


class Late(ValueError):
    \"\"\"It is late.\"\"\"


class Kind(Enum):
    BOOK = "book"


@dataclass(frozen=True)
class Loan:
    lent: date
    notes: list[str] = field(default_factory=list)

    @property
    def due(self) -> date:
        raise NotImplementedError("later")


class Clock(Protocol):
    def now(self) -> int: ...
"""


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("a.py", None, ""),
        ("a.py", None, f"from datetime import date\n\n\n{STUB}"),
        ("a.py", None, SHAPES),
        ("a.py", CODE, CODE),
        ("a.py", CODE, f"{CODE}\n\n{STUB}"),
        ("a.py", CODE, CODE.replace("class Shelf:\n", f"{STUB}\n\nclass Shelf:\n    size: int\n\n")),
        ("a.py", CODE, f"{CODE}\n    def take(self, n: int) -> int:\n        raise NotImplementedError\n"),
        ("a.py", CODE, CODE.replace("old(x: int)", "old(x: int, limit: int | None = None, *, loud: bool = False)")),
        ("a.py", STUB, STUB.replace("days", "weeks")),
        ("a.py", STUB, None),
        (
            "a.js",
            None,
            COMMON_JS,
        ),
        ("a.js", None, f'"use strict";\nexports.due = function (x) {{ {THROWS} }};\nmodule.exports.A = A;\n'),
        ("a.js", None, "module.exports = exports.default = due\n"),
        ("a.js", "'use strict'\nmodule.exports = { a }\n", "'use strict'\nmodule.exports = { a, b }\n"),
        ("a.ts", None, f"export function due(x: number): number {{\n  {THROWS}\n}}\n"),
        (
            "a.ts",
            None,
            'export interface A { x: number }\nexport const f = (x: A) => { throw new Error("todo: f") };\n',
        ),
        ("a.js", "export const x = 1;\n", f"export const x = 1;\nexport class A {{\n  f() {{ {THROWS} }}\n}}\n"),
        (
            "a.go",
            None,
            f'package a\n\nimport "errors"\n\nvar ErrLate = errors.New("late")\n\nfunc Due(x int) int {PANICS}\n',
        ),
        ("a.go", OLD_GO, f"{OLD_GO}\ntype T struct{{ x int }}\n\nfunc (t T) Due() int {PANICS}\n"),
    ],
)
def test_stubs_may_be_added(path: str, before: str | None, after: str | None) -> None:
    assert beyond_stubs(path, before, after) == []


@pytest.mark.parametrize(
    ("path", "before", "after", "said"),
    [
        ("a.py", None, "def due(x):\n    return x\n", "due is more than a stub"),
        ("a.py", None, "def due(x, y=len('a')):\n    raise NotImplementedError\n", "due is more than a stub"),
        ("a.py", None, "@(lambda f: abs)\ndef due(x):\n    raise NotImplementedError\n", "more than a stub"),
        ("a.py", None, "class A:\n    def due(self):\n        return 1\n", "A is more than a stub"),
        ("a.py", None, "LIMIT = 5\n", "LIMIT is more than a stub"),
        ("a.py", None, "print('x')\n", "print"),
        ("a.py", None, "def due(x:\n", "cannot be parsed"),
        ("a.py", CODE, CODE.replace("return x + LIMIT", "raise NotImplementedError"), "old was there already"),
        ("a.py", CODE, f"{CODE}\n\ndef old(x):\n    raise NotImplementedError\n", "old was there already"),
        ("a.py", CODE, CODE.replace("LIMIT = 5", "LIMIT = 6"), "LIMIT was there already"),
        ("a.py", CODE, CODE.replace("LIMIT = 5\n", ""), "LIMIT was there and is gone"),
        ("a.py", CODE, CODE.replace("import os\n", ""), "os is no longer imported"),
        ("a.py", CODE, CODE.replace("old(x: int)", "old(y: int, x: int = 1)"), "old was there already"),
        ("a.py", CODE, CODE.replace("old(x: int)", "old(x: int, y: int)"), "old was there already"),
        ("a.py", CODE, CODE.replace("        return 1", "        return 2"), "put was there already"),
        ("a.py", CODE, None, "held more than stubs and is gone"),
        ("a.ts", None, "export function due(x: number): number {\n  return x;\n}\n", "due is more than a stub"),
        ("a.js", None, "module.exports = { due: (x) => x + 1 }\n", "more than a stub"),
        ("a.js", None, "exports.LIMIT = 5\n", "more than a stub"),
        ("a.js", None, "exports.due = compute(1)\n", "more than a stub"),
        ("a.js", None, "module.exports = { [compute()]: due }\n", "more than a stub"),
        ("a.js", None, "other.due = due\n", "more than a stub"),
        ("a.js", None, "const due = require('./b')(1)\n", "more than a stub"),
        ("a.ts", None, "export const LIMIT = 5;\n", "LIMIT is more than a stub"),
        ("a.js", "export const x = 1;\n", "export const x = 2;\n", "x was there already"),
        ("a.js", None, "class A {\n  f() { return 1; }\n}\n", "A is more than a stub"),
        ("a.go", None, "package a\n\nfunc Due(x int) int { return x }\n", "Due is more than a stub"),
        ("a.go", OLD_GO, f"package a\n\nfunc Old() int {PANICS}\n", "Old was there already"),
        ("a.rs", None, "fn due() { todo!() }\n", "cannot be looked into"),
    ],
)
def test_code_beyond_a_stub_is_named(path: str, before: str | None, after: str | None, said: str) -> None:
    found = beyond_stubs(path, before, after)
    assert found
    assert said in found[0].what
