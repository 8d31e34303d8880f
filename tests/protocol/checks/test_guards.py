"""Planted faults in guards and assignments."""

import msgspec
import pytest

from tests.protocol.checks.planted import TEXT, batch, bugfix, change, faults_of, needs, put, said, to, tree
from treadle.protocol.check import check
from treadle.protocol.model import Becomes, Exit, Field, Protocol


@pytest.mark.parametrize(
    ("protocol", "expected"),
    [
        pytest.param(
            put(
                bugfix(),
                "graphs.main.steps.review.routes",
                "Rejected",
                to("human", when="len(data.faults) > 2") + to("fix", charge="rounds"),
            ),
            ["unreadable_guard main.review: len(data.faults) > 2, len(data.faults)"],
            id="a_call",
        ),
        pytest.param(
            put(
                bugfix(),
                "graphs.main.steps.review.routes",
                "Rejected",
                to("human", when="data.fault > 2") + to("fix", charge="rounds"),
            ),
            ["unreadable_guard main.review: data.fault > 2, fault -> faults"],
            id="an_unknown_field",
        ),
        pytest.param(
            put(
                bugfix(), "graphs.main.steps.fix.routes", "Fixed", to("human", when="data.note == None") + to("review")
            ),
            [
                "unreadable_guard main.fix: data.note == None, note",
                "undelivered_exit main.fix: human",
            ],
            id="a_field_that_is_not_routed",
        ),
        pytest.param(
            put(
                bugfix(),
                "graphs.main.steps.review.routes",
                "Rejected",
                to("human", when="last.fx == None") + to("fix", charge="rounds"),
            ),
            ["unreadable_guard main.review: last.fx == None, fx -> fix"],
            id="an_unknown_step",
        ),
        pytest.param(
            put(
                bugfix(),
                "graphs.main.steps.review.routes",
                "Rejected",
                to("human", when="spent.round > 1") + to("fix", charge="rounds"),
            ),
            ["unreadable_guard main.review: spent.round > 1, round -> rounds"],
            id="an_unknown_budget",
        ),
        pytest.param(
            put(
                bugfix(),
                "graphs.main.steps.review.routes",
                "Rejected",
                to("human", when="attempts > 1") + to("fix", charge="rounds"),
            ),
            ["unreadable_guard main.review: attempts > 1, attempts -> attempt"],
            id="an_unknown_name",
        ),
        pytest.param(
            put(
                bugfix(),
                "graphs.main.steps.review.routes",
                "Rejected",
                to("human", when="last.fix == 'Fixd'") + to("fix", charge="rounds"),
            ),
            ["unreadable_guard main.review: last.fix == 'Fixd', last.fix, Fixd -> Fixed"],
            id="an_exit_that_never_was",
        ),
        pytest.param(
            put(
                bugfix(),
                "graphs.main.steps.review.routes",
                "Rejected",
                to("human", when="last.fix in ('Stuck.Lost', 'Stuck')") + to("fix", charge="rounds"),
            ),
            ["unreadable_guard main.review: last.fix in ('Stuck.Lost', 'Stuck'), last.fix, Stuck -> Stuck.Lost"],
            id="a_variant_that_never_was",
        ),
        pytest.param(
            put(
                put(bugfix(), "exits.Stuck.fields", "why", Field(type="Hard | Lost", route="value")),
                "graphs.main.steps.fix.routes",
                "Stuck",
                to("human", when="data.why == 'Hrad'") + to("human"),
            ),
            ["unreadable_guard main.fix: data.why == 'Hrad', data.why, Hrad -> Hard"],
            id="a_value_that_is_none",
        ),
        pytest.param(
            put(
                change(bugfix(), "graphs.main", vars={"round": 0}),
                "graphs.main.steps.fix.routes",
                "Fixed",
                to("review", sets={"round": "round + two"}),
            ),
            ["unreadable_guard main.fix: round + two, two"],
            id="an_assignment_that_cannot_be_read",
        ),
        pytest.param(
            change(bugfix(), "graphs.main", vars={"root": 1}),
            ["unreadable_guard main: root"],
            id="a_variable_whose_name_is_taken",
        ),
        pytest.param(
            change(
                bugfix(),
                "graphs.main.steps.fix",
                becomes=(Becomes(key="Stuck.Lost", when="data.why == 1"), Becomes(key="Stuck.Hard")),
            ),
            ["unreadable_guard main.fix: data.why == 1, why"],
            id="a_becomes_that_looks_at_data",
        ),
        pytest.param(
            change(bugfix(), "graphs.main", system={"!*": to("human", when="data.why == 1") + to("human")}),
            ["unreadable_guard main: data.why == 1, why"],
            id="a_system_row_that_looks_at_data",
        ),
    ],
)
def test_a_planted_fault_is_named(protocol: Protocol, expected: list[str]) -> None:
    assert faults_of(protocol) == expected


