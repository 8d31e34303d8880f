"""The world's account of open commands agrees with the kernel's, and notices when it would not."""

import msgspec

from tests.kernel.protocols import TREE, WORK_AND_REVIEW
from treadle.kernel.reduce import reduce
from treadle.kernel.state import State
from treadle.simulate.ledger import Ledger
from treadle.testing.scenario import Scenario, items


def account(run: Scenario) -> Ledger:
    ledger, state = Ledger(), State()
    for event in run.log:
        state, commands = reduce(run.protocol, state, event)
        ledger.enter(event, commands)
    return ledger


def test_claims_answers_timers_and_cancellations_are_booked() -> None:
    runs = [
        Scenario(WORK_AND_REVIEW).claims("Ready"),
        Scenario(WORK_AND_REVIEW).says("Stuck"),
        Scenario(WORK_AND_REVIEW).says("Stuck").answers("nonsense").answers("retry"),
        Scenario(WORK_AND_REVIEW).fails("crash"),
        Scenario(WORK_AND_REVIEW).times_out(),
        Scenario(TREE).says("Plan", parts=items("a", "b")).signals("abort", to="root/a"),
        Scenario(WORK_AND_REVIEW).says("Ready").says("Good"),
    ]
    for run in runs:
        assert account(run).differences(run.state) == []


def test_a_lost_command_is_noticed() -> None:
    run = Scenario(WORK_AND_REVIEW).says("Stuck")
    ledger = account(run)
    silent = msgspec.structs.replace(run.state, asks=State().asks)
    assert ledger.differences(silent) == ["AskHuman root:human#1.1 was asked for and is not outstanding"]


def test_an_invented_command_is_noticed() -> None:
    run = Scenario(WORK_AND_REVIEW)
    assert Ledger().differences(run.state) == [
        "RunAgent root:work#1.1 is outstanding and was never asked for",
        "SetTimer root:work#1.1 is outstanding and was never asked for",
    ]


def test_a_changed_command_is_noticed() -> None:
    run = Scenario(WORK_AND_REVIEW)
    ledger = account(run)
    act = run.state.acts["root:work#1.1"]
    changed = msgspec.structs.replace(act, command=msgspec.structs.replace(act.command, attempt=7))
    state = msgspec.structs.replace(run.state, acts=run.state.acts.set("root:work#1.1", changed))
    assert ledger.differences(state) == ["an open command is not the one that was issued"]


def test_an_answer_to_something_else_strikes_nothing() -> None:
    run = Scenario(WORK_AND_REVIEW).claims("Ready")
    ledger = account(run)
    ledger.enter(run.log[1], ())
    assert ledger.differences(run.state) == []
