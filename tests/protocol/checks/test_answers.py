"""Planted faults between those who ask and those who answer."""

import pytest

from tests.protocol.checks.planted import change, drop, needs, put, said, to, tree
from treadle.protocol.model import Budget, Graph, Handler, Protocol, Send, Step


@pytest.mark.parametrize(
    ("protocol", "expected"),
    [
        pytest.param(
            put(tree(), "graphs.node.steps.answer.routes", "!*", to("@resume")),
            [
                (
                    "8 node.answer: !* leaves the handler of 'Question' without answering its sender, "
                    "which stays blocked (add `do: [{send: {signal: …, to: sender}}]`)"
                )
            ],
            id="a_path_without_an_answer",
        ),
        pytest.param(
            change(
                put(
                    tree(),
                    "graphs.node.steps.answer.routes",
                    "Answer",
                    to("@resume", Send(signal="Answer", to="sender"), charge="answers"),
                ),
                "graphs.node",
                budgets={"questions": Budget(max=2, to="stuck"), "answers": Budget(max=1, to="@resume")},
            ),
            [
                (
                    "8 node.answer: Answer with budget 'answers' spent leaves the handler of 'Question' "
                    "without answering its sender, which stays blocked (add `do: [{send: {signal: …, to: "
                    "sender}}]`)"
                )
            ],
            id="a_spent_budget_without_an_answer",
        ),
        pytest.param(
            put(
                put(tree(), "graphs.node.steps.answer.routes", "!*", to("more", Send(signal="Answer", to="sender"))),
                "graphs.node.steps",
                "more",
                Step(
                    kind="ask",
                    asks="human",
                    needs=needs("!*?"),
                    routes={"go": to("@resume", Send(signal="Answer", to="sender"))},
                ),
            ),
            ["8 node.more: go answers the sender of 'Question' a second time (answer once on every path)"],
            id="two_answers",
        ),
        pytest.param(
            change(tree(), "graphs.node.steps.clarify", signal="Questin"),
            [
                (
                    "8 node.clarify: asks 'Questin' of its parent, but 'node', which starts it, has no "
                    "handler for it (did you mean 'Question'?)"
                ),
                (
                    "12 node.answer: reads 'plan.Planned', which is not set on every path here (not after "
                    "the handler of 'Question', which may start at any time) (mark it optional with '?' "
                    "or reroute)"
                ),
            ],
            id="a_question_nobody_handles",
        ),
        pytest.param(
            put(tree(), "graphs.node.handlers", "Question", Handler(step="answer")),
            [
                (
                    "8 node.clarify: asks 'Question' of its parent, but the handler in 'node' does not "
                    "reply (add `reply: true`)"
                ),
                (
                    "12 node.answer: reads 'plan.Planned', which is not set on every path here (not after "
                    "the handler of 'Question', which may start at any time) (mark it optional with '?' "
                    "or reroute)"
                ),
            ],
            id="a_question_whose_handler_does_not_reply",
        ),
        pytest.param(
            drop(tree(), "graphs.node.steps.clarify.routes", "abort"),
            ["8 node.clarify: 'node' can answer 'abort', which has no row here (add a row for it)"],
            id="an_answer_without_a_row",
        ),
        pytest.param(
            put(
                change(
                    put(
                        tree(),
                        "graphs",
                        "top",
                        Graph(
                            start="all",
                            input=("spec", "Spec"),
                            ends={"Done": needs("all.AllOk?", "all.SomeFailed?", "!limit?")},
                            ok={"all": ("Merged",)},
                            handlers={"Question": Handler(step="answer", reply=True)},
                            steps={
                                "all": Step(
                                    kind="map",
                                    graph="node",
                                    routes={
                                        "AllOk": to("@end:Done"),
                                        "SomeFailed": to("@end:Done"),
                                        "!limit": to("@end:Done"),
                                    },
                                ),
                                "answer": Step(
                                    kind="ask",
                                    asks="human",
                                    routes={"Answer": to("@resume", Send(signal="Answer", to="sender"))},
                                ),
                            },
                        ),
                    ),
                    "",
                    root="top",
                ),
                "graphs.node.steps.clarify.routes",
                "never",
                to("@end:Aborted"),
            ),
            ["8 warning: node.clarify: no parent answers 'never' (remove the row, or send it)"],
            id="a_row_that_nobody_answers",
        ),
    ],
)
def test_a_planted_fault_is_named(protocol: Protocol, expected: list[str]) -> None:
    assert said(protocol) == expected


def test_a_handler_that_ends_its_instance_owes_no_answer() -> None:
    """Whoever asked is a child, and ends first."""
    heard = put(tree(), "graphs.node.ends", "Aborted", needs("!*?"))
    assert said(put(heard, "graphs.node.steps.answer.routes", "!*", to("@end:Aborted"))) == []
