"""An ended run goes on at its last merge if the branch that it was for has moved, and takes no other event."""

import pytest

from tests.views.trial import NOW, Trial, approved, merged
from treadle.kernel.events import Event, Exited, Reopened, Signalled
from treadle.kernel.instances import last_merge
from treadle.kernel.reduce import outstanding, reduce
from treadle.kernel.state import State
from treadle.protocol.load import load
from treadle.runtime.claims import envelope_of

AGAIN = Reopened(id="again", ts=NOW + 100_000)


def effect(trial: Trial, act: str, exit_: str, **fields: str) -> Exited:
    envelope = envelope_of(trial.protocol, exit_, dict(fields), trial.payloads)
    return Exited(id=f"{act} ends", ts=NOW + 200_000, act=act, envelope=envelope, channel="effect")


def test_the_root_is_rebased_and_merged_once_more() -> None:
    trial = merged()
    assert trial.log.state.outcome == "Merged"
    state = trial.happens(AGAIN).log.state
    assert (state.outcome, state.live, [*state.acts]) == ("", 1, ["root:rebase#1.1"])
    assert "root" not in trial.log.gone
    trial.happens(effect(trial, "root:rebase#1.1", "RebaseClean", newBase="b" * 40))
    state = trial.log.state
    assert [*state.acts] == ["root:merge#2.1"]
    done = {"mergeCommit": "d" * 40, "newParentHead": "d" * 40, "impactLevel": "Trivial"}
    envelope = envelope_of(trial.protocol, "MergeComplete", {**done, "changes": []}, trial.payloads)
    trial.happens(Exited(id="m", ts=NOW + 300_000, act="root:merge#2.1", envelope=envelope, channel="effect"))
    state = trial.log.state
    assert (state.outcome, state.live, len(outstanding(state))) == ("Merged", 0, 1)
    assert trial.criterion().standing == "verified"
    assert "moved" in trial.evidence().decisions[-1].choice


@pytest.mark.parametrize("event", [AGAIN, Signalled(id="x", ts=NOW + 1, inst="root", name="ContextShift")])
def test_an_unfinished_run_is_not_reopened_and_an_ended_one_takes_no_other_event(event: Event) -> None:
    trial = approved() if event is AGAIN else merged()
    state = trial.log.state
    assert reduce(trial.protocol, state, event) == (state, ())


@pytest.mark.parametrize("protocol", ["v3", "fractal", "dptr", "riper", "waterfall"])
def test_every_protocol_rebases_its_root(protocol: str) -> None:
    graph = load(protocol).graphs[load(protocol).root]
    assert [it.step for it in graph.handlers.values() if graph.steps[it.step].effect == "rebase"] == ["rebase"]


def test_a_run_without_events_is_not_reopened() -> None:
    assert last_merge(load("riper"), State()) == ("", "")


def test_an_aborted_run_is_not_reopened() -> None:
    trial = approved()
    trial.happens(Signalled(id="x", ts=NOW + 100_000, inst="root", name="abort"))
    state = trial.log.state
    assert reduce(trial.protocol, state, AGAIN) == (state, ())
