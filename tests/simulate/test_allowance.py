"""Budgets that may be spent or not: which moves make that a question, and what the two answers are."""

import pytest

from tests.kernel.protocols import TREE, WORK_AND_REVIEW
from treadle.kernel.events import Envelope, Event, Exited, Idle, Replied, Signalled
from treadle.simulate.allowance import Allowance
from treadle.testing.scenario import Scenario, items


def test_a_state_has_two_extremes() -> None:
    allowance = Allowance(WORK_AND_REVIEW)
    run = Scenario(WORK_AND_REVIEW).says("Ready").says("More")
    assert run.inst().spent == {"reviews": 1}
    assert allowance.fresh(run.state).insts["root"].spent == {}
    assert allowance.spent(run.state).insts["root"].spent == {"reviews": 2}
    assert run.inst().spent == {"reviews": 1}


def test_who_has_ended_has_no_budgets() -> None:
    run = Scenario(WORK_AND_REVIEW).signals("abort")
    allowance = Allowance(WORK_AND_REVIEW)
    assert allowance.fresh(run.state) is allowance.spent(run.state) is run.state


@pytest.mark.parametrize(
    ("event", "matters"),
    [
        (Exited(id="", ts=0, act="root/a:work#1.1", envelope=Envelope("Worked")), True),
        (Replied(id="", ts=0, ask="root/b:clarify#1.1", choice="Answer"), True),
        (Signalled(id="", ts=0, inst="root/a", name="abort"), True),
        (Signalled(id="", ts=0, inst="root/a", name="Shift"), False),
        (Exited(id="", ts=0, act="root/z:work#1.1", envelope=Envelope("Worked")), False),
        (Idle(id="", ts=0, act="root/a:work#1.1", idle_s=60), False),
    ],
)
def test_only_what_can_charge_a_budget_matters(event: Event, matters: bool) -> None:
    run = Scenario(TREE).says("Plan", parts=items("a", "b"))
    run.says("Plan", at="root/a:plan").says("Ask", at="root/b:plan")
    assert Allowance(TREE).matters(run.state, event) is matters
