"""Guards that can be read and decide nothing, and those that do."""

import pytest

from tests.protocol.checks.planted import TEXT, bugfix, change, put, said, to
from treadle.protocol.model import Becomes, Field, Protocol

START = "18 main.review: guard "


def guarded(guard: str) -> Protocol:
    """A review with four attempts whose exit is routed by what it holds."""
    fields = {
        "faults": Field(type="[Fault]", route="value"),
        "size": Field(type="S | M | L", route="value"),
        "sure": Field(type="bool", route="value"),
        "count": Field(type="int", route="value"),
        "word": Field(type="text", route="value"),
        "why": TEXT,
    }
    protocol = change(bugfix(), "exits.Rejected", fields=fields)
    protocol = change(protocol, "graphs.main.steps.review", attempts=4)
    rows = to("human", when=guard) + to("fix", charge="rounds")
    return put(protocol, "graphs.main.steps.review.routes", "Rejected", rows)


@pytest.mark.parametrize(
    ("guard", "expected"),
    [
        ("None", "looks at nothing"),
        ("1", "looks at nothing"),
        ("True", "looks at nothing"),
        ("1 in (1, 2)", "looks at nothing"),
        ("'a' in 'abc'", "looks for 'a' in 'abc', which is no list"),
        ("attempt > 100", "never holds (attempt is 0 to 4)"),
        ("attempt in ()", "never holds"),
        ("attempt > 1 or attempt <= 1", "always holds"),
        ("depth < 0", "never holds"),
        ("root or not root", "always holds (root is False or True)"),
        ("spent.rounds > 99", "never holds"),
        ("data.size == 'S' and data.size == 'M'", "never holds"),
        ("data.size not in ('S', 'M', 'L', None)", "never holds (data.size is None or S or M or L)"),
        ("data.sure == 2", "never holds"),
        ("last.fix == 'Fixed' and last.fix == None", "never holds"),
        ("attempt < 'a'", "compares attempt < 'a', which are of different kinds"),
        ("attempt < None", "compares attempt < None, which are of different kinds"),
        ("attempt == (1, 2)", "compares attempt == (1, 2), which are of different kinds"),
        ("data.word > data.count", "compares data.word > data.count, which are of different kinds"),
        ("data.count == 'many'", "compares data.count == 'many', which are of different kinds"),
        ("attempt in 5", "looks for attempt in 5, which is no list"),
        ("attempt + 'a' == 2", "computes with 'a', which is no number"),
        ("-data.word == 2", "computes with data.word, which is no number"),
        ("attempt > 1 and (depth > 2 or data['word'] > 3)", "compares data['word'] > 3, which are of different kinds"),
    ],
)
def test_a_guard_that_decides_nothing_is_named(guard: str, expected: str) -> None:
    [line] = said(guarded(guard), 18)
    assert line.startswith(f"{START}`{guard}` {expected}")


@pytest.mark.parametrize(
    "guard",
    [
        "attempt > 3",
        "attempt in (1, 2)",
        "not root and depth > 3",
        "spent.rounds == 0",
        "data.size in ('S', 'M')",
        "data.sure",
        "data.sure == None",
        "data.faults > 100",
        "data.count * 2 - attempt > 1000",
        "data.count > 1 or data.count <= 1",
        "data.word == 'yes'",
        "last.fix != None",
        "same_failure >= 2",
    ],
)
def test_a_guard_that_decides_is_left_alone(guard: str) -> None:
    assert said(guarded(guard), 18) == []


def test_what_a_spent_budget_becomes_is_looked_at_too() -> None:
    becomes = (Becomes(key="Stuck.Hard", when="attempt > 9"), Becomes(key="Stuck.Lost"))
    [line] = said(change(bugfix(), "graphs.main.steps.fix", becomes=becomes), 18)
    assert line.startswith("18 main.fix: guard `attempt > 9` never holds")


def test_a_variable_may_be_set_to_a_constant() -> None:
    protocol = change(bugfix(), "graphs.main", vars={"round": 0})
    rows = to("human", when="round > 1") + to("fix", charge="rounds", sets={"round": "1"})
    assert said(put(protocol, "graphs.main.steps.review.routes", "Rejected", rows), 18) == []


def test_a_question_counts_without_an_end() -> None:
    rows = to("fix", when="attempt > 5") + to("@end:Aborted")
    assert said(put(bugfix(), "graphs.main.steps.human.routes", "abort", rows), 18) == []


def test_a_long_guard_is_cut() -> None:
    [line] = said(guarded("attempt" + " or attempt" * 40), 18)
    assert line.endswith("attempt or att…` has 447 characters, the limit is 300 (see the table of `when`)")
