"""Planted typos in what a step works with, and steps that lack what their kind needs."""

import pytest

from tests.protocol.checks.planted import TEXT, batch, bugfix, change, drop, gates, put, said, to, tree
from treadle.protocol.model import CheckRef, Field, Protocol, Record, Thread


@pytest.mark.parametrize(
    ("protocol", "expected"),
    [
        pytest.param(
            change(bugfix(), "graphs.main.steps.merge", pools=("run:branch", "run:brunch")),
            ["3 main.merge: holds unknown pool 'brunch' (did you mean 'branch'?)"],
            id="an_unknown_pool",
        ),
        pytest.param(
            change(bugfix(), "graphs.main.steps.merge", pools=("branch",)),
            [
                (
                    "3 main.merge: holds pool 'branch', which does not say whose (write 'self:branch' or "
                    "'parent:branch' or 'run:branch')"
                )
            ],
            id="a_pool_of_nobody",
        ),
        pytest.param(
            change(bugfix(), "graphs.main.steps.repro", exits=("Reproduced", "Reproducd")),
            [
                "1 main.repro: exit 'Reproducd' is not routed (add a row to its table)",
                "3 main.repro: leaves by unknown exit 'Reproducd' (did you mean 'Reproduced'?)",
            ],
            id="an_unknown_exit",
        ),
        pytest.param(
            change(bugfix(), "graphs.main.steps.review", role="critc"),
            [
                "3 main.review: is done by unknown role 'critc' (did you mean 'critic'?)",
                "5 warning: role 'critic' is never used (use it or remove it)",
                "15 warning: template 'review.jinja' is never used (use it or remove it)",
            ],
            id="an_unknown_role",
        ),
        pytest.param(
            change(bugfix(), "graphs.main.steps.review", mode="Fast"),
            ["3 main.review: invokes 'critic' in unknown mode 'Fast' (there is no mode here)"],
            id="an_unknown_mode",
        ),
        pytest.param(
            change(bugfix(), "roles.critic", template=""),
            [
                "3 main.review: has no template (name one here, in the mode, or in role 'critic')",
                "15 warning: template 'review.jinja' is never used (use it or remove it)",
            ],
            id="no_template",
        ),
        pytest.param(
            change(bugfix(), "graphs.main.steps.human", template="human.jinj"),
            ["3 main.human: uses unknown template 'human.jinj' (did you mean 'human.jinja'?)"],
            id="an_unknown_template",
        ),
        pytest.param(
            change(change(bugfix(), "roles.de", template="fx.jinja"), "graphs.main.steps.fix", template="fx.jinja"),
            ["3 de: unknown template 'fx.jinja' (did you mean 'fix.jinja'?)"],
            id="an_unknown_template_that_its_role_names_too",
        ),
        pytest.param(
            put(bugfix(), "graphs.main.steps.fix.gates", "Fixed", gates("commit scope bild green tests_unmodified")),
            ["3 main.fix: is gated by unknown check 'bild' (did you mean 'build'?)"],
            id="an_unknown_check",
        ),
        pytest.param(
            change(batch(), "graphs.main.steps.suite", checks=gates("build post_check")),
            ["3 main.suite: check 'post_check' needs an argument (write 'post_check:command')"],
            id="a_check_without_its_argument",
        ),
        pytest.param(
            change(batch(), "graphs.main.steps.suite", checks=(CheckRef(name="build", arg="x"),)),
            ["3 main.suite: check 'build' takes no argument (write 'build')"],
            id="a_check_with_an_argument_too_many",
        ),
        pytest.param(
            change(bugfix(), "graphs.main.steps.merge", effect="merg"),
            ["3 main.merge: performs unknown effect 'merg' (did you mean 'merge'?)"],
            id="an_unknown_effect",
        ),
        pytest.param(
            change(
                drop(batch(), "graphs.main.steps.suite.routes", "Failed.build"), "graphs.main.steps.suite", checks=()
            ),
            ["3 main.suite: runs no checks (add `checks`)"],
            id="a_check_step_without_checks",
        ),
        pytest.param(
            change(bugfix(), "graphs.main.steps.repro", exits=()),
            [
                ("2 main.repro: has a row for 'Reproduced', by which it cannot leave (it leaves by nothing)"),
                ("2 main.repro: has a gate for 'Reproduced', by which it cannot leave (its exits are none)"),
                ("3 main: reads 'repro.Reproduced', but 'repro' has no exit 'Reproduced' ('repro' leaves by nothing)"),
                (
                    "3 main.fix: reads 'repro.Reproduced', but 'repro' has no exit 'Reproduced' ('repro' "
                    "leaves by nothing)"
                ),
                ("3 main.repro: has no exits (add `exits`, the ways in which its work can come out)"),
                ("5 main.fix: is never reached (lead a row to it from 'repro' or a handler, or remove it)"),
                ("5 main.review: is never reached (lead a row to it from 'repro' or a handler, or remove it)"),
                ("5 main.merge: is never reached (lead a row to it from 'repro' or a handler, or remove it)"),
                ("5 warning: exit 'Reproduced' is never used (use it or remove it)"),
            ],
            id="an_agent_without_exits",
        ),
        pytest.param(
            change(bugfix(), "graphs.main.steps.human", choices={"agian": "try again"}),
            ["3 main.human: offers 'agian', which has no row (did you mean 'again'?)"],
            id="a_choice_without_a_row",
        ),
        pytest.param(
            change(bugfix(), "graphs.main.steps.human", default="stop", default_after=60),
            ["3 main.human: offers 'stop', which has no row (add a row for it)"],
            id="a_default_without_a_row",
        ),
        pytest.param(
            change(bugfix(), "graphs.main.steps.human", notes=("agian",)),
            ["3 main.human: wants a note with unknown choice 'agian' (did you mean 'again'?)"],
            id="a_note_with_a_choice_that_is_not_there",
        ),
        pytest.param(
            change(bugfix(), "graphs.main.steps.human", default="abort", default_after=60, notes=("abort",)),
            [
                (
                    "3 main.human: wants a note with 'abort', its own default "
                    "(time writes no note: let another choice be the default)"
                )
            ],
            id="a_note_that_time_would_have_to_write",
        ),
        pytest.param(
            change(bugfix(), "graphs.main.steps.human", asks=""),
            ["3 main.human: asks nobody (write `ask: human` or `ask: parent`)"],
            id="a_question_to_nobody",
        ),
        pytest.param(
            change(tree(), "graphs.node.steps.clarify", signal=""),
            [
                "3 node.clarify: asks its parent nothing (name the `signal` that the parent receives)",
                (
                    "12 node.answer: reads 'plan.Planned', which is not set on every path here (not after "
                    "the handler of 'Question', which may start at any time) (mark it optional with '?' "
                    "or reroute)"
                ),
            ],
            id="a_question_without_a_signal",
        ),
        pytest.param(
            change(batch(), "graphs.main.steps.cycles", window="in.width"),
            ["3 main.cycles: takes its window from unknown field 'width' (known: cycles, id)"],
            id="an_unknown_window",
        ),
        pytest.param(
            put(
                change(batch(), "graphs.main.steps.cycles", window="in.width"),
                "types",
                "Plan",
                Record(fields={"id": TEXT, "width": Field(type="int"), "cycles": Field(type="[Cycle]", route="items")}),
            ),
            [
                (
                    "3 main.cycles: takes its window from 'width', which is not routed (give it `route: true` in "
                    "type 'Plan')"
                )
            ],
            id="a_window_that_is_not_routed",
        ),
        pytest.param(
            change(
                change(batch(), "graphs.main.steps.cycles", after="aftr"),
                "graphs.cycle.steps.red",
                routes={"Red": to("green")},
            ),
            ["3 main.cycles: orders its items by unknown field 'aftr' (did you mean 'after'?)"],
            id="an_unknown_order",
        ),
        pytest.param(
            put(
                change(
                    change(batch(), "graphs.main.steps.cycles", after="after"),
                    "graphs.cycle.steps.red",
                    routes={"Red": to("green")},
                ),
                "types.Cycle.fields",
                "after",
                Field(type="[text]"),
            ),
            [
                (
                    "3 main.cycles: orders its items by 'after', which is not routed (give it `route: "
                    "items` in type 'Cycle')"
                )
            ],
            id="an_order_that_is_not_routed",
        ),
        pytest.param(
            change(bugfix(), "graphs.main.steps.review", thread=Thread(kind="fork", step="merge")),
            ["3 main.review: forks the thread of unknown agent step 'merge' (name an agent step)"],
            id="an_unknown_thread",
        ),
        pytest.param(
            change(tree(), "graphs.node.steps.plan", thread=Thread(kind="fork", step="plna", up=True)),
            [("3 node.plan: forks the thread of unknown agent step 'plna' of the parent (did you mean 'plan'?)")],
            id="an_unknown_thread_of_the_parent",
        ),
    ],
)
def test_a_planted_fault_is_named(protocol: Protocol, expected: list[str]) -> None:
    assert said(protocol) == expected
