"""Purity, replay, the hash chain, snapshots, recovery, upgrade."""

from collections.abc import Callable

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kernel.protocols import BATCH, TREE, WORK_AND_REVIEW, need
from treadle.errors import IllegalEvent, ReplayDivergence
from treadle.kernel.commands import AskHuman, Done, Notify, RunAgent, RunChecks, RunEffect, SetTimer
from treadle.kernel.events import Event, Upgraded
from treadle.kernel.reduce import outstanding, reduce
from treadle.kernel.replay import GENESIS, Row, decode_event, encode_event, fold, link, verify_chain
from treadle.kernel.state import State, dump_state, load_state
from treadle.protocol.model import Protocol
from treadle.testing.scenario import Scenario, items


def recorded(events: list[Event]) -> list[Row]:
    log, last = [], GENESIS
    for body in map(encode_event, events):
        last = link(last, body)
        log.append((body, last))
    return log


@st.composite
def walks(draw: st.DrawFn) -> Scenario:
    """A random walk through one of the small protocols."""
    start: Callable[[], Scenario] = draw(
        st.sampled_from(
            [
                lambda: Scenario(WORK_AND_REVIEW),
                lambda: Scenario(TREE),
                lambda: Scenario(BATCH, {"cycles": items("a", "b", "c"), "parallel": 2}),
            ]
        )
    )
    run = start()
    for _ in range(draw(st.integers(0, 25))):
        if run.state.outcome:
            break
        _move(run, draw)
    return run


def _move(run: Scenario, draw: st.DrawFn) -> None:
    if not run.open():
        for inst in sorted(run.state.insts):
            run.signals("resume", to=inst)
        return
    command = draw(st.sampled_from(run.open()))
    match command:
        case RunAgent() | RunEffect():
            step = run.protocol.graphs[command.graph].steps[command.step]
            exit_ = draw(st.sampled_from([*step.exits, "Nonsense"]))
            keys = draw(st.lists(st.sampled_from("abcd"), unique=True, max_size=4))
            run.claims(exit_, command.id, parts=items(*keys))
        case RunChecks():
            checks = [check.name for check in run.state.acts[command.id].checks]
            run.checked(command.id, draw(st.sets(st.sampled_from(checks or ["none"]))))
        case AskHuman():
            run.answers(draw(st.sampled_from(command.choices)), command.id)
        case SetTimer():
            run.fires(command.id)
    if draw(st.booleans()):
        run.signals(draw(st.sampled_from(["Shift", "pause", "resume", "abort", "Probe"])), to=draw(_someone(run)))


def _someone(run: Scenario) -> st.SearchStrategy[str]:
    return st.sampled_from(sorted(run.state.insts))


@given(walks())
@settings(max_examples=150)
def test_replay_gives_the_same_state_and_leaves_old_ones_alone(run: Scenario) -> None:
    state, images = State(), []
    states = []
    for event in run.log:
        states.append(state)
        images.append(dump_state(state))
        state, _ = reduce(run.protocol, state, event)
    assert state == run.state
    assert [dump_state(old) for old in states] == images
    assert fold(run.protocol, verify_chain(recorded(run.log))) == run.state


@given(walks(), st.data())
@settings(max_examples=100)
def test_a_snapshot_continues_like_the_original(run: Scenario, data: st.DataObject) -> None:
    cut = data.draw(st.integers(1, len(run.log)))
    state = State()
    for event in run.log[:cut]:
        state, _ = reduce(run.protocol, state, event)
    again = load_state(dump_state(state))
    assert again == state
    for event in run.log[cut:]:
        state, first = reduce(run.protocol, state, event)
        again, second = reduce(run.protocol, again, event)
        assert first == second
    assert dump_state(again) == dump_state(state)


@given(walks())
@settings(max_examples=100)
def test_outstanding_holds_every_command_that_was_issued_and_not_settled(run: Scenario) -> None:
    ids = [command.id for command in outstanding(run.state)]
    assert len(set(ids)) >= len(run.state.acts)
    if run.state.outcome:
        assert outstanding(run.state) == (Done(id="run", outcome=run.state.outcome),)
    else:
        timers = {id_ for id_ in run.state.timers if id_ not in run.state.acts}
        people = {id_ for id_, ask in run.state.asks.items() if ask.command}
        assert set(ids) == set(run.state.acts) | timers | people


@given(walks())
@settings(max_examples=50)
def test_events_survive_being_stored(run: Scenario) -> None:
    assert [decode_event(encode_event(event)) for event in run.log] == run.log


def test_a_changed_event_is_named() -> None:
    run = Scenario(WORK_AND_REVIEW).says("Ready").says("Good")
    log = recorded(run.log)
    log[2] = (encode_event(msgspec.structs.replace(run.log[2], ts=5)), log[2][1])
    with pytest.raises(ReplayDivergence, match="event 3 "):
        fold(run.protocol, verify_chain(log))


def test_a_run_of_other_semantics_is_refused() -> None:
    start = msgspec.structs.replace(Scenario(WORK_AND_REVIEW).log[0], semantics=99)
    with pytest.raises(IllegalEvent, match="semantics 99"):
        reduce(WORK_AND_REVIEW, State(), start)


def _renamed() -> Protocol:
    graph = WORK_AND_REVIEW.graphs["main"]
    steps = {"inspect" if name == "review" else name: step for name, step in graph.steps.items()}
    return msgspec.structs.replace(WORK_AND_REVIEW, graphs={"main": msgspec.structs.replace(graph, steps=steps)})


MAPPED = {"main.review": "inspect"}


def test_an_upgrade_moves_positions() -> None:
    run = Scenario(WORK_AND_REVIEW).signals("pause").says("Ready")
    state, _ = reduce(_renamed(), run.state, Upgraded(id="u", ts=0, protocol="new", steps=MAPPED))
    assert (state.protocol, state.insts["root"].frames[0].step) == ("new", "inspect")


def _needy() -> Protocol:
    graph = WORK_AND_REVIEW.graphs["main"]
    work = msgspec.structs.replace(graph.steps["work"], needs=(need("plan.Plan"),))
    steps = {**graph.steps, "work": work}
    return msgspec.structs.replace(WORK_AND_REVIEW, graphs={"main": msgspec.structs.replace(graph, steps=steps)})


@pytest.mark.parametrize(
    ("new", "steps", "exits", "why"),
    [
        (_renamed(), {}, ["Ready"], "the new protocol has no step main.review"),
        (_renamed(), MAPPED, ["Ready"], "main.review is busy and cannot become inspect now"),
        (_needy(), {}, [], "main.work needs plan.Plan"),
    ],
)
def test_an_upgrade_that_does_not_fit_is_refused(
    new: Protocol, steps: dict[str, str], exits: list[str], why: str
) -> None:
    run = Scenario(WORK_AND_REVIEW)
    for exit_ in exits:
        run.says(exit_)
    state, commands = reduce(new, run.state, Upgraded(id="u", ts=0, protocol="new", steps=steps))
    assert state.protocol == "digest"
    assert [command.detail for command in commands if isinstance(command, Notify)] == [why]
