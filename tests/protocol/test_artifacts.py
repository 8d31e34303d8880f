"""Artifacts: their names, their sections, and the references between them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.protocol.lines.test_quoting import HOSTILE
from treadle.protocol.agent_lines import quote_if_needed
from treadle.protocol.artifacts import (
    SECTIONS,
    Reference,
    ReferenceMention,
    Section,
    artifacts_named,
    canonical_symbol,
    documents,
    find_references,
    has_bank,
    is_document,
    known_names,
    path_matcher,
    prose,
    resolve_reference,
    sections,
    unresolved_references,
)
from treadle.protocol.load import load

# How the documents of a memory bank are called.


RIPER, DPTR = load("riper"), load("dptr")


@pytest.mark.parametrize(
    ("target", "names"),
    [
        ("σ₁", ["brief"]),
        ("σ4", ["context"]),
        ("σ₂", ["architecture_design", "module_specifications", "tech_stack"]),
        ("σ₂.tech_stack", ["tech_stack"]),
        ("σ₃", ["tech_stack"]),
        ("σ₅", ["progress", "tdd_plan"]),
        ("protection", ["protection"]),
        ("σ₇", []),
        ("σ", []),
    ],
)
def test_a_symbol_or_a_name_means_documents(target: str, names: list[str]) -> None:
    assert artifacts_named(RIPER, target) == names


def test_known_names_are_symbols_and_artifacts() -> None:
    assert known_names(RIPER)[:6] == ["σ₁", "σ₂", "σ₃", "σ₄", "σ₅", "σ₆"]
    assert set(known_names(DPTR)) >= {"σ₁", "σ₅", "design", "tdd_plan", "report"}


def test_a_document_of_a_module_lies_in_its_folder() -> None:
    is_design = path_matcher(DPTR.artifacts["design"])
    assert is_design("memory-bank/modules/labels/design.md")
    assert not is_design("memory-bank/modules/labels/more/design.md")
    assert not is_design("memory-bank/modules/labels/design.md.old")


def test_protocols_with_a_bank() -> None:
    assert [name for name in ("v3", "fractal", "dptr", "riper", "waterfall") if has_bank(load(name))] == [
        "dptr",
        "riper",
    ]
    assert not is_document(load("waterfall").artifacts["state"])


# The sections of documents.


def test_sections_of_the_second_level_are_counted() -> None:
    text = "# Title\n\n## `Data` flow\ntext\n### Detail\n```\n## code\n```\n## Errors ##\n"
    assert list(sections(text)) == [
        Section(0, "Title", 1),
        Section(1, "`Data` flow", 3),
        Section(0, "Detail", 5),
        Section(2, "Errors", 9),
    ]
    assert Section(1, "`Data`  flow").is_called("data Flow")


def test_without_second_level_headings_all_are_counted() -> None:
    assert [one.number for one in sections("# One\n# Two\n")] == [1, 2]
    assert [one.number for one in sections("### One\n### Two\n")] == [1, 2]
    assert list(sections("nothing\n#not a heading\n")) == []


def test_headings_that_have_numbers_keep_them() -> None:
    text = "# Title\n## R2: Errors\n## R1 – Data\n## R7\n## Rest\n"
    assert [(one.number, one.name) for one in sections(text)] == [
        (0, "Title"),
        (2, "Errors"),
        (1, "Data"),
        (7, "R7"),
        (0, "Rest"),
    ]


# Cross-references, as they are written and read.


TARGETS = st.sampled_from(["σ₁", "σ₂.tech_stack", "design", "σ₁₂", "tdd_plan"])
MADE = st.builds(Reference, TARGETS, HOSTILE.filter(bool) | st.integers(1, 99).map("R{}".format))


def written(reference: Reference) -> str:
    section = quote_if_needed(reference.section, '[]"`').replace("`", "\\u0060")  # a backtick would begin code
    return f"[↗️{reference.target}:{section}]"


@given(MADE)
def test_a_rendered_reference_reads_back(reference: Reference) -> None:
    assert [each.reference for each in find_references(written(reference))] == [reference]


@given(st.lists(MADE, min_size=1, max_size=4), st.text(st.sampled_from("ab [](),.:σ₂R1"), max_size=5))
def test_every_reference_of_a_text_is_listed(made: list[Reference], between: str) -> None:
    text = f"{between}\n\n".join(written(each) for each in made)
    assert [each.reference for each in find_references(text)] == made


@given(HOSTILE | st.text(st.sampled_from('[↗️σ₂:R1]"`\n ')))
def test_any_text_parses_to_a_reference_or_none(text: str) -> None:
    assert all(each.text.startswith("[↗") for each in find_references(f"[↗{text}"))
    assert all(each.text.startswith("[↗") for each in find_references(text))


@pytest.mark.parametrize(
    ("text", "reference"),
    [
        ("[↗️σ₂:R1]", Reference("σ₂", "R1")),
        ("[↗σ2:R₁]", Reference("σ₂", "R₁")),
        ("[↗️ σ₂.tech_stack : Data flow ]", Reference("σ₂.tech_stack", "Data flow")),
        ('[↗️design:"a [b]"]', Reference("design", "a [b]")),
        ("[↗️σ₂]", None),
        ("[↗️σ₂:]", None),
        ("[↗️σ₂:R1", None),
    ],
)
def test_each_spelling_of_a_reference_is_parsed(text: str, reference: Reference | None) -> None:
    assert [each.reference for each in find_references(text)] == [reference]


def test_only_r_with_digits_is_a_section_number() -> None:
    assert [Reference("σ₁", section).number for section in ("R12", "R₁₂", "R 3", "R", "Rules", "R0")] == [
        12,
        12,
        3,
        0,
        0,
        0,
    ]


def test_digits_are_written_either_way() -> None:
    assert [canonical_symbol(each) for each in ("σ4", "σ₄", "σ2.tech_stack", "design", "σx")] == [
        "σ₄",
        "σ₄",
        "σ₂.tech_stack",
        "design",
        "σx",
    ]


def test_lines_are_named_and_code_has_no_references() -> None:
    text = (
        "# [↗️σ₁:R1]\n```\n[↗️σ₁:R2]\n~~~\n```\nas `[↗️σ₁:R3]` and ``[↗️σ₁:R4]``, [↗️σ₁:R5][↗️σ₁:R6]\n"
        "~~~ py\n[↗️σ₁:R7]\n~~~~\n[↗️σ₁ is cut\n"
    )
    assert list(find_references(text)) == [
        ReferenceMention(1, "[↗️σ₁:R1]", Reference("σ₁", "R1")),
        ReferenceMention(6, "[↗️σ₁:R5]", Reference("σ₁", "R5")),
        ReferenceMention(6, "[↗️σ₁:R6]", Reference("σ₁", "R6")),
        ReferenceMention(10, "[↗️σ₁ is cut", None),
    ]
    assert [number for number, _ in prose(text)] == [1, 6, 10]


# What cross-references lead to.


TEXTS = {
    "architecture_design": {"a.md": "# Architecture\n## Modules\n## Data flow\n"},
    "module_specifications": {"m.md": "# Modules\n## R1 labels\n## R9 prices\n"},
    "tech_stack": {"t.md": "# Technology\n"},
    "tdd_plan": {"p.md": "nothing that begins a section\n"},
}
BANK = documents(RIPER, TEXTS)


@pytest.mark.parametrize(
    ("target", "section", "path", "line"),
    [
        ("σ₂", "R1", "a.md", 2),
        ("σ₂", "data FLOW", "a.md", 3),
        ("σ₂", "R9", "m.md", 3),
        ("σ₂.module_specifications", "R1", "m.md", 2),
        ("σ₂.module_specifications", "labels", "m.md", 2),
        ("σ₃", "R1", "t.md", 1),
        ("tech_stack", "Technology", "t.md", 1),
        ("σ₄", "R1", "memory-bank/activeContext.md", 0),
        ("σ₆", "Confirmed", "memory-bank/protection.md", 0),
    ],
)
def test_a_reference_leads_to_a_section(target: str, section: str, path: str, line: int) -> None:
    found = resolve_reference(Reference(target, section), RIPER, BANK)
    assert found
    assert (found[0].path, found[1].line) == (path, line)


@pytest.mark.parametrize(
    ("text", "what", "hint"),
    [
        ("[↗️σ₂]", "[↗️σ₂] is not a cross-reference", "its form is [↗️σₓ:Rₓ]"),
        ("[↗️σ₇:R1]", "[↗️σ₇:R1] names no document", "choose from σ₁, σ₂, σ₃, σ₄, σ₅, σ₆"),
        ("[↗️tech_stak:R1]", "[↗️tech_stak:R1] names no document", "did you mean 'tech_stack'?"),
        ("[↗️report:R1]", "leads to a document that does not exist", "memory-bank/validation.md is not written yet"),
        ("[↗️σ₃:R2]", "[↗️σ₃:R2] leads to a section that does not exist", "choose from R1 Technology"),
        ("[↗️σ₂:Data folw]", "leads to a section that does not exist", "did you mean 'data flow'?"),
        ("[↗️tdd_plan:R1]", "leads to a section that does not exist", "it has no sections"),
        (
            "[↗️σ₄:R7]",
            "leads to a section",
            "choose from R1 State; R2 Handoff; R3 Design; R4 Plan; R5 Agents; R6 Snapshot",
        ),
    ],
)
def test_a_dead_reference_is_reported_with_a_hint(text: str, what: str, hint: str) -> None:
    (found,) = unresolved_references(f"# Title\nsee {text}", RIPER, BANK)
    assert found.line == 2
    assert what in found.what
    assert found.hint.startswith(hint)


@given(st.sampled_from(sorted(SECTIONS["context"])), st.integers(1, len(SECTIONS["context"])))
def test_sections_of_views_are_always_there(name: str, number: int) -> None:
    text = " ".join(
        written(Reference(target, section)) for target in ("σ₄", "context") for section in (name, f"R{number}")
    )
    assert not list(unresolved_references(text, DPTR, documents(DPTR, {})))
