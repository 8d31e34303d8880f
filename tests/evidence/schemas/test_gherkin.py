"""Scenarios in Gherkin."""

import pytest

from treadle.evidence.schemas.gherkin import gherkin_problems, open_questions, scenarios

GOOD = """# US-1: adding [M]

Feature: adding

@unit @AC-1
Scenario: adds two numbers
  Given two numbers
  When they are added
  Then the sum MUST be shown
  And it is exact [NEEDS CLARIFICATION: what about floats?]

`@integration` `@AC-2`
**Scenario:** refuses text
  When text is added
  Then it MUST be refused

## Tasks
- [ ] [P] the adder
- [ ] [P] the parser
- [ ] the rest

## Non-Goals
- nothing
"""


def test_a_good_document() -> None:
    assert gherkin_problems("d.md", GOOD) == []


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (" [M]", "", "has no complexity"),
        ("Feature: adding", "", "has no feature"),
        ("@unit ", "", "d.md:6: 'adds two numbers' has 0 level tags"),
        ("@unit ", "@unit @e2e ", "has 2 level tags"),
        ("  Then it MUST be refused\n", "", "d.md:13: 'refuses text' has no Then"),
        ("  Then it MUST be refused\n", "  Then a\n  And b\n  And c\n  And d\n", "'refuses text' has 4 Then"),
        ("## Tasks", "## Other", "has no task list"),
        ("it MUST be", "it is", "d.md:13: 'refuses text' does not say how much it demands"),
        ("refuses text", "adds two numbers", "d.md:13: two scenarios are called 'adds two numbers'"),
    ],
)
def test_what_is_wrong(old: str, new: str, said: str) -> None:
    assert any(said in str(one) for one in gherkin_problems("d.md", GOOD.replace(old, new)))


def test_a_scenario_knows_what_is_unclear_in_it() -> None:
    text = GOOD.replace("- nothing", "- [NEEDS CLARIFICATION: what else?]")
    assert [one.questions for one in scenarios(text)] == [("what about floats?",), ()]
    assert open_questions(text) == ["what about floats?", "what else?"]
