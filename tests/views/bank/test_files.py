"""The documents of the bank as files."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.views.bank.banked import dptr_at_red, executed
from treadle.protocol.artifacts import SECTIONS, documents, sections, unresolved_references
from treadle.views.bank import VIEWS, bank, run_of, sealed
from treadle.views.chronicle import Chronicle


def test_each_document_has_its_place() -> None:
    found = executed()
    assert list(bank(found.course(), found.get)) == [
        "memory-bank/projectbrief.md",
        "memory-bank/activeContext.md",
        "memory-bank/progress.md",
        "memory-bank/protection.md",
    ]
    assert len(bank(dptr_at_red().course(), found.get)) == 3, "DPTR has no σ₆"
    assert bank(Chronicle(lambda _: found.run.protocol), found.get) == {}


@pytest.mark.parametrize("view", VIEWS)
def test_all_sections_are_there_and_references_lead_to_them(view: str) -> None:
    found = executed()
    text = found.view(view)
    listed = [(one.number, one.name) for one in sections(text) if one.number]
    assert listed == list(enumerate(SECTIONS[view], 1))
    assert not list(unresolved_references(text, found.run.protocol, documents(found.run.protocol, {})))
    assert set(VIEWS) == set(SECTIONS)


@given(st.text(), st.text(max_size=3), st.integers(0, 300))
def test_a_seal_breaks_with_any_change(text: str, added: str, at: int) -> None:
    made = sealed("shop-1", text)
    assert run_of(made) == "shop-1"
    changed = made[:at] + added + made[at:]
    assert run_of(changed) == ("shop-1" if changed == made else "")
    assert run_of(text) == "", "what has no seal is not ours"


def test_a_line_that_was_added_breaks_the_seal() -> None:
    made = sealed("shop-1", "# Title\n")
    assert run_of(f"{made}\nmine\n") == ""
    assert run_of(made.replace("Title", "Titel")) == ""
    assert run_of(f"\n{made}") == ""
