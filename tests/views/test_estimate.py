"""What steps were expected to use, beside what they have used."""

import pytest

from tests.views.logs import played, written
from treadle.kernel.events import Envelope, Exited, Usage
from treadle.protocol.items import Routed
from treadle.protocol.load import load
from treadle.testing.scenario import Scenario, items
from treadle.views.estimate import estimates


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
def test_a_step_is_held_against_its_estimate(usage: Usage, verdict: str) -> None:
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


def test_a_protocol_without_estimates_has_none() -> None:
    assert estimates(written()) == ()
