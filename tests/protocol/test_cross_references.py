"""What cross-references lead to."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.protocol.cross_references import documents, resolve, unresolved
from treadle.protocol.lines.references import Reference, render
from treadle.protocol.load import load
from treadle.protocol.memory_bank import SECTIONS

RIPER, DPTR = load("riper"), load("dptr")
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
    found = resolve(Reference(target, section), RIPER, BANK)
    assert found
    assert (found[0].path, found[1].line) == (path, line)


@pytest.mark.parametrize(
    ("text", "what", "hint"),
    [
        ("[↗️σ₂]", "[↗️σ₂] is no cross-reference", "its form is [↗️σₓ:Rₓ]"),
        ("[↗️σ₇:R1]", "[↗️σ₇:R1] names no document", "there are σ₁, σ₂, σ₃, σ₄, σ₅, σ₆"),
        ("[↗️tech_stak:R1]", "[↗️tech_stak:R1] names no document", "did you mean 'tech_stack'?"),
        ("[↗️report:R1]", "leads to a document that is not there", "memory-bank/validation.md is not written yet"),
        ("[↗️σ₃:R2]", "[↗️σ₃:R2] leads to a section that is not there", "there are R1 Technology"),
        ("[↗️σ₂:Data folw]", "leads to a section that is not there", "did you mean 'data flow'?"),
        ("[↗️tdd_plan:R1]", "leads to a section that is not there", "it has no sections"),
        (
            "[↗️σ₄:R7]",
            "leads to a section",
            "there are R1 State; R2 Handoff; R3 Design; R4 Plan; R5 Agents; R6 Snapshot",
        ),
    ],
)
def test_a_reference_that_leads_nowhere_is_told(text: str, what: str, hint: str) -> None:
    (found,) = unresolved(f"# Title\nsee {text}", RIPER, BANK)
    assert found.line == 2
    assert what in found.what
    assert found.hint.startswith(hint)


@given(st.sampled_from(sorted(SECTIONS["context"])), st.integers(1, len(SECTIONS["context"])))
def test_sections_of_views_are_always_there(name: str, number: int) -> None:
    text = " ".join(
        render(Reference(target, section)) for target in ("σ₄", "context") for section in (name, f"R{number}")
    )
    assert not list(unresolved(text, DPTR, documents(DPTR, {})))