def test_a_guard_that_cannot_be_read() -> None:
    rows = to("human", when="data.faults >") + to("fix", charge="rounds")
    assert faults_of(put(bugfix(), "graphs.main.steps.review.routes", "Rejected", rows)) == [
        "unreadable_guard main.review: data.faults >"
    ]


@pytest.mark.parametrize(
    "guard",
    ["last.fix == None", "last.fix in ('Fixed', 'Stuck.Lost', '!gate')", "not root and depth < 3 and same_failure > 1"],
)
def test_a_guard_that_is_right(guard: str) -> None:
    rows = to("human", when="data.faults > 9") + to("human", when=guard) + to("fix", charge="rounds")
    assert said(put(bugfix(), "graphs.main.steps.review.routes", "Rejected", rows)) == []


def test_a_map_shows_guards_its_counts() -> None:
    rows = to("halt", when="data.failed > 1 and data.total > 2") + to("@end:Aborted")
    told = put(batch(), "graphs.main.ends", "Aborted", needs("cycles.SomeFailed?"))
    assert said(put(told, "graphs.main.steps.cycles.routes", "SomeFailed", rows)) == []


def test_a_guard_on_an_answer_sees_only_fields_routed_by_its_exit() -> None:
    """Another exit that routes a field of that name does not help."""
    told = Exit(fields={"text": TEXT, "more": Field(type="bool")})
    other = Exit(fields={"more": Field(type="bool", route="value")})
    protocol = put(put(tree(), "exits", "Answer", told), "exits", "Other", other)
    rows = to("stuck", when="data.more == True") + to("plan")
    protocol = put(protocol, "graphs.node.steps.clarify.routes", "Answer", rows)
    heard = change(protocol, "graphs.node.steps.stuck", needs=needs("plan.Unclear?", "clarify.Answer?", "!*?"))
    assert faults_of(heard, 18) == ["unreadable_guard node.clarify: data.more == True, more"]


@pytest.mark.parametrize(
    ("field", "when", "rules"),
    [
        (Field(type="text", route="asked"), "same_question >= 3", []),
        (Field(type="[text]", route="asked"), "same_question >= 3", []),
        (Field(type="text"), "same_question >= 3", [18]),
        (Field(type="text", route="asked"), "data.more == 'x'", [18]),
        (Field(type="text", route="asked"), "depth > 2", [23]),
        (Field(type="int", route="asked"), "same_question >= 3", [3]),
        (Field(type="text", route="asked"), "same_question == 'x'", [18]),
    ],
)
def test_a_question_is_declared_and_counted(field: Field, when: str, rules: list[int]) -> None:
    protocol = bugfix()
    rejected = protocol.exits["Rejected"]
    exit_ = msgspec.structs.replace(rejected, fields={**rejected.fields, "more": field})
    rows = to("human", when="data.faults > 9") + to("human", when=when) + to("fix", charge="rounds")
    protocol = put(put(protocol, "exits", "Rejected", exit_), "graphs.main.steps.review.routes", "Rejected", rows)
    assert sorted(one.check for one in check(protocol) if one.check in (3, 18, 23)) == rules


# Guards that can be read and decide nothing, and those that do.


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
        ("'a' in 'abc'", "looks for 'a' in 'abc', which is not a list"),
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
        ("attempt in 5", "looks for attempt in 5, which is not a list"),
        ("attempt + 'a' == 2", "computes with 'a', which is not a number"),
        ("-data.word == 2", "computes with data.word, which is not a number"),
        ("attempt > 1 and (depth > 2 or data['word'] > 3)", "compares data['word'] > 3, which are of different kinds"),
    ],
)
def test_a_constant_or_meaningless_guard_is_named(guard: str, expected: str) -> None:
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


def test_the_guard_of_a_spent_budget_is_checked_too() -> None:
    becomes = (Becomes(key="Stuck.Hard", when="attempt > 9"), Becomes(key="Stuck.Lost"))
    assert faults_of(change(bugfix(), "graphs.main.steps.fix", becomes=becomes), 18) == [
        "unreadable_guard main.fix: attempt > 9"
    ]


def test_a_variable_may_be_set_to_a_constant() -> None:
    protocol = change(bugfix(), "graphs.main", vars={"round": 0})
    rows = to("human", when="round > 1") + to("fix", charge="rounds", sets={"round": "1"})
    assert said(put(protocol, "graphs.main.steps.review.routes", "Rejected", rows), 18) == []


def test_a_question_counts_without_an_end() -> None:
    rows = to("fix", when="attempt > 5") + to("@end:Aborted")
    assert said(put(bugfix(), "graphs.main.steps.human.routes", "abort", rows), 18) == []


def test_a_long_guard_is_cut() -> None:
    [line] = said(guarded("attempt" + " or attempt" * 40), 18)
    assert [text for text in ("attempt or att…`", " 447 ", " 300 ") if text not in line] == []
