"""Deltas of the design."""

import pytest

from treadle.evidence.checks.design import delta_problems

GOOD = "# US-1\n\n## ADDED\n- cart: `add(item)`\n\n## MODIFIED\nNone\n\n## REMOVED\nNone.\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (GOOD, ""),
        (GOOD.replace("## REMOVED\nNone.\n", ""), "has no section REMOVED"),
        (GOOD.replace("MODIFIED\nNone", "MODIFIED\n"), "d.md:6: says nothing below MODIFIED"),
        (GOOD.replace("- cart: `add(item)`", "None"), "changes nothing"),
        (GOOD.replace("`add(item)`", "add(item)"), "d.md:4: an item of ADDED names nothing that could be looked for"),
        (GOOD.replace("`add(item)`", "`a`"), "d.md:4: an item of ADDED names nothing that could be looked for"),
        (GOOD.replace("cart:", "cart [NEEDS CLARIFICATION: whose?]:"), "d.md:4: has an open question: whose?"),
        (GOOD.replace("- cart: `add", "### Cart\n- cart,\n  as in `add"), ""),
        (
            GOOD.replace("- cart: `add(item)`", "cart gets `add(item)`"),
            "d.md:4: 'cart gets `add(item)`' belongs to no item",
        ),
        (GOOD.replace("- cart:", "Also pay().\n\n- cart:"), "d.md:4: 'Also pay().' belongs to no item"),
        (GOOD.replace("- cart:", "| name |\n|---|\n- cart:"), "belongs to no item"),
        (GOOD + "\nNothing is lost.\n", ""),
        (GOOD.replace("## REMOVED", "## Decision\nThis one.\n\n## REMOVED"), ""),
    ],
)
def test_faults_of_a_delta_are_named(text: str, said: str) -> None:
    found = [str(one) for one in delta_problems("d.md", text)]
    assert any(said in one for one in found) if said else not found
