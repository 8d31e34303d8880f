"""Planted typos in rows, budgets, handlers and needs."""

import pytest

from tests.protocol.checks.planted import TEXT, batch, bugfix, change, drop, faults_of, gates, needs, put, to, tree
from tests.protocol.loading import findings
from treadle.protocol.load import starting_folder
from treadle.protocol.model import (
    Budget,
    CancelGroup,
    CheckRef,
    Field,
    Handler,
    Protocol,
    Record,
    ResetThread,
    Spawn,
    Thread,
)


@pytest.mark.parametrize(
    ("protocol", "expected"),
    [
        pytest.param(
            change(batch(), "graphs.cycle", start="rad"),
            ["unknown_target cycle: rad -> red"],
            id="an_unknown_start",
        ),
        pytest.param(
            change(change(bugfix(), "graphs.main", input=("bug", "Bugg")), "roles.de", writes=("src/**",)),
            [
                "unknown_target main: Bugg -> Bug",
                "unused: Bug",
            ],
            id="an_unknown_input",
        ),
        pytest.param(
            put(bugfix(), "graphs.main.steps.fix.routes", "Fixed", to("reviwe")),
            ["unknown_target main.fix: reviwe -> review"],
            id="an_unknown_step",
        ),
        pytest.param(
            put(bugfix(), "graphs.main.steps.human.routes", "abort", to("@end:Abortd")),
            ["unknown_target main.human: Abortd -> Aborted"],
            id="an_unknown_outcome",
        ),
        pytest.param(
            put(bugfix(), "graphs.main.budgets", "rounds", Budget(max=3, to="humn")),
            ["unknown_target main: rounds, humn -> human"],
            id="an_unknown_target_of_a_budget",
        ),
        pytest.param(
            put(bugfix(), "graphs.main.budgets", "rounds", Budget(max=3, to="human", resets=("rpro",))),
            ["unknown_target main: rounds, rpro -> repro"],
            id="an_unknown_refill",
        ),
        pytest.param(
            put(bugfix(), "graphs.main.steps.review.routes", "Rejected", to("human", charge="round")),
            [
                "unknown_target main.review: round -> rounds",
            ],
            id="an_unknown_budget",
        ),
        pytest.param(
            put(tree(), "graphs.node.handlers", "Status", Handler(step="stat")),
            ["unknown_target node: Status, stat"],
            id="an_unknown_handler_step",
        ),
        pytest.param(
            change(bugfix(), "graphs.main", commands={"/f": "fx"}),
            ["unknown_target main: /f, fx -> fix"],
            id="an_unknown_command",
        ),
        pytest.param(
            put(bugfix(), "graphs.main.steps.fix.routes", "Fixed", to("review", sets={"round": "1"})),
            ["unknown_target main.fix: round"],
            id="an_unknown_variable",
        ),
        pytest.param(
            change(batch(), "graphs.main.steps.cycles", graph="cycles"),
            ["unknown_part main.cycles: cycles -> cycle"],
            id="an_unknown_graph",
        ),
        pytest.param(
            put(
                tree(),
                "graphs.node.steps.plan.routes",
                "Planned",
                to("work", Spawn(group="parts", graph="nodes", over="parts")),
            ),
            [
                "unknown_target node.plan: nodes -> node",
                "unhandled_signal node.merge: Shift",
                "unhandled_signal node.rebase: Shift",
                "unhandled_signal node.conflict: Shift",
                "unused node: child:Aborted",
                "unmet_need node.answer: plan.Planned, Question",
            ],
            id="an_unknown_spawned_graph",
        ),
        pytest.param(
            put(tree(), "graphs.node.steps.lost.routes", "replan", to("^plan", CancelGroup(group="part"))),
            ["unknown_target node.lost: part -> parts"],
            id="an_unknown_cancelled_group",
        ),
        pytest.param(
            put(bugfix(), "graphs.main.steps.fix.routes", "Fixed", to("review", ResetThread(step="merge"))),
            ["unknown_target main.fix: merge"],
            id="an_unknown_reset_thread",
        ),
        pytest.param(
            change(bugfix(), "graphs.main.steps.merge", needs=needs("review.Approved", "reviw.Rejected?")),
            ["unknown_target main.merge: reviw.Rejected?, reviw -> review"],
            id="an_unknown_need",
        ),
        pytest.param(
            change(bugfix(), "graphs.main.steps.merge", needs=needs("review.Approved", "review.Reject?")),
            ["unknown_target main.merge: review.Reject?, review, Reject -> Rejected"],
            id="an_unknown_exit_of_a_need",
        ),
        pytest.param(
            change(bugfix(), "graphs.main.steps.merge", needs=needs("review.Approved", "fix.Stuck.Hard?")),
            ["unknown_target main.merge: fix.Stuck.Hard?"],
            id="a_need_of_a_variant",
        ),
        pytest.param(
            change(
                bugfix(), "graphs.main.steps.human", needs=needs("fix.Stuck?", "review.Rejected?", "!*?", "!krash?")
            ),
            ["unknown_target main.human: !krash -> !crash"],
            id="an_unknown_failure_in_needs",
        ),
        pytest.param(
            change(batch(), "graphs.cycle.steps.halt", needs=needs("!*")),
            ["unknown_target cycle.halt: !*"],
            id="a_failure_that_is_always_needed",
        ),
        pytest.param(
            change(bugfix(), "graphs.main.steps.merge", needs=needs("review.Approved", "up.fix.Fixed")),
            ["unmet_need main.merge: up.fix.Fixed"],
            id="a_need_of_a_parent_that_is_not_there",
        ),
        pytest.param(
            change(batch(), "graphs.cycle.steps.red", needs=needs("up.prepare.Ready?", "up.prepar.Ready?")),
            [
                "unknown_target cycle.red: up.prepar.Ready?, prepar -> prepare",
                "unfit_template cycle.red: up.prepar.Ready?",
            ],
            id="an_unknown_need_of_the_parent",
        ),
        pytest.param(
            change(batch(), "graphs.cycle", ends={}),
            [
                "unknown_target cycle",
                "unknown_target cycle.green: Done",
            ],
            id="no_ends",
        ),
    ],
)
def test_a_planted_fault_is_named(protocol: Protocol, expected: list[str]) -> None:
    assert faults_of(protocol) == expected


