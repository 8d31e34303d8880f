"""Budgets, through the commands: who has used what it may is stopped, a person is asked, and nothing is guessed."""

import json
from pathlib import Path

import pytest

from tests.cli.chores import Chores
from tests.cli.treadle import Outcome, treadle

DID = {"type": "Did", "summary": "swept"}


@pytest.fixture(autouse=True)
def chores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Chores:
    found = Chores(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    return found


def run(limit: str, *, protocol: str = "decide", **turn: object) -> Outcome:
    """A run with a limit, of an agent that uses something."""
    usage = {"tokens_in": 500, "cached": 400, "tokens_out": 1}
    Path("spends.yaml").write_text(json.dumps({"agents": [{"turns": [{"usage": usage, **turn}]}]}))
    return treadle("run", "chore.yaml", "-p", protocol, "--agent", "scripted:spends.yaml", "--set", limit)


def test_an_agent_that_uses_more_than_one_may_is_stopped_and_gets_as_much_again_if_a_person_says_so() -> None:
    stopped = run("limits.step_tokens=400", misbehave="hang")
    assert stopped.code == 3
    assert "sweep-1 asks: A budget is spent" in stopped.out
    assert "\n  > root:work#1.1 has used 501 of 400 tokens that one agent may use\n" in stopped.out
    assert "sweep-1 asks: A budget is spent" in treadle("status").out
    assert "root:work#1.1 led to it: worker, held up" in treadle("status").out
    again = treadle("answer", "sweep-1", "continue", "--resume")
    assert (again.code, "sweep-1 asks: A budget is spent" in again.out) == (3, True)
    told = treadle("status", "--json").json()
    assert (told["usage"]["tokens_in"], told["activities"][0]["attempt"]) == (1000, 1)


def test_an_agent_that_answers_in_time_is_believed_whatever_it_has_used() -> None:
    assert run("limits.step_tokens=400", exit=DID).code == 0


def test_the_budget_of_a_day_holds_for_all_runs_together() -> None:
    assert run("limits.day_tokens=500", exit=DID).code == 0
    second = run("limits.day_tokens=500", exit=DID)
    assert (second.code, "sweep-1-2 asks: A budget is spent" in second.out) == (3, True)
    assert "> all runs together have used 501 of 500 tokens that they may use on 2" in second.out
    assert not list(Path(".treadle/local/runs/sweep-1-2").glob("acts/*/work.json")), "nothing was started"
    assert treadle("answer", "sweep-1-2", "continue", "--resume").code == 0


def test_a_run_that_has_used_its_tokens_asks() -> None:
    result = run("limits.tokens=500", protocol="ask", exit=DID)
    assert (result.code, "sweep-1 asks: The run has used its tokens" in result.out) == (3, True)
    assert "It has used 501 so far. The price of 501 tokens is not known." in result.out
    told = treadle("status", "--json").json()
    assert (told["limits"]["tokens"], told["limits"]["granted"]) == (500, 1)
    assert "used: 500 tokens in (400 of the cache), 1 out of 500, cost unknown\n" in treadle("status").out
    assert "A person is asked beyond 500 tokens." in treadle("cost", "sweep-1").out
    assert treadle("answer", "sweep-1", "run!limit", "continue").code == 0
    assert treadle("status", "--json").json()["limits"]["tokens"] == 1000


def test_a_price_that_nobody_has_told_is_unknown_and_not_nothing(chores: Chores) -> None:
    run("limits.cost=5.0", exit=DID)
    said = treadle("cost", "sweep-1").out
    assert "| worker | 1 | 500 | 80 % | 1 | unknown | " in said
    assert "Nobody has told the price of 501 tokens: no cost and no limit in money counts them." in said
    total = treadle("cost", "sweep-1", "--json").json()["total"]
    assert (total["cost"], total["unpriced"], total["cached"]) == (0.0, 501, 400)
    assert "cost unknown" in treadle("show", "sweep-1", "root:work#1.1").out
    shown = chores.on_terminal("cost", "sweep-1", columns=80)
    for word in ("Conversation", "Tokens in", "80 %", "unknown"):
        assert word in shown, "on 80 columns nothing is folded"
