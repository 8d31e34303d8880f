"""An agent's service that cannot be used: why, and what ends it."""

from typing import Final

import msgspec

from treadle.kernel.advance import OUTAGE, is_out, is_stopped
from treadle.kernel.events import Outages
from treadle.kernel.state import State
from treadle.views.moment import moment, plain

WORDS: Final[dict[Outages, str]] = {
    "rate": "its service takes no more requests for now",
    "quota": "its quota is used up",
    "overload": "its service is overloaded",
    "network": "its service cannot be reached",
    "billing": "its service wants to be paid",
    "login": "its login is refused",
    "budget": "a budget is spent",
}


class Out(msgspec.Struct, frozen=True, kw_only=True):
    """A service that cannot be used: the run waits, and no attempt is lost."""

    why: Outages
    code: str
    """`outage.quota` and the like."""
    until: str
    """When the run goes on by itself; empty: a person has to see to it."""
    said: str
    """What the agent's program says about it."""


def outage(state: State, said: str) -> Out | None:
    """What is out at the moment, and what is said about it; None if nothing is."""
    if state.outage is None or not is_out(state):
        return None
    return Out(
        why=state.outage.why, code=f"outage.{state.outage.why}", until=moment(state.timers.get(OUTAGE, 0)), said=said
    )


def held(state: State) -> str:
    """The same, in a line, for those who are held up by it."""
    why = WORDS[state.outage.why] if state.outage else "its service is out"
    if until := plain(moment(state.timers.get(OUTAGE, 0))):
        return f"held up, {why}; goes on at {until}"
    return f"held up, {why}; {'a person is asked' if is_stopped(state) else 'it is over, but a person has paused it'}"
