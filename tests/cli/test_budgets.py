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


def run(limit: str, *words: str, protocol: str = "decide", **turn: object) -> Outcome:
    """A run with a limit, of an agent that uses something."""
    usage = {"tokens_in": 500, "cached": 400, "tokens_out": 1}
    Path("spends.yaml").write_text(json.dumps({"agents": [{"turns": [{"usage": usage, **turn}]}]}))
    return treadle("run", "chore.yaml", "-p", protocol, "--agent", "scripted:spends.yaml", "--set", limit, *words)


def test_an_agent_that_uses_more_than_one_may_is_stopped_and_gets_as_much_again_if_a_person_says_so() -> None:
    stopped = run("limits.step_tokens=400", misbehave="hang")
    assert stopped.code == 3
    assert "sweep-1 asks: A budget is spent" in stopped.out
    assert "\n  > root:work#1.1 has used 501 of 400 tokens that one agent may use\n" in stopped.out
    assert "sweep-1 asks: A budget is spent" in treadle("status").out
    assert "root:work#1.1 led to it: worker, held up" in treadle("status").out
    again = treadle("answer", "sweep-1", "continue", "--resume")
    assert (again.code, "sweep-1 asks: A budget is spent" in again.out) == (3, True)
    told = treadle("status", "sweep-1", "--json").json()
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
    told = treadle("status", "sweep-1", "--json").json()
    assert (told["limits"]["tokens"], told["limits"]["granted"]) == (500, 1)
    assert "used: 500 tokens in (400 of the cache), 1 out of 500, cost unknown\n" in treadle("status").out
    assert "A person is asked beyond 500 tokens." in treadle("cost", "sweep-1").out
    assert treadle("answer", "sweep-1", "run!limit", "continue").code == 0
    assert treadle("status", "sweep-1", "--json").json()["limits"]["tokens"] == 1000


def test_a_limit_that_cannot_stop_the_agent_is_told_when_the_run_begins() -> None:
    said = run("limits.cost=5.0", exit=DID).err
    assert said == (
        "treadle: scripted:spends.yaml tells no price, so `limits.cost` cannot stop it, and no limit on tokens is set; "
        "set `limits.tokens`, or tell what a million of its tokens cost, in US dollars: "
        "`prices.scripted = '1.25 in, 10 out'` with your own numbers\ntreadle: run sweep-1 begins\n"
    )
    assert "1 out, cost unknown of 5.00\n" in treadle("status", "sweep-1").out
    assert "500 tokens in, 1 out, cost unknown\n" in treadle("evidence", "sweep-1").out


@pytest.mark.parametrize(
    "otherwise",
    [["limits.tokens=0"], ["limits.cost=5.0", "prices.scripted='2 in, 10 out'"], ["limits.tokens=900"]],
)
def test_nothing_is_told_of_limits_that_hold(otherwise: list[str]) -> None:
    words = [word for one in otherwise[1:] for word in ("--set", one)]
    assert run(otherwise[0], *words, exit=DID).err == "treadle: run sweep-1 begins\n"


def test_a_price_of_the_settings_has_a_limit_in_money_stop_the_run() -> None:
    result = run("limits.cost=0.0001", "--set", "prices.scripted='2 in, 10 out'", protocol="ask", exit=DID)
    assert (result.code, "sweep-1 asks: The run has used its" in result.out) == (3, True)


def test_who_tells_nothing_is_stopped_by_time_alone() -> None:
    def told(*limits: str) -> str:
        words = [word for limit in limits for word in ("--set", limit)]
        return treadle("run", "chore.yaml", "-p", "decide", "--agent", "command:true", *words).err.splitlines()[0]

    why = "treadle: command:true tells nothing of what it uses, so `limits.cost` and `limits.tokens` cannot stop it, "
    assert told("limits.cost=1", "limits.tokens=9") == f"{why}and its time is not limited either; set `limits.wall`"
    assert told("limits.cost=1", "limits.tokens=9", "limits.wall=8h") == f"{why}but `limits.wall` can"


def test_a_price_that_nobody_has_told_is_unknown_and_not_nothing(chores: Chores) -> None:
    run("limits.cost=5.0", exit=DID)
    said = treadle("cost", "sweep-1").out
    assert "| worker | 1 | 500 | 80 % | 1 | ? | " in said
    assert len([line for line in said.splitlines() if "nknown" in line]) == 1, "unknowns are one line"
    used = treadle("cost", "sweep-1", "--json").json()
    assert used["unknown"]["tokens"] == 501
    total = used["total"]
    assert (total["cost"], total["unpriced"], total["cached"]) == (0.0, 501, 400)
    assert "cost unknown" in treadle("show", "sweep-1", "root:work#1.1").out
    shown = chores.on_terminal("cost", "sweep-1", columns=80)
    for word in ("Conversation", "Tokens in", "80 %", "Unknown"):
        assert word in shown, "on 80 columns nothing is folded"
