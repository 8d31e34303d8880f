"""The bank of random runs: after every event it is whole, and says what the state says."""

from random import Random
from typing import Any

import pytest

from tests.views.bank.banked import DPTR, RIPER
from treadle.kernel.commands import RunAgent
from treadle.kernel.events import Event
from treadle.kernel.reduce import reduce
from treadle.kernel.replay import encode_event
from treadle.kernel.state import State
from treadle.protocol.artifacts import SECTIONS, sections
from treadle.protocol.model import Protocol
from treadle.simulate.world import Ledger, RandomWorld
from treadle.views.bank import VIEWS, bank, decisions, run_of, state_of
from treadle.views.chronicle import Chronicle

MODES = {
    "riper": {"Ω₁ᴾ", "Ω₂ᴬ", "Ω₃ᴾ", "Ω₄ᶜ", "Ω₅ᵀ", "Ω₆ⱽ"},
    "dptr": {"Ω₁ᴰ", "Ω₁ᶜ", "Ω₂ˢ", "Ω₂ᶜ", "Ω₃ᴱ", "Ω₃", "Ω₄ᴿ"},
}
STAGES = set(
    """test impl qa_validation de_validation qa_cross_review de_cross_review interface_check integration_test
    fold""".split()
)
"""What a refactoring goes through, and what comes after it in the same cycle."""


def nothing(_ref: str) -> None:
    """Nobody has said anything."""


@pytest.mark.parametrize("protocol", [RIPER, DPTR], ids=lambda it: str(it.name))
@pytest.mark.parametrize("seed", range(6))
def test_after_every_event(protocol: Protocol, seed: int) -> None:
    world, state, ledger, course = (
        RandomWorld(protocol, Random(seed), 0.2),
        State(),
        Ledger(),
        Chronicle(lambda _: protocol),
    )
    event: Event | None = world.start()
    count = 0
    while event is not None and count < 600:
        before, (state, commands) = state, reduce(protocol, state, event)
        ledger.enter(event, commands)
        if state is not before:
            course.take(encode_event(event))
            _says_what_is_so(protocol, course)
            if count % 20 == 0 or state.outcome:
                _is_whole(course)
        count += 1
        event = None if state.outcome else world.next(state, ledger, "wild")
    assert course.state == state


def _says_what_is_so(protocol: Protocol, course: Chronicle) -> None:
    told: dict[str, Any] = state_of(protocol, course, nothing, decisions(protocol, course, nothing))
    running = [act.command for act in course.state.acts.values() if act.phase == "running"]
    roles = {it.role for it in running if isinstance(it, RunAgent)}
    assert (told["qa_agent_active"], told["de_agent_active"]) == ("qa" in roles, "de" in roles)
    assert told["Ω_current"] in MODES[protocol.name]
    assert told["tdd_mode"] == bool(told["current_cycle"])
    if protocol is RIPER:
        assert not (told["qa_agent_active"] and told["de_agent_active"])
        assert {it for it in told["refactor_stage"] if "@" not in it} <= STAGES


def _is_whole(course: Chronicle) -> None:
    for view, text in zip(VIEWS, bank(course, nothing).values(), strict=False):
        assert run_of(text) == course.state.run
        assert [one.name for one in sections(text) if one.number] == list(SECTIONS[view])
