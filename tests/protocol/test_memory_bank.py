"""How the documents of a memory bank are called."""

import pytest

from treadle.protocol.load import load
from treadle.protocol.memory_bank import fits, has_bank, is_document, known_names, named

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
    assert named(RIPER, target) == names


def test_everything_that_can_be_named() -> None:
    assert known_names(RIPER)[:6] == ["σ₁", "σ₂", "σ₃", "σ₄", "σ₅", "σ₆"]
    assert set(known_names(DPTR)) >= {"σ₁", "σ₅", "design", "tdd_plan", "report"}


def test_a_document_of_a_module_lies_in_its_folder() -> None:
    is_design = fits(DPTR.artifacts["design"])
    assert is_design("memory-bank/modules/labels/design.md")
    assert not is_design("memory-bank/modules/labels/more/design.md")
    assert not is_design("memory-bank/modules/labels/design.md.old")


def test_protocols_with_a_bank() -> None:
    assert [name for name in ("v3", "fractal", "dptr", "riper", "waterfall") if has_bank(load(name))] == [
        "dptr",
        "riper",
    ]
    assert not is_document(load("waterfall").artifacts["state"])
