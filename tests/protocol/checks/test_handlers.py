"""Planted faults in handlers: they leave their own world, or wait below themselves."""

import pytest

from tests.protocol.checks.planted import batch, bugfix, change, drop, faults_of, needs, put, said, to, tree
from treadle.protocol.model import Budget, Graph, Handler, Protocol, Send, Step, Wait


@pytest.mark.parametrize(
    ("protocol", "expected"),
    [
        pytest.param(
            put(tree(), "graphs.node.steps.conflict.routes", "replan", to("plan")),
            ["mixed_handler node: Shift, plan"],
            id="a_handler_that_runs_into_the_main_work",
        ),
        pytest.param(
            put(tree(), "graphs.node.handlers", "Status", Handler(step="work")),
            ["mixed_handler node: Status, work"],
            id="a_handler_that_starts_in_the_main_work",
        ),
        pytest.param(
            put(bugfix(), "graphs.main.steps.human.routes", "again", to("@resume")),
            ["mixed_handler main.human: @resume"],
            id="a_main_step_that_resumes",
        ),
        pytest.param(
            put(bugfix(), "graphs.main.steps.human.routes", "again", to("^repro")),
            ["mixed_handler main.human: ^repro"],
            id="a_main_step_that_redirects",
        ),
        pytest.param(
            put(bugfix(), "graphs.main.steps.fix.routes", "Fixed", to("review", Send(signal="Ok", to="sender"))),
            ["mixed_handler main.fix"],
            id="a_main_step_that_answers",
        ),
        pytest.param(
            change(tree(), "graphs.node.steps.conflict", wait=(Wait(kind="group", group="parts"),)),
            ["handler_waits node.conflict: parts"],
            id="a_join_in_a_handler",
        ),
        pytest.param(
            put(
                put(
                    put(tree(), "graphs.node.steps.rebase.routes", "Rebased", to("again")),
                    "graphs.node.steps",
                    "again",
                    Step(
                        kind="map",
                        graph="node",
                        routes={"AllOk": to("@resume"), "SomeFailed": to("@resume"), "!limit": to("conflict")},
                    ),
                ),
                "graphs.node.ok",
                "again",
                ("Merged",),
            ),
            [
                "unmet_need node.answer: plan.Planned, Shift, Question",
                "handler_waits node.again",
                "undelivered_exit node.rebase: again",
            ],
            id="a_map_in_a_handler",
        ),
        pytest.param(
            put(
                change(batch(), "graphs.cycle", handlers={"Shift": Handler(step="shift")}),
                "graphs.cycle.steps",
                "shift",
                Step(kind="ask", asks="human", routes={"go": to("shift", sync=True), "done": to("@resume")}),
            ),
            ["handler_waits cycle.shift"],
            id="a_sync_in_a_handler",
        ),
    ],
)
def test_a_planted_fault_is_named(protocol: Protocol, expected: list[str]) -> None:
    assert faults_of(protocol) == expected


def test_a_question_to_a_person_may_be_shared() -> None:
    """An ask that only ends the instance may stand in the main work and in a handler."""
    bare = change(tree(), "graphs.node.steps.stuck", routes={"abort": to("@end:Aborted")})
    assert said(put(bare, "graphs.node.steps.rebase.routes", "!*", to("stuck")), 7) == []


def test_a_handler_may_wait_for_a_person() -> None:
    assert said(change(tree(), "graphs.node.steps.conflict", wait=(Wait(kind="manual"),))) == []


# Planted handlers that meddle with each other, or answer what was not asked.


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
            ["handler_strays node.conflict: island"],
            id="a_redirect_to_nowhere",
        ),
        pytest.param(
            put(tree(), CONFLICT, "lost", to("lost")),
            ["handler_strays node: Shift, lost, child:Aborted"],
            id="two_handlers_in_one",
        ),
        pytest.param(
            put(tree(), CONFLICT, "go", to("@resume", Send(signal="Answer", to="sender"), _TOLD)),
            ["wrong_answer node.conflict: Shift"],
            id="an_answer_to_nobody",
        ),
        pytest.param(
            put(tree(), "graphs.node.steps.answer.routes", "Answer", to("@resume", Send(signal="abort", to="sender"))),
            ["wrong_answer node.answer: abort, Answer"],
            id="another_answer_than_was_given",
        ),
        pytest.param(
            put(
                tree(),
                "graphs.node.steps.plan.routes",
                "Unclear",
                to("clarify", when="root", charge="questions") + to("stuck"),
            ),
            ["question_without_parent node.clarify"],
            id="a_question_that_no_parent_hears",
        ),
    ],
)
def test_a_planted_fault_in_frames_is_named(protocol: Protocol, expected: list[str]) -> None:
    assert faults_of(protocol) == expected


# Planted faults between those who ask and those who answer.


@pytest.mark.parametrize(
    ("protocol", "expected"),
    [
        pytest.param(
            put(tree(), "graphs.node.steps.answer.routes", "!*", to("@resume")),
            ["handler_without_answer node.answer: Question"],
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
            ["handler_without_answer node.answer: answers, Question"],
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
            ["handler_without_answer node.more: Question"],
            id="two_answers",
        ),
        pytest.param(
            change(tree(), "graphs.node.steps.clarify", signal="Questin"),
            [
                "unanswered_question node.clarify: Questin, node -> Question",
                "unmet_need node.answer: plan.Planned, Question",
            ],
            id="a_question_nobody_handles",
        ),
        pytest.param(
            put(tree(), "graphs.node.handlers", "Question", Handler(step="answer")),
            [
                "unanswered_question node.clarify: Question, node",
                "unmet_need node.answer: plan.Planned, Question",
            ],
            id="a_question_whose_handler_does_not_reply",
        ),
        pytest.param(
            drop(tree(), "graphs.node.steps.clarify.routes", "abort"),
            ["unanswered_question node.clarify: node, abort"],
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
            ["unanswered_question node.clarify: never"],
            id="a_row_that_nobody_answers",
        ),
    ],
)
def test_a_planted_fault_in_answers_is_named(protocol: Protocol, expected: list[str]) -> None:
    assert faults_of(protocol) == expected


def test_a_handler_that_ends_its_instance_owes_no_answer() -> None:
    """Whoever asked is a child, and ends first."""
    heard = put(tree(), "graphs.node.ends", "Aborted", needs("!*?"))
    assert said(put(heard, "graphs.node.steps.answer.routes", "!*", to("@end:Aborted"))) == []
