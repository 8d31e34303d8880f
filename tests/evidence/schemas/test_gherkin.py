"""Scenarios in Gherkin."""

import pytest

from treadle.evidence.gherkin import gherkin_problems, open_questions, scenarios

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
        ("it MUST be refused", "it is refused\n  # MUST", "'refuses text' does not say how much it demands"),
        ("text is added\n  Then it MUST", "text MUST be added\n  Then it is", "'refuses text' does not say how much"),
        ("Then it MUST be refused", "Then\n  And it MUST be refused", "'refuses text' has a Then that says nothing"),
        ("**Scenario:**", "**Scenario Outline:**", "d.md:13: 'refuses text' is an outline without examples"),
        (
            "[NEEDS CLARIFICATION: what",
            "[NEEDS\n  CLARIFICATION: what",
            "d.md:10: 'NEEDS CLARIFICATION' cannot be read",
        ),
        ("[NEEDS CLARIFICATION: what about floats?]", "NEEDS CLARIFICATION", "d.md:10: 'NEEDS CLARIFICATION' cannot"),
        ("refuses text", "adds two numbers", "d.md:13: two scenarios are called 'adds two numbers'"),
    ],
)
def test_faults_of_a_scenario_document_are_named(old: str, new: str, said: str) -> None:
    assert any(said in str(one) for one in gherkin_problems("d.md", GOOD.replace(old, new)))


def test_a_scenario_lists_its_open_questions() -> None:
    text = GOOD.replace("- nothing", "- [NEEDS CLARIFICATION: what else?]")
    assert [one.questions for one in scenarios(text)] == [("what about floats?",), ()]
    assert open_questions(text) == ["what about floats?", "what else?"]


@pytest.mark.parametrize("examples", ["  Examples:\n  | text |\n  | two |", "### Examples:\n| text |"])
def test_an_outline_has_examples(examples: str) -> None:
    text = GOOD.replace("**Scenario:**", "**Scenario Outline:**").replace("be refused\n", f"be refused\n{examples}\n")
    assert gherkin_problems("d.md", text) == []


@pytest.mark.parametrize(
    "mark", ["[NEEDS-CLARIFICATION: how?]", "[ needs clarification how?]", "[NEEDS\n CLARIFICATION: how?]"]
)
def test_a_question_is_recognised_in_every_spelling_of_its_mark(mark: str) -> None:
    assert open_questions(f"Then it {mark} is") == ["how?"]


def test_prose_is_no_question() -> None:
    assert gherkin_problems("d.md", GOOD.replace("- nothing", "- what needs clarification elsewhere")) == []
