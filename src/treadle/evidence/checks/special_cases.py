"""Finds answers of the tests that are written down in the code: branches on literals, and look-up tables.

A branch or a table consists of entries, questions with their answers. An entry repeats an example if its literals
stand close together in the tests. Entries that no test knows may be decoys, so a table is judged by how many of its
entries repeat an example, and not by whether all of them do.
"""

import ast
import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from treadle.evidence.code_shapes import parse_python
from treadle.evidence.examples import is_value

_TRIVIAL: Final = (None, True, False, "", 0, 1)
_SMALL: Final = 12
"""Numbers up to this one stand in every test, as do months, digits and the faces of dice."""
_NEAR: Final = 3
"""Lines of the tests in which the literals of one example stand."""
_MANY: Final = 3
"""Repeated examples that make a table suspicious, however large it is."""
_SHARE: Final = 0.25
_STRING: Final = re.compile(r"\"[^\"\n]{1,200}\"|'[^'\n]{1,200}'")
_NUMBER: Final = re.compile(r"(?<![\w.])\d[\d_]*(?:\.\d+)?")


class TestLiterals:
    """The strings and numbers that stand in tests of any language, and where."""

    __test__ = False

    def __init__(self, tests: str) -> None:
        self._lines: dict[str, list[int]] = {}
        for number, line in enumerate(tests.splitlines()):
            for one in literals(line):
                self._lines.setdefault(one, []).append(number)

    def has(self, values: set[str]) -> bool:
        """Whether all of some literals stand in the tests."""
        return values <= self._lines.keys()

    def have_together(self, values: set[str]) -> bool:
        """Whether some literals stand within a few lines of each other."""
        if not self.has(values):
            return False
        places = sorted((self._lines[one] for one in values), key=len)
        return any(
            all(any(abs(number - other) < _NEAR for other in others) for others in places[1:]) for number in places[0]
        )


def literals(tests: str) -> set[str]:
    """The strings and numbers that stand in a text, as Python would show them."""
    strings = {repr(one[1:-1]) for one in _STRING.findall(tests)}
    return strings | {one.replace("_", "") for one in _NUMBER.findall(tests)}


class TableEntry(NamedTuple):
    """A question and its answer, as the literals in them."""

    question: frozenset[str]
    answer: frozenset[str]

    @property
    def is_plain(self) -> bool:
        """Whether it consists of small numbers only, which any two pieces of code may have in common."""
        return all(one.isdecimal() and int(one) <= _SMALL for one in self.question | self.answer)


def special_cases(source: str, known: TestLiterals) -> Iterator[tuple[int, str]]:
    """Branches on literals that return literals, and tables of literals, that repeat examples of the tests."""
    module = parse_python(source)
    for node in ast.walk(module) if module else ():
        match node:
            case ast.If(test=test, body=[ast.Return(value=answer)]) if answer and _asks(test) and is_value(answer):
                if _is_known_branch(test, answer, known):
                    yield node.lineno, f"if {ast.unparse(test)}: return {ast.unparse(answer)}"[:120]
            case ast.IfExp(test=test, body=answer) if _asks(test) and is_value(answer):
                if _is_known_branch(test, answer, known):
                    yield node.lineno, ast.unparse(node)[:120]
            case ast.match_case(pattern=ast.MatchValue(value=value), body=[ast.Return(value=answer)]) if answer:
                if _constants(value) and is_value(answer) and known.has(_constants(value) | _constants(answer)):
                    yield value.lineno, f"case {ast.unparse(value)}: return {ast.unparse(answer)}"[:120]
            case ast.Dict() | ast.List() | ast.Tuple() | ast.Set():
                if said := _known_table(_entries(node), known):
                    yield node.lineno, f"{said}: {ast.unparse(node)}"[:120]


def _is_known_branch(test: ast.expr, answer: ast.expr, known: TestLiterals) -> bool:
    questions, answers = _constants(test), _constants(answer)
    if not questions | answers:
        return False
    several = any(isinstance(one, ast.Or | ast.In) for one in ast.walk(test))
    if len(questions) < 2 or not several:
        return known.has(questions | answers)
    # Of several questions, some may be decoys; a plain set of small numbers (months, digits) says nothing.
    entries = [TableEntry(frozenset({one}), frozenset(answers)) for one in questions]
    return not all(TableEntry(one.question, frozenset()).is_plain for one in entries) and bool(
        _known_table(entries, known)
    )


def _known_table(entries: Sequence[TableEntry], known: TestLiterals) -> str:
    """Say how many entries of a table repeat examples of the tests; empty if they are too few to be suspicious."""
    if len(entries) < 2:
        return ""
    whole = {one for entry in entries for one in entry.question | entry.answer}
    repeated = [entry for entry in entries if known.have_together({*entry.question, *entry.answer})]
    telling = [entry for entry in repeated if not entry.is_plain]
    is_suspicious = len(telling) >= _MANY or (len(telling) > 1 and len(telling) >= _SHARE * len(entries))
    if is_suspicious or (known.has(whole) and len(repeated) == len(entries)):
        return f"{len(repeated)} of {len(entries)} entries repeat examples"
    return ""


def _entries(node: ast.expr) -> list[TableEntry]:
    """Return the entries of a table of plain values: a dictionary, or a sequence of pairs."""
    pairs: list[tuple[ast.expr | None, ast.expr]] = []
    match node:
        case ast.Dict(keys=keys, values=values):
            pairs = list(zip(keys, values, strict=True))
        case ast.List(elts=elements) | ast.Tuple(elts=elements) | ast.Set(elts=elements):
            for one in elements:
                if not isinstance(one, ast.Tuple | ast.List) or len(one.elts) != 2:
                    return []
                pairs.append((one.elts[0], one.elts[1]))
    if not all(key is not None and is_value(key) and is_value(value) for key, value in pairs):
        return []
    found = [TableEntry(frozenset(_constants(key)), frozenset(_constants(value))) for key, value in pairs if key]
    return [entry for entry in found if entry.question and entry.answer]


def _asks(test: ast.expr) -> bool:
    """Whether a condition is only about something being one literal, or one of some."""
    if isinstance(test, ast.BoolOp):
        return all(_asks(one) for one in test.values)
    return isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Eq | ast.In) and bool(_constants(test))


def _constants(node: ast.expr) -> set[str]:
    plain = (one.value for one in ast.walk(node) if isinstance(one, ast.Constant))
    return {repr(value) for value in plain if value not in _TRIVIAL}
