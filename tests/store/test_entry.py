"""What one event adds to the store follows from its commands alone."""

from itertools import pairwise

import msgspec
import pytest

from tests.store.runs import NOW, PROTOCOL, entries, says, start
from treadle.kernel.commands import Cancel, CancelTimer, Command, Done, Notify, Nudge, RunEffect, SetTimer
from treadle.kernel.events import Checked, CheckResult, Event, Replied, TimerFired
from treadle.kernel.reduce import outstanding, reduce
from treadle.kernel.replay import GENESIS, link
from treadle.kernel.state import State
from treadle.store.entry import address, entry

WORK = "root:work#1.{}"
GOOD = (CheckResult("scope", True), CheckResult("green", True))
LOG: list[Event] = [
    start(),
    says(WORK.format(1), "Retry", 1),
    says(WORK.format(2), "Ready", 2),
    Checked(id="k", ts=NOW, act=WORK.format(2), results=GOOD),
    says("root:review#1.1", "More", 3),
    says("root:work#2.1", "Stuck", 4),
    Replied(id="r", ts=NOW, ask="root:human#1.1", choice="retry"),
    TimerFired(id="t", ts=NOW + 9_000_000, timer="root:work#3.1"),
]


def test_the_rows_of_a_log_leave_in_outbox_and_timers_what_the_state_wants() -> None:
    state, outbox, timers = State(), set[str](), dict[str, int]()
    for event in LOG:
        state, commands = reduce(PROTOCOL, state, event)
        row = entry(GENESIS, state, event, commands)
        outbox = outbox - set(row.closed) | {id_ for id_, _ in row.opened if not id_.endswith("!cancel")}
        timers = {id_: due for id_, due in timers.items() if id_ not in row.unset} | dict(row.set)
        owed = {it.id for it in outstanding(state) if not isinstance(it, SetTimer | Done)}
        assert outbox == owed, event
        assert timers == dict(state.timers.items()), event
    assert state.outcome == "Failed"


def test_rows_are_chained() -> None:
    rows, _ = entries(State(), LOG)
    assert rows[0].chain == link(GENESIS, rows[0].body)
    assert all(two.chain == link(one.chain, two.body) for one, two in pairwise(rows))
    assert [row.seq for row in rows] == list(range(1, len(LOG) + 1))


KEPT: list[tuple[Command, bool]] = [
    (RunEffect(id="a", inst="root", graph="g", step="s", visit=1, attempt=1, effect="merge"), True),
    (Notify(id="a", inst="root", what="reminder"), True),
    (Cancel(id="a", why="ended"), True),
    (Nudge(id="a", count=1), False),
    (SetTimer(id="a", due=1), False),
    (CancelTimer(id="a"), False),
    (Done(id="a", outcome="x"), False),
]


@pytest.mark.parametrize(("command", "is_kept"), KEPT, ids=[type(command).__name__ for command, _ in KEPT])
def test_which_commands_are_worth_repeating(command: Command, is_kept: bool) -> None:
    row = entry(GENESIS, State(seq=1), start(), (command,))
    assert row.opened == (((address(command), msgspec.json.encode(command)),) if is_kept else ())


def test_a_cancellation_does_not_take_the_place_of_what_it_cancels() -> None:
    assert address(Cancel(id="a", why="ended")) == "a!cancel"
    assert address(Nudge(id="a", count=1)) == "a"
