"""Limits that do not see what an agent uses."""

from pathlib import Path

import pytest

from treadle.agents.registry import Surroundings, runner_of
from treadle.config.settings import Setting, Settings
from treadle.engines.unpriced import blind_limits
from treadle.protocol.model import Limits

TELLING = {
    "claude": "prices",
    "codex": "tokens",
    "gemini": "tokens",
    "opencode": "some prices",
    "acp:claude-agent-acp": "prices",
    "acp:codex-acp": "tokens",
    "acp:somebody": "some prices",
    "command:./own": "nothing",
}


def told(agent: str, limits: Limits | None = None, **said: object) -> list[str]:
    settings = Settings({key.replace("__", "."): Setting(key.replace("__", "."), value) for key, value in said.items()})  # type: ignore[arg-type]
    able = {agent: runner_of(agent, Surroundings(root=Path("/"))).abilities}
    return [str(blind) for blind in blind_limits(settings.config(), limits or Limits(), able)]


@pytest.mark.parametrize("agent", TELLING)
def test_each_agent_says_what_it_tells(agent: str) -> None:
    assert runner_of(agent, Surroundings(root=Path("/"))).abilities.tells == TELLING[agent]


def test_without_a_limit_nothing_is_told() -> None:
    assert [words for agent in TELLING for words in told(agent, limits__wall=60)] == []


def test_who_tells_its_prices_is_stopped_and_so_are_people_who_have_none() -> None:
    assert told("claude", limits__cost=1.0) == told("manual", limits__cost=1.0) == []


def test_limits_of_the_protocol_count_and_those_of_the_settings_go_before_them() -> None:
    assert told("codex", Limits(cost=3.0))[0].startswith("codex tells no price, so `limits.cost` cannot stop it")
    assert told("codex", Limits(cost=3.0), limits__cost=0.0) == []


def test_the_limits_that_can_stop_it_are_named() -> None:
    both = told("gemini", limits__cost=1.0, limits__day_cost=9.0, limits__tokens=5, limits__day_tokens=5)
    why = "gemini tells no price, so `limits.cost` and `limits.day_cost` cannot stop it"
    assert both == [f"{why}, but `limits.tokens` and `limits.day_tokens` can"]
    one = told("gemini", limits__step_cost=1.0, limits__tokens=5)[0]
    assert "`limits.step_cost` cannot stop it, but `limits.tokens` can; set `limits.step_tokens`, or tell" in one


def test_a_price_of_the_settings_is_one_for_its_agent_alone() -> None:
    price = "1.25 in, 10 out"
    assert told("codex", limits__cost=1.0, prices__codex=price) == []
    assert len(told("gemini", limits__cost=1.0, prices__codex=price)) == 1


def test_who_may_know_a_price_is_told_of_with_care() -> None:
    assert told("opencode", limits__cost=1.0)[0].startswith("opencode may tell no price, so `limits.cost` may not stop")