# Planted typos in what a step works with, and steps that lack what their kind needs.


@pytest.mark.parametrize(
    ("protocol", "expected"),
    [
        pytest.param(
            change(bugfix(), "graphs.main.steps.merge", pools=("run:branch", "run:brunch")),
            ["unknown_part main.merge: brunch -> branch"],
            id="an_unknown_pool",
        ),
        pytest.param(
            change(bugfix(), "graphs.main.steps.merge", pools=("branch",)),
            ["unknown_part main.merge: branch"],
            id="a_pool_of_nobody",
        ),
        pytest.param(
            change(bugfix(), "graphs.main.steps.repro", exits=("Reproduced", "Reproducd")),
            [
                "unrouted_exit main.repro: Reproducd",
                "unknown_part main.repro: Reproducd -> Reproduced",
            ],
            id="an_unknown_exit",
        ),
        pytest.param(
            change(bugfix(), "graphs.main.steps.review", role="critc"),
            [
                "unknown_part main.review: critc -> critic",
                "unused: critic",
                "unfit_template: review.jinja",
            ],
            id="an_unknown_role",
        ),
        pytest.param(
            change(bugfix(), "graphs.main.steps.review", mode="Fast"),
            ["unknown_part main.review: critic, Fast"],
            id="an_unknown_mode",
        ),
        pytest.param(
            change(bugfix(), "roles.critic", template=""),
            [
                "unknown_part main.review",
                "unfit_template: review.jinja",
            ],
            id="no_template",
        ),
        pytest.param(
            change(bugfix(), "graphs.main.steps.human", template="human.jinj"),
            ["unknown_part main.human: human.jinj -> human.jinja"],
            id="an_unknown_template",
        ),
        pytest.param(
            change(change(bugfix(), "roles.de", template="fx.jinja"), "graphs.main.steps.fix", template="fx.jinja"),
            ["undeclared de: fx.jinja -> fix.jinja"],
            id="an_unknown_template_that_its_role_names_too",
        ),
        pytest.param(
            put(bugfix(), "graphs.main.steps.fix.gates", "Fixed", gates("commit scope bild green tests_unmodified")),
            ["unknown_part main.fix: bild -> build"],
            id="an_unknown_check",
        ),
        pytest.param(
            change(batch(), "graphs.main.steps.suite", checks=gates("build post_check")),
            ["unknown_part main.suite: post_check"],
            id="a_check_without_its_argument",
        ),
        pytest.param(
            change(batch(), "graphs.main.steps.suite", checks=(CheckRef(name="build", arg="x"),)),
            ["unknown_part main.suite: build"],
            id="a_check_with_an_argument_too_many",
        ),
        pytest.param(
            change(bugfix(), "graphs.main.steps.merge", effect="merg"),
            ["unknown_part main.merge: merg -> merge"],
            id="an_unknown_effect",
        ),
        pytest.param(
            change(
                drop(batch(), "graphs.main.steps.suite.routes", "Failed.build"), "graphs.main.steps.suite", checks=()
            ),
            ["unknown_part main.suite"],
            id="a_check_step_without_checks",
        ),
        pytest.param(
            change(bugfix(), "graphs.main.steps.repro", exits=()),
            [
                "stale_row main.repro: Reproduced",
                "stale_row main.repro: Reproduced",
                "unknown_target main: repro.Reproduced, repro, Reproduced",
                "unknown_target main.fix: repro.Reproduced, repro, Reproduced",
                "unknown_part main.repro",
                "unreachable_step main.fix",
                "unreachable_step main.review",
                "unreachable_step main.merge",
                "unused: Reproduced",
            ],
            id="an_agent_without_exits",
        ),
        pytest.param(
            change(bugfix(), "graphs.main.steps.human", choices={"agian": "try again"}),
            ["unknown_part main.human: agian -> again"],
            id="a_choice_without_a_row",
        ),
        pytest.param(
            change(bugfix(), "graphs.main.steps.human", default="stop", default_after=60),
            ["unknown_part main.human: stop"],
            id="a_default_without_a_row",
        ),
        pytest.param(
            change(bugfix(), "graphs.main.steps.human", notes=("agian",)),
            ["unknown_part main.human: agian -> again"],
            id="a_note_with_a_choice_that_is_not_there",
        ),
        pytest.param(
            change(bugfix(), "graphs.main.steps.human", default="abort", default_after=60, notes=("abort",)),
            ["unknown_part main.human: abort"],
            id="a_note_that_time_would_have_to_write",
        ),
        pytest.param(
            change(bugfix(), "graphs.main.steps.human", asks=""),
            ["unknown_part main.human"],
            id="a_question_to_nobody",
        ),
        pytest.param(
            change(tree(), "graphs.node.steps.clarify", signal=""),
            [
                "unknown_part node.clarify",
                "unmet_need node.answer: plan.Planned, Question",
            ],
            id="a_question_without_a_signal",
        ),
        pytest.param(
            change(batch(), "graphs.main.steps.cycles", window="in.width"),
            ["unknown_part main.cycles: width"],
            id="an_unknown_window",
        ),
        pytest.param(
            put(
                change(batch(), "graphs.main.steps.cycles", window="in.width"),
                "types",
                "Plan",
                Record(fields={"id": TEXT, "width": Field(type="int"), "cycles": Field(type="[Cycle]", route="items")}),
            ),
            ["unknown_part main.cycles: width"],
            id="a_window_that_is_not_routed",
        ),
        pytest.param(
            change(
                change(batch(), "graphs.main.steps.cycles", after="aftr"),
                "graphs.cycle.steps.red",
                routes={"Red": to("green")},
            ),
            ["unknown_part main.cycles: aftr -> after"],
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
            ["unknown_part main.cycles: after"],
            id="an_order_that_is_not_routed",
        ),
        pytest.param(
            change(bugfix(), "graphs.main.steps.review", thread=Thread(kind="fork", step="merge")),
            ["unknown_part main.review: merge"],
            id="an_unknown_thread",
        ),
        pytest.param(
            change(tree(), "graphs.node.steps.plan", thread=Thread(kind="fork", step="plna", up=True)),
            ["unknown_part node.plan: plna -> plan"],
            id="an_unknown_thread_of_the_parent",
        ),
    ],
)
def test_a_planted_fault_in_steps_is_named(protocol: Protocol, expected: list[str]) -> None:
    assert faults_of(protocol) == expected


