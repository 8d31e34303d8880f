"""Planted faults in guards and assignments."""

import msgspec
import pytest

from tests.protocol.checks.planted import TEXT, batch, bugfix, change, needs, put, said, to, tree
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
            [
                (
                    "18 main.review: guard `len(data.faults) > 2` may not contain a call "
                    "('len(data.faults)') (see the table of `when`)"
                )
            ],
            id="a_call",
        ),
        pytest.param(
            put(
                bugfix(),
                "graphs.main.steps.review.routes",
                "Rejected",
                to("human", when="data.fault > 2") + to("fix", charge="rounds"),
            ),
            [("18 main.review: guard `data.fault > 2` mentions unknown field 'fault' (did you mean 'faults'?)")],
            id="an_unknown_field",
        ),
        pytest.param(
            put(
                bugfix(), "graphs.main.steps.fix.routes", "Fixed", to("human", when="data.note == None") + to("review")
            ),
            [
                (
                    "18 main.fix: guard `data.note == None` looks at field 'note', which is not routed "
                    "(add `route: true` to the field)"
                ),
                (
                    "19 main.fix: Fixed leads to 'human', which does not take its fields (add "
                    "'fix.Fixed?' to the needs of 'human')"
                ),
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
            ["18 main.review: guard `last.fx == None` mentions unknown step 'fx' (did you mean 'fix'?)"],
            id="an_unknown_step",
        ),
        pytest.param(
            put(
                bugfix(),
                "graphs.main.steps.review.routes",
                "Rejected",
                to("human", when="spent.round > 1") + to("fix", charge="rounds"),
            ),
            [("18 main.review: guard `spent.round > 1` mentions unknown budget 'round' (did you mean 'rounds'?)")],
            id="an_unknown_budget",
        ),
        pytest.param(
            put(
                bugfix(),
                "graphs.main.steps.review.routes",
                "Rejected",
                to("human", when="attempts > 1") + to("fix", charge="rounds"),
            ),
            [("18 main.review: guard `attempts > 1` mentions unknown name 'attempts' (did you mean 'attempt'?)")],
            id="an_unknown_name",
        ),
        pytest.param(
            put(
                bugfix(),
                "graphs.main.steps.review.routes",
                "Rejected",
                to("human", when="last.fix == 'Fixd'") + to("fix", charge="rounds"),
            ),
            [
                (
                    "18 main.review: guard `last.fix == 'Fixd'` compares 'last.fix' with 'Fixd', which it "
                    "never is (did you mean 'Fixed'?)"
                )
            ],
            id="an_exit_that_never_was",
        ),
        pytest.param(
            put(
                bugfix(),
                "graphs.main.steps.review.routes",
                "Rejected",
                to("human", when="last.fix in ('Stuck.Lost', 'Stuck')") + to("fix", charge="rounds"),
            ),
            [
                (
                    "18 main.review: guard `last.fix in ('Stuck.Lost', 'Stuck')` compares 'last.fix' with "
                    "'Stuck', which it never is (did you mean 'Stuck.Lost'?)"
                )
            ],
            id="a_variant_that_never_was",
        ),
        pytest.param(
            put(
                put(bugfix(), "exits.Stuck.fields", "why", Field(type="Hard | Lost", route="value")),
                "graphs.main.steps.fix.routes",
                "Stuck",
                to("human", when="data.why == 'Hrad'") + to("human"),
            ),
            [
                (
                    "18 main.fix: guard `data.why == 'Hrad'` compares 'data.why' with 'Hrad', which it "
                    "never is (did you mean 'Hard'?)"
                )
            ],
            id="a_value_that_is_none",
        ),
        pytest.param(
            put(
                change(bugfix(), "graphs.main", vars={"round": 0}),
                "graphs.main.steps.fix.routes",
                "Fixed",
                to("review", sets={"round": "round + two"}),
            ),
            [
                (
                    "18 main.fix: guard `round + two` mentions unknown name 'two' (names are data.x, "
                    "last.x, spent.x, attempt, depth, root, round, same_failure, same_question)"
                )
            ],
            id="an_assignment_that_cannot_be_read",
        ),
        pytest.param(
            change(bugfix(), "graphs.main", vars={"root": 1}),
            [("18 main: variable 'root' cannot be read: in guards that name means something else (rename it)")],
            id="a_variable_whose_name_is_taken",
        ),
        pytest.param(
            change(
                bugfix(),
                "graphs.main.steps.fix",
                becomes=(Becomes(key="Stuck.Lost", when="data.why == 1"), Becomes(key="Stuck.Hard")),
            ),
            [("18 main.fix: guard `data.why == 1` mentions unknown field 'why' (this exit has no such field)")],
            id="a_becomes_that_looks_at_data",
        ),
        pytest.param(
            change(bugfix(), "graphs.main", system={"!*": to("human", when="data.why == 1") + to("human")}),
            ["18 main: guard `data.why == 1` mentions unknown field 'why' (this exit has no such field)"],
            id="a_system_row_that_looks_at_data",
        ),
    ],
)
def test_a_planted_fault_is_named(protocol: Protocol, expected: list[str]) -> None:
    assert said(protocol) == expected


def test_a_guard_that_cannot_be_read() -> None:
    rows = to("human", when="data.faults >") + to("fix", charge="rounds")
    [line] = said(put(bugfix(), "graphs.main.steps.review.routes", "Rejected", rows))
    assert line.startswith("18 main.review: guard `data.faults >` cannot be read: ")


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


def test_a_parents_answer_shows_guards_what_its_own_exit_routes() -> None:
    """Another exit that routes a field of that name does not help."""
    told = Exit(fields={"text": TEXT, "more": Field(type="bool")})
    other = Exit(fields={"more": Field(type="bool", route="value")})
    protocol = put(put(tree(), "exits", "Answer", told), "exits", "Other", other)
    rows = to("stuck", when="data.more == True") + to("plan")
    protocol = put(protocol, "graphs.node.steps.clarify.routes", "Answer", rows)
    heard = change(protocol, "graphs.node.steps.stuck", needs=needs("plan.Unclear?", "clarify.Answer?", "!*?"))
    assert said(heard, 18) == [
        (
            "18 node.clarify: guard `data.more == True` looks at field 'more', which is not routed (add `route: "
            "true` to the field)"
        )
    ]


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
