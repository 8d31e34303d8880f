"""Every decision that is cited anywhere is defined, every place of one exists, and differences stay in the data."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.places import misplaced
from tools.contradictions import Chapter, Decision, chapters, contradictions_page
from tools.places import ROOT
from treadle.kernel import reduce
from treadle.protocol.check import check
from treadle.protocol.load import available, load_source

CITED = re.compile(r"(?<![\w.#/-])([XDRVFA]\d{1,2})(?![\w-])")
RULE = re.compile(r"\bR\d+\b")
READ = {".py", ".yaml", ".jinja", ".md"}
RULED = {"kernel", "simulate"}
"""Where R is a rule of the reducer, not a decision about RIPER."""
PURE = ("protocol", "kernel", "simulate", "views")

DEFINED = frozenset(decision.number for chapter in chapters() for decision in chapter.decisions)
RULES = frozenset(RULE.findall(reduce.__doc__ or ""))


def undefined(file: str, text: str) -> list[str]:
    """The numbers that a file cites and nothing defines; `file` is relative to the repository."""
    missing = _missing(file, text)
    # To take a module apart takes long, and hardly any has such a word at all.
    return _missing(file, "\n".join(said(text))) if missing and file.endswith(".py") else missing


def _missing(file: str, prose: str) -> list[str]:
    found = dict.fromkeys(CITED.findall(prose))
    return [number for number in found if number not in (RULES if is_rule(file, number) else DEFINED)]


def is_rule(file: str, number: str) -> bool:
    return number.startswith("R") and bool(RULED & set(Path(file).parts))


def said(source: str) -> Iterator[str]:
    """What a module says to people: its comments and docstrings."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.string
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Expr(value=ast.Constant(value=str(text))):
                yield text


def files() -> list[str]:
    found = [path for room in ("src", "tests", "docs", "tools") for path in (ROOT / room).rglob("*")]
    return sorted(path.relative_to(ROOT).as_posix() for path in found if path.suffix in READ and path.is_file())


def test_every_number_that_is_cited_is_defined() -> None:
    texts = {file: (ROOT / file).read_text(encoding="utf-8") for file in files()}
    assert len(texts) > 300
    found = {file: missing for file, text in texts.items() if (missing := undefined(file, text))}
    assert not found, found


@pytest.mark.parametrize(
    ("file", "text", "missing"),
    [
        ("src/treadle/protocols/v3/protocol.yaml", "limits: {depth: 4}        # V25", ["V25"]),
        ("src/treadle/protocols/v3/protocol.yaml", "# V12, V99: judged at once (X22, F18)", ["V99", "X22", "F18"]),
        ("src/treadle/protocols/riper/protocol.yaml", "# R12: there is no such decision", ["R12"]),
        ("src/treadle/protocol/rules/compiler.py", '"""A99: nothing."""', ["A99"]),
        ("src/treadle/protocol/rules/compiler.py", "x = 1  # (D21)", ["D21"]),
        ("src/treadle/kernel/reduce.py", "# R23", ["R23"]),
        ("tests/kernel/test_trees.py", '"""R10, R23: children."""', ["R23"]),
        ("docs/language.md", "an edge (X0) of A0", ["X0", "A0"]),
        ("src/treadle/protocols/v3/templates/stuck.jinja", "{# V0 #}", ["V0"]),
    ],
)
def test_a_planted_citation_is_reported(file: str, text: str, missing: list[str]) -> None:
    assert undefined(file, text) == missing


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("src/treadle/kernel/activities.py", "# R17, R20: rules of the reducer"),
        ("tests/protocol/rules/test_compile.py", 'rows = ["F99", "A77"]  # A7'),
        ("docs/protocols/v3.md", "AC-99, US-005, UTF-8, sha256:F12345, docs/D99.md, A4-sized, #V77"),
        ("src/treadle/protocols/dptr/protocol.yaml", "# R9: accepted in the first round too. D1–D20 are about DPTR."),
    ],
)
def test_other_codes_are_no_citations(file: str, text: str) -> None:
    assert undefined(file, text) == []


@pytest.mark.parametrize("chapter", chapters(), ids=lambda chapter: str(chapter.title))
def test_every_decision_has_its_number_its_reasons_and_its_place(chapter: Chapter) -> None:
    numbers = [f"{chapter.letter}{place}" for place in range(1, len(chapter.decisions) + 1)]
    assert [decision.number for decision in chapter.decisions] == numbers
    found = [f"{decision.number} {fault}" for decision in chapter.decisions for fault in faults_of(decision)]
    assert not found, "\n".join(found)


def faults_of(decision: Decision) -> Iterator[str]:
    if not decision.published.strip() or not decision.here.strip():
        yield "does not say what was published, or what is done"
    yield from misplaced(decision)


@pytest.mark.parametrize(
    ("decision", "message"),
    [
        (Decision("V1", "", "so", ("README.md",)), "does not say"),
        (Decision("V1", "either", " ", ("README.md",)), "does not say"),
        (Decision("V1", "either", "so"), "neither a place nor a room"),
        (Decision("V1", "either", "so", ("docs/gone.md",)), "there is no such file"),
        (Decision("V1", "either", "so", awaits="kernel"), "is there now"),
    ],
)
def test_a_planted_fault_is_reported(decision: Decision, message: str) -> None:
    assert any(message in fault for fault in faults_of(decision)), list(faults_of(decision))


def test_the_page_has_a_row_and_an_anchor_for_every_decision() -> None:
    rows = [line for line in contradictions_page().splitlines() if line.startswith("| <a id=")]
    assert [re.findall(r'id="(\w+)"', row) for row in rows] == [
        [decision.number] for chapter in chapters() for decision in chapter.decisions
    ]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {5}


def test_a_conflict_cannot_be_left_to_the_implementer(tmp_path: Path) -> None:
    # V2: as the published template has it; the tests may not be written yet when a sibling is merged
    overlay = tmp_path / "v3.yaml"
    overlay.write_text('extends: v3\ngraphs: {node: {steps: {adapt: {routes: {RebaseConflict: {to: "^impl"}}}}}}')
    found = check(load_source("v3", overlays=[overlay]).protocol)
    unmet = [str(one) for one in found if (one.code, one.where) == ("protocol.unmet_need", "node.impl")]
    assert any("'tests.TestsReady'" in one for one in unmet)


def test_the_pure_rooms_name_no_protocol() -> None:
    names = re.compile(rf"\b({'|'.join(available())})\b", re.IGNORECASE)
    sources = [path for room in PURE for path in (ROOT / "src" / "treadle" / room).rglob("*.py")]
    assert len(sources) > 100
    found = {path.name: names.findall(path.read_text(encoding="utf-8")) for path in sources}
    assert {file: words for file, words in found.items() if words} == {}
