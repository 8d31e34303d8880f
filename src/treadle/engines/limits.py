"""Finds limits that cannot stop an agent, because it does not report the usage that they count."""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

import msgspec

from treadle.config.agents import parse_agent
from treadle.config.model import Config
from treadle.ports import Abilities
from treadle.protocol.model import Limits

_PAIRS: Final = {"cost": "tokens", "step_cost": "step_tokens", "day_cost": "day_tokens"}
"""Limits in money, and the same limits in tokens."""
_WALL: Final = "wall"
_WHY: Final = {
    "tokens": "{} reports no price, so {} cannot stop it",
    "some prices": "{} may report no price, so {} may not stop it",
    "nothing": "{} reports no usage, so {} cannot stop it",
}


class IneffectiveLimit(msgspec.Struct, frozen=True):
    """An agent, and the limits that do not see its usage."""

    words: str
    """The limits that cannot stop it, and those that can."""
    advice: str
    """Settings that would stop it; empty if another limit does for each."""

    def __str__(self) -> str:
        return "; ".join(filter(None, (self.words, self.advice)))


def find_ineffective_limits(config: Config, limits: Limits, agents: Mapping[str, Abilities]) -> list[IneffectiveLimit]:
    """Return the ineffective limits of the agents, by name, under a protocol's limits; people have no price."""
    own, run = config.limits, config.limits.over(limits)
    names = (*_PAIRS, *_PAIRS.values(), _WALL)
    in_force = [name for name in names if getattr(run if hasattr(run, name) else own, name)]
    limits_of = (
        _escaped_limits(agent, able, in_force, config.prices) for agent, able in agents.items() if not able.person
    )
    return [limit for limit in limits_of if limit]


def _escaped_limits(
    agent: str, able: Abilities, in_force: Sequence[str], prices: Collection[str]
) -> IneffectiveLimit | None:
    """Return the limits that an agent escapes; None if it reports all usage, or the settings price its tokens."""
    kind = parse_agent(agent).kind
    if able.tells == "nothing":  # only its time can be limited
        escaped = [name for name in in_force if name != _WALL]
        has_wall = _WALL in in_force
        other = f"but {_join_keys([_WALL])} can" if has_wall else "and its time is not limited either"
        advice = "" if has_wall else f"set {_join_keys([_WALL])}"
    elif able.tells == "prices" or kind in prices:
        return None
    else:
        escaped = [name for name in _PAIRS if name in in_force]
        in_tokens = [name for name in _PAIRS.values() if name in in_force]
        other = f"but {_join_keys(in_tokens)} can" if in_tokens else "and no limit on tokens is set"
        lacking = [_PAIRS[name] for name in escaped if _PAIRS[name] not in in_force]
        advice = ""
        if lacking:
            advice = (
                f"set {_join_keys(lacking)}, or set the price of a million of its tokens, in US dollars: "
                f"`prices.{kind} = '1.25 in, 10 out'` with your own numbers"
            )
    if not escaped:
        return None
    return IneffectiveLimit(f"{_WHY[able.tells].format(agent, _join_keys(escaped))}, {other}", advice)


def _join_keys(names: Sequence[str]) -> str:
    keys = [f"`limits.{name}`" for name in names]
    return " and ".join(filter(None, (", ".join(keys[:-1]), *keys[-1:])))
