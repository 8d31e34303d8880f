"""Limits that do not see what an agent uses."""

import re
from pathlib import Path

import pytest

from treadle.agents.registry import AgentSetup, parse_runner
from treadle.config.settings import EffectiveSetting, EffectiveSettings
from treadle.engines.limits import find_ineffective_limits
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
    settings = EffectiveSettings(
        {key.replace("__", "."): EffectiveSetting(key.replace("__", "."), value) for key, value in said.items()}  # type: ignore[arg-type]
    )
    able = {agent: parse_runner(agent, AgentSetup(root=Path("/"))).abilities}
    return [str(blind) for blind in find_ineffective_limits(settings.config(), limits or Limits(), able)]


@pytest.mark.parametrize("agent", TELLING)
def test_each_agent_declares_the_usage_that_it_reports(agent: str) -> None:
    assert parse_runner(agent, AgentSetup(root=Path("/"))).abilities.tells == TELLING[agent]


def test_without_a_usage_limit_there_is_no_warning() -> None:
    assert [words for agent in TELLING for words in told(agent, limits__wall=60)] == []


def test_no_warning_about_agents_that_report_prices_or_about_people() -> None:
    assert told("claude", limits__cost=1.0) == told("manual", limits__cost=1.0) == []


def test_limits_of_the_protocol_count_and_those_of_the_settings_go_before_them() -> None:
    (warning,) = told("codex", Limits(cost=3.0))
    assert [text for text in ("codex", "`limits.cost`") if text not in warning] == []
    assert told("codex", Limits(cost=3.0), limits__cost=0.0) == []


def test_the_limits_that_can_stop_it_are_named() -> None:
    both = told("gemini", limits__cost=1.0, limits__day_cost=9.0, limits__tokens=5, limits__day_tokens=5)
    assert [re.findall("`(.*?)`", one) for one in both] == [
        ["limits.cost", "limits.day_cost", "limits.tokens", "limits.day_tokens"]
    ]
    one = told("gemini", limits__step_cost=1.0, limits__tokens=5)[0]
    assert re.findall("`(.*?)`", one)[:3] == ["limits.step_cost", "limits.tokens", "limits.step_tokens"]


def test_a_price_of_the_settings_is_one_for_its_agent_alone() -> None:
    price = "1.25 in, 10 out"
    assert told("codex", limits__cost=1.0, prices__codex=price) == []
    assert len(told("gemini", limits__cost=1.0, prices__codex=price)) == 1


def test_an_agent_that_reports_some_prices_is_warned_about_with_may() -> None:
    assert " may not " in told("opencode", limits__cost=1.0)[0]
    assert " may not " not in told("codex", limits__cost=1.0)[0]
