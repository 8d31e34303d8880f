"""Planted handlers that meddle with each other, or answer what was not asked."""

import pytest

from tests.protocol.checks.planted import put, said, to, tree
from treadle.protocol.model import Protocol, Send, Step

CONFLICT = "graphs.node.steps.conflict.routes"
_TOLD = Send(signal="Shift", to="children")


@pytest.mark.parametrize(
    ("protocol", "expected"),
    [
        pytest.param(
            put(
                put(tree(), CONFLICT, "elsewhere", to("^island")),
                "graphs.node.steps",
                "island",
                Step(kind="ask", asks="human", routes={"on": to("plan"), "abort": to("@end:Aborted")}),
            ),
            [
                (
                    "7 node.conflict: elsewhere redirects the main work to 'island', where it never goes "
                    "by itself (name a step of the main work)"
                )
            ],
            id="a_redirect_to_nowhere",
        ),
        pytest.param(
            put(tree(), CONFLICT, "lost", to("lost")),
            [
                (
                    "7 node: handler of 'Shift' runs into 'lost', where that of 'child:Aborted' starts "
                    "(give each signal steps of its own)"
                )
            ],
            id="two_handlers_in_one",
        ),
        pytest.param(
            put(tree(), CONFLICT, "go", to("@resume", Send(signal="Answer", to="sender"), _TOLD)),
            [
                (
                    "8 node.conflict: go answers the sender of 'Shift', who has not asked anything (add "
                    "`reply: true` to the handler, or remove the answer)"
                )
            ],
            id="an_answer_to_nobody",
        ),
        pytest.param(
            put(tree(), "graphs.node.steps.answer.routes", "Answer", to("@resume", Send(signal="abort", to="sender"))),
            ["8 node.answer: Answer is answered as 'abort', but the asker has a row for 'Answer' (send 'Answer')"],
            id="another_answer_than_was_given",
        ),
        pytest.param(
            put(
                tree(),
                "graphs.node.steps.plan.routes",
                "Unclear",
                to("clarify", when="root", charge="questions") + to("stuck"),
            ),
            [
                (
                    "8 node.clarify: asks its parent, but plan.Unclear leads here only at the root, which has none "
                    "(lead the other instances here, or `ask: human`)"
                )
            ],
            id="a_question_that_no_parent_hears",
        ),
    ],
)
def test_a_planted_fault_is_named(protocol: Protocol, expected: list[str]) -> None:
    assert said(protocol) == expected
