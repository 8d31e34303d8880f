"""tdd_plan.md, read and judged."""

import pytest

from treadle.evidence.checks.plan import parse_plan, soundness
from treadle.protocol.load import load

PLAN = """# Plan

Batch₁: (parallel 2)
□ TDD₁: Parse amounts (parse, normalise) → ℜ→ℜᴳ→ℜᶠ [files: src/amount.py, tests/test_amount.py]
  interface: def parse(text: str) -> Amount
  interface: def normalise(amount: Amount) -> Amount
  criteria: AC1, AC2
- [ ] TDD_2: Format dates (format_date) [files: src/dates.py]
  interface:
    class Dates:
        def format_date(self, day: date) -> str: ...
Some prose.
## Batch2: (parallel 1)
□ TDD₃: Import a statement (load) → ℜ→ℜᴳ→ℜᶠ [files: src/load.py]
  interface: def load(path: Path) -> Statement
  after: TDD₁, TDD₂
  level: integration

Execution checklist:
□ every error named in the design has a test
- and this
"""


def test_a_plan_is_read() -> None:
    plan = parse_plan(PLAN, "p.md")
    assert plan.problems == ()
    assert [(batch.id, batch.parallel, [cycle.id for cycle in batch.cycles]) for batch in plan.batches] == [
        ("Batch1", 2, ["TDD1", "TDD2"]),
        ("Batch2", 1, ["TDD3"]),
    ]
    first, second, third = plan.cycles
    assert first.title == "Parse amounts"
    assert first.methods == ("parse", "normalise")
    assert first.files == ("src/amount.py", "tests/test_amount.py")
    assert first.interface == ("def parse(text: str) -> Amount", "def normalise(amount: Amount) -> Amount")
    assert first.criteria == ("AC1", "AC2")
    assert second.interface[0].startswith("class Dates:")
    assert "def format_date" in second.interface[0]
    assert (third.after, third.level) == (("TDD1", "TDD2"), "integration")
    assert plan.checklist == ("every error named in the design has a test", "and this")
    assert soundness(plan, "p.md") == []


def test_the_form_that_agents_are_shown_can_be_read() -> None:
    shown = load("dptr").templates["_plan_format.jinja"]
    example = shown.split("```")[1]
    plan = parse_plan(example, "p.md")
    assert plan.problems == ()
    assert len(plan.cycles) == 3
    assert soundness(plan, "p.md") == []


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("(parallel 2)", "(parallel many)", "p.md:3: parallel is 'many'"),
        ("Batch₁: (parallel 2)\n", "", "p.md:3: TDD1 is in no batch"),
        ("  interface: def load(path: Path) -> Statement\n", "", "TDD3 has no interface"),
        (" [files: src/load.py]", "", "TDD3 has no files"),
        ("level: integration", "level: big", "the level is 'big'"),
    ],
)
def test_an_unreadable_plan_has_problems(old: str, new: str, said: str) -> None:
    assert any(said in str(one) for one in parse_plan(PLAN.replace(old, new), "p.md").problems)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("(parallel 2)", "(parallel 4)", "p.md:3: Batch1 has parallel 4"),
        ("  criteria: AC1, AC2\n", "  after: TDD2\n", "TDD1 builds on TDD2 in the same batch"),
        ("  criteria: AC1, AC2\n", "  after: TDD3\n", "TDD1 builds on TDD3 in a later batch"),
        ("  criteria: AC1, AC2\n", "  after: TDD9\n", "TDD1 builds on TDD9, which is not in the plan"),
        ("src/dates.py", "src/amount.py", "TDD2 and TDD1 share src/amount.py inside of Batch1"),
        ("  criteria: AC1, AC2\n", "  level: integration\n", "TDD1 is an integration cycle and shares its batch"),
        ("TDD_2", "TDD_1", "TDD1 is in the plan twice"),
    ],
)
def test_an_unsound_plan_has_problems(old: str, new: str, said: str) -> None:
    plan = parse_plan(PLAN.replace(old, new), "p.md")
    assert any(said in str(one) for one in soundness(plan, "p.md"))
