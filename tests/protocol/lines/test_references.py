"""Cross-references, as they are written and read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.protocol.lines.test_quoting import HOSTILE
from treadle.protocol.lines.references import Reference, Referred, canonical, parse, prose, references, render

TARGETS = st.sampled_from(["σ₁", "σ₂.tech_stack", "design", "σ₁₂", "tdd_plan"])
MADE = st.builds(Reference, TARGETS, HOSTILE.filter(bool) | st.integers(1, 99).map("R{}".format))


@given(MADE)
def test_what_is_written_comes_back(reference: Reference) -> None:
    assert parse(render(reference)) == reference


@given(st.lists(MADE, min_size=1, max_size=4), st.text(st.sampled_from("ab [](),.:σ₂R1"), max_size=5))
def test_every_reference_of_a_text_is_found(made: list[Reference], between: str) -> None:
    text = f"{between}\n\n".join(render(each) for each in made)
    assert [each.reference for each in references(text)] == made


@given(HOSTILE | st.text(st.sampled_from('[↗️σ₂:R1]"`\n ')))
def test_whatever_is_read_there_is_a_result(text: str) -> None:
    assert isinstance(parse(f"[↗{text}"), Reference | None)
    assert all(each.text.startswith("[↗") for each in references(text))


@pytest.mark.parametrize(
    ("text", "reference"),
    [
        ("[↗️σ₂:R1]", Reference("σ₂", "R1")),
        ("[↗σ2:R₁]", Reference("σ₂", "R₁")),
        ("[↗️ σ₂.tech_stack : Data flow ]", Reference("σ₂.tech_stack", "Data flow")),
        ('[↗️design:"a [b]"]', Reference("design", "a [b]")),
        ("[↗️σ₂]", None),
        ("[↗️σ₂:]", None),
        ("[↗️σ₂:R1] and more", None),
        ("[σ₂:R1]", None),
        ("[↗️σ₂:R1", None),
    ],
)
def test_spellings(text: str, reference: Reference | None) -> None:
    assert parse(text) == reference


def test_a_section_is_meant_by_its_number_or_its_heading() -> None:
    assert [Reference("σ₁", section).number for section in ("R12", "R₁₂", "R 3", "R", "Rules", "R0")] == [
        12,
        12,
        3,
        0,
        0,
        0,
    ]


def test_digits_are_written_either_way() -> None:
    assert [canonical(each) for each in ("σ4", "σ₄", "σ2.tech_stack", "design", "σx")] == [
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
    assert list(references(text)) == [
        Referred(1, "[↗️σ₁:R1]", Reference("σ₁", "R1")),
        Referred(6, "[↗️σ₁:R5]", Reference("σ₁", "R5")),
        Referred(6, "[↗️σ₁:R6]", Reference("σ₁", "R6")),
        Referred(10, "[↗️σ₁ is cut", None),
    ]
    assert [number for number, _ in prose(text)] == [1, 6, 10]
