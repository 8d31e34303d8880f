"""Deltas of the design."""

import pytest

from treadle.evidence.schemas.delta import delta_problems

GOOD = "# US-1\n\n## ADDED\n- cart: def add(item)\n\n## MODIFIED\nNone\n\n## REMOVED\nNone.\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (GOOD, ""),
        (GOOD.replace("## REMOVED\nNone.\n", ""), "has no section REMOVED"),
        (GOOD.replace("MODIFIED\nNone", "MODIFIED\n"), "d.md:6: says nothing below MODIFIED"),
        (GOOD.replace("- cart: def add(item)", "None"), "changes nothing"),
    ],
)
def test_deltas(text: str, said: str) -> None:
    found = [str(one) for one in delta_problems("d.md", text)]
    assert any(said in one for one in found) if said else not found
