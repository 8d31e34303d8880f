"""Every error, finding and refusal has a code, and every code stands in the registry."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, get_args, get_type_hints

import pytest

from treadle import errors
from treadle.codes import ADVICE, CODES, ERRORS, EVIDENCE, PROTOCOL
from treadle.errors import TreadleError
from treadle.kernel.events import Failed, Outages
from treadle.protocol.check import CHECKS, FINER

SOURCES: Final = Path(__file__).parents[1] / "src" / "treadle"
RAISED: Final = {
    kind.__name__ for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, TreadleError)
}
CODED: Final = {*RAISED, "Finding", "Unclear", "warn", "missing"}
"""Whoever makes one of these says which kind of problem it is."""
ELSEWHERE: Final = ("evidence", "git", "simulate", "views")
"""Rooms that call something else a `Finding`; `evidence` has a test of its own."""
FORM: Final = re.compile(r"[a-z_]+\.[a-z_]+")


@pytest.fixture(scope="module")
def modules() -> dict[str, ast.Module]:
    """The parsed sources; the tests share them, and they go with the last of these tests."""
    paths = {path.relative_to(SOURCES).as_posix(): path for path in sorted(SOURCES.rglob("*.py"))}
    return {name: ast.parse(path.read_text("utf-8")) for name, path in paths.items() if name != "codes.py"}


def _texts(modules: dict[str, ast.Module]) -> Iterator[str]:
    """Every string constant."""
    for tree in modules.values():
        yield from (it.value for it in ast.walk(tree) if isinstance(it, ast.Constant) and isinstance(it.value, str))


def _said(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Every literal that is given as a code, in a call or as the default of a class."""
    for node in ast.walk(tree):
        given: list[ast.expr] = []
        if isinstance(node, ast.keyword) and node.arg == "code":
            given = [node.value]
        elif isinstance(node, ast.ClassDef):
            own = [it for it in node.body if isinstance(it, ast.Assign)]
            given = [it.value for it in own if any(isinstance(to, ast.Name) and to.id == "code" for to in it.targets)]
        for value in given:
            for part in ast.walk(value):
                if isinstance(part, ast.Constant) and isinstance(part.value, str) and FORM.fullmatch(part.value):
                    yield part.lineno, part.value


def _uncoded(name: str, tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.func.id not in CODED:
            continue
        if node.func.id not in RAISED and name.partition("/")[0] in ELSEWHERE:
            continue
        if node.func.id in ("warn", "missing") and not name.startswith("cli/"):
            continue
        if not any(it.arg in ("code", None) for it in node.keywords):
            yield f"{name}:{node.lineno}: {node.func.id} without a code"


def test_every_code_in_the_sources_is_registered(modules: dict[str, ast.Module]) -> None:
    said = [(name, line, code) for name, tree in modules.items() for line, code in _said(tree)]
    assert [it for it in said if it[2] not in CODES] == []
    assert len(said) > 300


def test_every_error_says_which_one_it_is(modules: dict[str, ast.Module]) -> None:
    allowed = ("protocol/checks/subject.py",)  # `check` gives its findings their codes
    found = [it for name, tree in modules.items() if name not in allowed for it in _uncoded(name, tree)]
    assert [it for it in found if not it.startswith("evidence/")] == []


def test_every_registered_code_is_used(modules: dict[str, ast.Module]) -> None:
    outages = (f"outage.{why}" for why in get_args(Outages))
    failures = (f"activity.{why}" for why in get_args(get_type_hints(Failed)["why"]))
    used = {*_texts(modules), *outages, *failures, *(f"protocol.{word}" for word in (*CHECKS, *FINER))}
    stands = " ".join(text for text in used if "[" in text)
    unused = [code for code in (*ERRORS, *PROTOCOL, *ADVICE) if code not in used and f"[{code}]" not in stands]
    assert unused == []


@pytest.mark.parametrize("codes", [EVIDENCE, ERRORS, PROTOCOL, ADVICE])
def test_the_registry_is_sorted_and_each_code_has_a_sentence(codes: dict[str, str]) -> None:
    assert list(codes) == sorted(codes)
    assert [code for code, text in codes.items() if not FORM.fullmatch(code) or not text.endswith(".")] == []


def test_no_code_stands_in_two_lists() -> None:
    assert len(CODES) == len(EVIDENCE) + len(ERRORS) + len(PROTOCOL) + len(ADVICE)
