"""What is out, why, and what ends it."""

import pytest

from tests.kernel.protocols import TREE, WORK_AND_REVIEW
from treadle.kernel.advance import OUTAGE
from treadle.kernel.events import Outages
from treadle.testing.scenario import Scenario, items
from treadle.views.tree import OUTAGE_WORDS, ServiceOutage, outage, outage_line, tree
from treadle.views.words import moment, plain


@pytest.mark.parametrize("why", OUTAGE_WORDS)
def test_every_outage_is_shown_with_its_end(why: Outages) -> None:
    run = Scenario(WORK_AND_REVIEW).is_held_up(why, wait=90, grant="g" if why == "budget" else "")
    until = moment(run.state.timers.get(OUTAGE, 0))
    assert outage(run.state, "try later") == ServiceOutage(why=why, code=f"outage.{why}", until=until, said="try later")
    ends = f"continues at {plain(until)}" if until else "Treadle asks a person"
    assert outage_line(run.state) == f"held up, {OUTAGE_WORDS[why]}; {ends}"
    (line,) = tree(run.protocol, run.state)
    assert (line.mood, line.text) == ("waits", f"worker {outage_line(run.state)}")
    assert bool(until) is (why in ("rate", "quota", "overload", "network"))


def test_an_ended_outage_is_not_shown() -> None:
    run = Scenario(WORK_AND_REVIEW)
    assert outage(run.state, "") is None
    assert outage(run.is_held_up("rate").fires(OUTAGE).state, "") is None


def test_a_run_that_was_paused_during_an_outage_waits_for_its_resume() -> None:
    run = Scenario(TREE).says("Plan", parts=items("a", "b"))
    first, second = run.running()
    run.is_held_up("rate", first).signals("pause").fires(OUTAGE)
    assert outage(run.state, "") is None
    assert "paused" in outage_line(run.state)
    assert run.activity(second)