# A mistake that keeps a file from being read hides no other one, and none is told that only follows from it.


START = starting_folder("start")["protocol.yaml"]


UNREAD = "'attempts' must be a whole number, not text"


NO_ROLE = "is done by unknown role 'testr'"


NO_END = "Approved leads to unknown outcome 'Don'"


def told(*changes: tuple[str, str]) -> list[str]:
    text = START
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    return [one.message for one in findings(text) if "template" not in one.message]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ((("attempts: 3", "attempts: four"),), [UNREAD]),
        ((("attempts: 3", "attempts: four"), ("role: tester", "role: testr")), [NO_ROLE, UNREAD]),
        ((("attempts: 4", "attempts: four"), ("@end:Done", "@end:Don")), [UNREAD, NO_END]),
        (
            (("agents: 2", "agents: two"), ("@end:Done", "@end:Don")),
            ["'agents' must be a whole number, not text", NO_END],
        ),
        (
            (("attempts: 3", "attempts: four"), ("role: tester", "role: testr"), ("@end:Done", "@end:Don")),
            [NO_ROLE, UNREAD, NO_END],
        ),
    ],
)
def test_independent_mistakes_are_listed_together(changes: tuple[tuple[str, str], ...], expected: list[str]) -> None:
    assert told(*changes) == expected


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("role: developer", "roll: developer", "nobody works in this step"),  # others lead to it and read of it
        ("exits: [Fixed, GiveUp]", "exist: [Fixed, GiveUp]", "unknown key 'exist'"),  # others read its exits
        ("role: developer", "role: [developer]", "'role' must be text, not a list"),
        ("  Fixed:\n    about", "  Fixed it:\n    about", "'Fixed it' is not a name"),
        ("    ends:\n", "    end:\n", "unknown key 'end'"),  # every outcome is lost with it
    ],
)
def test_consequences_of_a_mistake_are_not_listed(old: str, new: str, expected: str) -> None:
    found = told((old, new))
    assert expected in found
    assert not [one for one in found if "unknown step" in one or "unknown outcome" in one or "has no exit" in one]


def test_each_mistake_has_its_line() -> None:
    text = START.replace("attempts: 3", "attempts: four").replace("@end:Done", "@end:Don")
    lines = text.splitlines()
    found = {one.message: lines[one.place.line - 1].strip() for one in findings(text)}
    assert found[UNREAD] == "attempts: four"
    assert found[NO_END] == 'Approved: "@end:Don"'
