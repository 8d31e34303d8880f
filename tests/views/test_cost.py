"""The usage of a run, and the estimates of its protocol beside it."""

from pathlib import Path

import pytest

from tests.recorded import USED, record
from tests.views.logs import NOW, played, read, written
from treadle.cli.cost import print_cost
from treadle.kernel.advance import OUTAGE
from treadle.kernel.events import Envelope, Exited, SessionStarted, TimerFired, Unavailable, Usage
from treadle.protocol.items import Routed
from treadle.protocol.load import load
from treadle.testing.scenario import Scenario, items
from treadle.views.activity import price
from treadle.views.cost import cost, estimates


def test_every_breakdown_adds_up_to_the_total(tmp_path: Path) -> None:
    state = record(tmp_path, of="v3", refuses=2)
    used = cost(read(tmp_path), "r")
    assert (used.total.tokens_in, used.total.tokens_out, used.total.cost) == (
        state.usage.tokens_in,
        state.usage.tokens_out,
        state.usage.cost,
    )
    for shares in (used.roles, used.steps, used.instances, used.attempts, used.conversations, used.starts):
        assert sum(share.tokens_in for share in shares) == used.total.tokens_in
        assert sum(share.cost for share in shares) == used.total.cost
        assert sum(share.activities for share in shares) == used.total.activities


def test_retries_are_counted_by_attempt_and_step(tmp_path: Path) -> None:
    record(tmp_path, of="v3", refuses=2)
    used = cost(read(tmp_path), "r")
    assert [(share.name, share.activities) for share in used.attempts] == [("1", 4), ("2", 1), ("3", 1)]
    assert [share.name for share in used.roles] == ["planner", "tdd", "impl"]
    assert {share.name: share.cost for share in used.steps}["node.scaffold"] == 3 * USED.cost


OUT = Usage(1000, 10, 0.0, cached=900, unpriced=1010)


def test_usage_of_an_outage_counts_and_an_unknown_price_stays_unknown() -> None:
    out = Unavailable(id="out", ts=NOW, act="root:work#1.1", why="rate", usage=OUT)
    done = Exited(id="done", ts=NOW, act="root:work#1.1", envelope=Envelope("Ready"), usage=Usage(5, 5, 0.25))
    used = cost(written(out, TimerFired(id="over", ts=NOW, timer=OUTAGE), done), "r")
    assert (used.total.tokens_in, used.total.cost, used.total.cached, used.total.unpriced) == (1005, 0.25, 900, 1010)
    assert [(share.name, share.activities) for share in used.attempts] == [("1", 1)]
    assert [price(share.cost, share.unpriced) for share in used.steps] == ["0.25 USD + unknown"]


def test_conversations_are_grouped_by_their_beginning() -> None:
    began = SessionStarted(id="s", ts=NOW, act="root:work#1.1", session="talk")
    out = Unavailable(id="out", ts=NOW, act="root:work#1.1", why="rate", usage=OUT)
    assert [share.name for share in cost(written(began, out), "r").conversations] == ["new"]
    gone_on = written(began, out, TimerFired(id="over", ts=NOW, timer=OUTAGE))
    assert [share.name for share in cost(gone_on, "r").conversations] == ["new"], "an outage begins no other"


def test_unreported_usage_is_unknown(capsys: pytest.CaptureFixture[str]) -> None:
    run = Scenario(load("waterfall"), {"stories": items("US-1")})
    run.says("pass_bdd", "bdd", complexity="S", parallel_tasks=0)
    used = cost(played(run), "r")
    assert (used.total.untold, used.total.activities) == (1, 2), "the second one is still at work"
    assert (used.unknown.activities, used.unknown.tokens) == (1, 0)
    print_cost(used)
    told = capsys.readouterr().out
    assert "0.00" not in told
    assert [line for line in told.splitlines() if line.startswith("###")] == ["### By step"], "only the time is known"
    assert len([line for line in told.splitlines() if "nknown" in line]) == 1, "unknowns are one line"


def test_a_price_has_its_currency_and_unknown_ones_name_their_agent() -> None:
    out = Unavailable(id="out", ts=NOW, act="root:work#1.1", why="rate", usage=OUT)
    used = cost(written(out), "r", {"worker": "codex"})
    assert used.currency == "USD"
    assert (used.unknown.activities, used.unknown.tokens, used.unknown.agents) == (0, 1010, ("codex",))


# What steps were expected to use, beside what they have used.


def worked(run: Scenario, at: str, exit_: str, usage: Usage, fails: tuple[str, ...] = ()) -> None:
    """An agent's step, with what it has used."""
    act = run.activity(at)
    fields: dict[str, Routed] = {"complexity": "S", "parallel_tasks": 0} if exit_ == "pass_bdd" else {}
    envelope = Envelope(exit_, "", fields, f"ref:{act}")
    run.happens(Exited(id=f"{act}:x", ts=0, act=act, envelope=envelope, usage=usage)).checked(act, fails)


@pytest.mark.parametrize(
    ("usage", "verdict"),
    [
        (Usage(), "unknown"),
        (Usage(100, 50), "below"),
        (Usage(3000, 1000), "within"),
        (Usage(9000, 1000), "above"),
    ],
)
def test_a_step_is_compared_with_its_estimate(usage: Usage, verdict: str) -> None:
    run = Scenario(load("waterfall"), {"stories": items("US-1")})
    worked(run, "bdd", "pass_bdd", usage)
    bdd, _, total = estimates(played(run))
    assert (bdd.step, bdd.instances, bdd.verdict) == ("story.bdd", 1, verdict)
    assert (bdd.read_low, bdd.read_high, bdd.written_low, bdd.written_high) == (2000, 4000, 500, 1500)
    assert (bdd.tokens_in, bdd.tokens_out) == (usage.tokens_in, usage.tokens_out)
    assert (total.step, total.tokens_in) == ("total", usage.tokens_in)


def test_trying_again_is_used_but_not_expected_and_every_story_counts() -> None:
    run = Scenario(load("waterfall"), {"stories": items("US-1", "US-2")})
    worked(run, "root/US-1:bdd", "pass_bdd", Usage(3000, 1000), fails=("schema",))
    worked(run, "root/US-1:bdd", "pass_bdd", Usage(3000, 1000))
    worked(run, "root/US-2:bdd", "pass_bdd", Usage(2000, 500))
    bdd = estimates(played(run))[0]
    assert (bdd.instances, bdd.read_low, bdd.read_high) == (2, 4000, 8000)
    assert (bdd.tokens_in, bdd.tokens_out, bdd.verdict) == (8000, 2500, "within")


def test_a_protocol_without_estimates_shows_none() -> None:
    assert estimates(written()) == ()
