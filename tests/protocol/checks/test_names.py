"""Planted typos in rows, budgets, handlers and needs."""

import pytest

from tests.protocol.checks.planted import batch, bugfix, change, needs, put, said, to, tree
from treadle.protocol.model import Budget, CancelGroup, Handler, Protocol, ResetThread, Spawn


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
                ("3 main.review: Rejected charges unknown budget 'round' (did you mean 'rounds'?)"),
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
                ("3 node.plan: Planned spawns unknown graph 'nodes' (did you mean 'node'?)"),
                ("5 node.merge: Merged sends 'Shift' to its siblings, of which there are none (remove the send)"),
                ("5 node.rebase: Rebased sends 'Shift' to its children, of which there are none (remove the send)"),
                ("5 node.conflict: go sends 'Shift' to its children, of which there are none (remove the send)"),
                (
                    "5 warning: node: handles 'child:Aborted', which no child of a spawned group can "
                    "report (remove it, or take the outcome out of `ok`)"
                ),
                (
                    "12 node.answer: reads 'plan.Planned', which is not set on every path here (not after"
                    " the handler of 'Question', which may start at any time) (mark it optional with '?' "
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
            [("3 main.merge: reads 'fix.Stuck.Hard?', but a slot holds every variant of an exit (write 'fix.Stuck?')")],
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
