"""Codes of findings: each is registered with a sentence, and each that is registered is used."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from treadle.codes import CODES, EVIDENCE

SRC = Path(__file__).parents[1] / "src" / "treadle"
FORM = re.compile(r"[a-z]+(_[a-z]+)*\.[a-z]+(_[a-z]+)*")


def codes_in(source: str) -> Iterator[str]:
    """The literal codes of a module: arguments and variables called `code`, and tables called `_CODES`."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.keyword(arg="code", value=value) | ast.Assign(targets=[ast.Name(id="code")], value=value):
                yield from literals(value)
            case ast.AnnAssign(target=ast.Name(id="_CODES"), value=ast.Dict(values=values)):
                yield from (code for value in values for code in literals(value))


def literals(value: ast.expr) -> Iterator[str]:
    match value:
        case ast.Constant(value=str(text)) if text:
            yield text
        case ast.IfExp(body=body, orelse=orelse):
            yield from (*literals(body), *literals(orelse))


@pytest.mark.parametrize("path", sorted((SRC / "evidence").rglob("*.py")), ids=lambda path: path.stem)
def test_every_code_of_a_check_is_registered(path: Path) -> None:
    assert [code for code in codes_in(path.read_text()) if code not in CODES] == []


def test_every_registered_code_of_a_check_is_used() -> None:
    used = {
        node.value
        for path in SRC.rglob("*.py")
        if path.name != "codes.py"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant)
    }
    assert set(EVIDENCE) - used == set()


def test_codes_have_one_form_and_a_sentence_each() -> None:
    assert [code for code in CODES if not FORM.fullmatch(code)] == []
    assert [code for code, sentence in CODES.items() if not sentence.endswith(".")] == []


def test_codes_of_checks_are_sorted() -> None:
    assert list(EVIDENCE) == sorted(EVIDENCE)
