"""Limits that cannot stop an agent, because it does not tell what they count; and which ones do."""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

import msgspec

from treadle.config.agents import parse_agent
from treadle.config.model import Config
from treadle.ports import Abilities
from treadle.protocol.model import Limits

_PAIRS: Final = {"cost": "tokens", "step_cost": "step_tokens", "day_cost": "day_tokens"}
"""A limit in money, and the one that counts the same in tokens."""
_WALL: Final = "wall"
_WHY: Final = {
    "tokens": "{} tells no price, so {} cannot stop it",
    "some prices": "{} may tell no price, so {} may not stop it",
    "nothing": "{} tells nothing of what it uses, so {} cannot stop it",
}


class Blind(msgspec.Struct, frozen=True):
    """An agent, and limits that are set and do not see what it uses."""

    words: str
    """Which limits cannot stop it, and which do."""
    advice: str
    """How it can be stopped all the same; empty: another limit does for each."""

    def __str__(self) -> str:
        return "; ".join(filter(None, (self.words, self.advice)))


def blind_limits(config: Config, limits: Limits, agents: Mapping[str, Abilities]) -> list[Blind]:
    """What is to be told of agents, by name, under a protocol's limits; people have no price."""
    own, run = config.limits, config.limits.over(limits)
    names = (*_PAIRS, *_PAIRS.values(), _WALL)
    in_force = [name for name in names if getattr(run if hasattr(run, name) else own, name)]
    told = (_blind(agent, able, in_force, config.prices) for agent, able in agents.items() if not able.person)
    return [blind for blind in told if blind]


def _blind(agent: str, able: Abilities, in_force: Sequence[str], prices: Collection[str]) -> Blind | None:
    """None if the agent tells all that is limited, or the settings tell what its tokens cost."""
    kind = parse_agent(agent).kind
    if able.tells == "nothing":
        return _silent(agent, in_force)
    unseen = [name for name in _PAIRS if name in in_force]
    if able.tells == "prices" or kind in prices or not unseen:
        return None
    seen = [name for name in _PAIRS.values() if name in in_force]
    other = f"but {_named(seen)} can" if seen else "and no limit on tokens is set"
    lacking = [_PAIRS[name] for name in unseen if _PAIRS[name] not in in_force]
    advice = (
        f"set {_named(lacking)}, or tell what a million of its tokens cost, in US dollars: "
        f"`prices.{kind} = '1.25 in, 10 out'` with your own numbers"
    )
    return Blind(f"{_WHY[able.tells].format(agent, _named(unseen))}, {other}", advice if lacking else "")


def _silent(agent: str, in_force: Sequence[str]) -> Blind | None:
    """Of an agent of which only the time can be limited."""
    unseen = [name for name in in_force if name != _WALL]
    if not unseen:
        return None
    why = _WHY["nothing"].format(agent, _named(unseen))
    if _WALL in in_force:
        return Blind(f"{why}, but {_named([_WALL])} can", "")
    return Blind(f"{why}, and its time is not limited either", f"set {_named([_WALL])}")


def _named(names: Sequence[str]) -> str:
    keys = [f"`limits.{name}`" for name in names]
    return " and ".join(filter(None, (", ".join(keys[:-1]), *keys[-1:])))
