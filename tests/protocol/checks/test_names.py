"""Planted typos in every place where a graph refers to something."""

import pytest

from tests.protocol.checks.planted import batch, bugfix, change, drop, gates, needs, put, said, to, tree
from treadle.protocol.model import Budget, CancelGroup, CheckRef, Field, Handler, Protocol, ResetThread, Spawn, Thread


@pytest.mark.parametrize(
    ("protocol", "expected"),
    [
        pytest.param(
            change(batch(), "graphs.cycle", start="rad"),
            ["3 cycle: starts at unknown step 'rad' (did you mean 'red'?)"],
            id="an_unknown_start",
        ),
        pytest.param(
            change(change(bugfix(), "graphs.main", input=("bug", "Bugg")), "roles.de", writes=("src/**",)),
            [
                "3 main: is given unknown type 'Bugg' (did you mean 'Bug'?)",
                "5 warning: type 'Bug' is never used (use it or remove it)",
            ],
            id="an_unknown_input",
        ),
        pytest.param(
            put(bugfix(), "graphs.main.steps.fix.routes", "Fixed", to("reviwe")),
            ["3 main.fix: Fixed leads to unknown step 'reviwe' (did you mean 'review'?)"],
            id="an_unknown_step",
        ),
        pytest.param(
            put(bugfix(), "graphs.main.steps.human.routes", "abort", to("@end:Abortd")),
            ["3 main.human: abort leads to unknown outcome 'Abortd' (did you mean 'Aborted'?)"],
            id="an_unknown_outcome",
        ),
        pytest.param(
            put(bugfix(), "graphs.main.budgets", "rounds", Budget(max=3, to="humn")),
            ["3 main: budget 'rounds' leads to unknown step 'humn' (did you mean 'human'?)"],
            id="an_unknown_target_of_a_budget",
        ),
        pytest.param(
            put(bugfix(), "graphs.main.budgets", "rounds", Budget(max=3, to="human", resets=("rpro",))),
            ["3 main: budget 'rounds' is refilled at unknown step 'rpro' (did you mean 'repro'?)"],
            id="an_unknown_refill",
        ),
        pytest.param(
            put(bugfix(), "graphs.main.steps.review.routes", "Rejected", to("human", charge="round")),
            [
                "3 main.review: Rejected charges unknown budget 'round' (did you mean 'rounds'?)",
                "5 warning: main: budget 'rounds' is never used (use it or remove it)",
            ],
            id="an_unknown_budget",
        ),
        pytest.param(
            put(tree(), "graphs.node.handlers", "Status", Handler(step="stat")),
            [
                (
                    "3 node: handles 'Status' at unknown step 'stat' (known: answer, clarify, conflict, "
                    "lost, merge, plan, rebase, stuck)"
                )
            ],
            id="an_unknown_handler_step",
        ),
        pytest.param(
            change(bugfix(), "graphs.main", commands={"/f": "fx"}),
            ["3 main: '/f' goes to unknown step 'fx' (did you mean 'fix'?)"],
            id="an_unknown_command",
        ),
        pytest.param(
            put(bugfix(), "graphs.main.steps.fix.routes", "Fixed", to("review", sets={"round": "1"})),
            ["3 main.fix: Fixed sets unknown variable 'round' (there is no variable here)"],
            id="an_unknown_variable",
        ),
        pytest.param(
            change(batch(), "graphs.main.steps.cycles", graph="cycles"),
            ["3 main.cycles: starts unknown graph 'cycles' (did you mean 'cycle'?)"],
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
                "3 node.plan: Planned spawns unknown graph 'nodes' (did you mean 'node'?)",
                ("5 node.merge: Merged sends 'Shift' to its siblings, of which there are none (remove the send)"),
                (
                    "5 warning: node: handles 'child:Aborted', which no child of a spawned group can "
                    "report (remove it, or take the outcome out of `ok`)"
                ),
                (
                    "12 node.answer: reads 'plan.Planned', which is not set on every path here (not after "
                    "the handler of 'Question', which may start at any time) (mark it optional with '?' "
                    "or reroute)"
                ),
            ],
            id="an_unknown_spawned_graph",
        ),
        pytest.param(
            put(tree(), "graphs.node.steps.lost.routes", "replan", to("^plan", CancelGroup(group="part"))),
            ["3 node.lost: replan cancels unknown group 'part' (did you mean 'parts'?)"],
            id="an_unknown_cancelled_group",
        ),
        pytest.param(
            put(bugfix(), "graphs.main.steps.fix.routes", "Fixed", to("review", ResetThread(step="merge"))),
            ["3 main.fix: Fixed resets the thread of unknown step 'merge' (known: fix, repro, review)"],
            id="an_unknown_reset_thread",
        ),
        pytest.param(
            change(bugfix(), "graphs.main.steps.merge", needs=needs("review.Approved", "reviw.Rejected?")),
            ["3 main.merge: reads 'reviw.Rejected?' of unknown step 'reviw' (did you mean 'review'?)"],
            id="an_unknown_need",
        ),
        pytest.param(
            change(bugfix(), "graphs.main.steps.merge", needs=needs("review.Approved", "review.Reject?")),
            [("3 main.merge: reads 'review.Reject?', but 'review' has no exit 'Reject' (did you mean 'Rejected'?)")],
            id="an_unknown_exit_of_a_need",
        ),
        pytest.param(
            change(bugfix(), "graphs.main.steps.merge", needs=needs("review.Approved", "fix.Stuck.Hard?")),
            [("3 main.merge: reads 'fix.Stuck.Hard?', but a slot holds every variant of an exit (write 'fix.Stuck')")],
            id="a_need_of_a_variant",
        ),
        pytest.param(
            change(
                bugfix(), "graphs.main.steps.human", needs=needs("fix.Stuck?", "review.Rejected?", "!*?", "!krash?")
            ),
            ["3 main.human: reads unknown system exit '!krash' (did you mean '!crash'?)"],
            id="an_unknown_failure_in_needs",
        ),
        pytest.param(
            change(batch(), "graphs.cycle.steps.halt", needs=needs("!*")),
            ["3 cycle.halt: reads '!*', which is there only after that failure (write '!*?')"],
            id="a_failure_that_is_always_needed",
        ),
        pytest.param(
            change(bugfix(), "graphs.main.steps.merge", needs=needs("review.Approved", "up.fix.Fixed")),
            ["12 main.merge: reads 'up.fix.Fixed', but the root has no parent (mark it optional with '?')"],
            id="a_need_of_a_parent_that_is_not_there",
        ),
        pytest.param(
            change(batch(), "graphs.cycle.steps.red", needs=needs("up.prepare.Ready?", "up.prepar.Ready?")),
            [
                "3 cycle.red: reads 'up.prepar.Ready?' of unknown step 'prepar' (did you mean 'prepare'?)",
                (
                    "15 warning: cycle.red: needs 'up.prepar.Ready?', but its template never shows it "
                    "(use it in the template, or remove it)"
                ),
            ],
            id="an_unknown_need_of_the_parent",
        ),
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
            [
                "3 main.human: uses unknown template 'human.jinj' (did you mean 'human.jinja'?)",
                "15 warning: template 'human.jinja' is never used (use it or remove it)",
            ],
            id="an_unknown_template",
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
                "2 main.repro: has a row for 'Reproduced', by which it cannot leave (it leaves by nothing)",
                "2 main.repro: has a gate for 'Reproduced', by which it cannot leave (its exits are none)",
                "3 main.repro: has no exits (add `exits`, the ways in which its work can come out)",
                (
                    "3 main.fix: reads 'repro.Reproduced', but 'repro' has no exit 'Reproduced' ('repro' "
                    "leaves by nothing)"
                ),
                "5 main.fix: is never reached (lead a row to it from 'repro' or a handler, or remove it)",
                "5 main.review: is never reached (lead a row to it from 'repro' or a handler, or remove it)",
                "5 main.merge: is never reached (lead a row to it from 'repro' or a handler, or remove it)",
                "5 warning: exit 'Reproduced' is never used (use it or remove it)",
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
        pytest.param(
            change(batch(), "graphs.cycle", ends={}),
            [
                "3 cycle: has no ends (add `ends: {Outcome: []}`)",
                "3 cycle.green: Green leads to unknown outcome 'Done' (there is no outcome here)",
            ],
            id="no_ends",
        ),
    ],
)
def test_a_planted_fault_is_named(protocol: Protocol, expected: list[str]) -> None:
    assert said(protocol) == expected
