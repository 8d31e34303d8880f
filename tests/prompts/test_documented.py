"""docs/templates.md says what is true: every variable, every filter, every limit."""

import re
from pathlib import Path

from treadle.prompts import budget, foreign
from treadle.protocol.checks.declarations import TOOLCHAIN
from treadle.protocol.checks.shapes import variables
from treadle.protocol.checks.subject import Subject
from treadle.protocol.filters import FILTERS
from treadle.protocol.load import load

TEXT = (Path(__file__).parents[2] / "docs" / "templates.md").read_text()
V3 = load("v3")


def test_every_variable_is_named() -> None:
    flow = Subject(V3, None).flows["node"]
    known = variables(V3, flow, flow.graph.steps["scaffold"])
    table = TEXT.partition("## Variables")[2].partition("##")[0]
    own = {*flow.graph.steps, "spec"}
    assert [name for name in (*known, *TOOLCHAIN) if f"`{name}`" not in table and name not in own] == []


def test_every_filter_is_named_and_no_other() -> None:
    listed = TEXT.partition("- Filters: ")[2].partition(".\n")[0]
    assert set(re.findall(r"`(\w+)`", listed)) == FILTERS


def test_every_limit_is_named() -> None:
    table = TEXT.partition("## Limits")[2].partition("\n\n`")[0]
    limits = (
        foreign.MAX_FENCED,
        foreign.MAX_INLINE,
        budget.MAX_FOREIGN,
        budget.MAX_ITEMS,
        budget.MAX_ROUNDS,
        budget.MAX_OUTPUT,
        budget.MAX_CALLS,
    )
    assert [limit for limit in limits if f"| {limit}" not in table] == []
