"""Budgets, through the commands: who has used what it may is stopped, a person is asked, and nothing is guessed."""

import json
from pathlib import Path

import pytest

from tests.cli.chores import Chores
from tests.cli.treadle import Outcome, status, treadle

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


def test_an_agent_that_exceeds_its_tokens_is_stopped_and_gets_as_many_again_if_a_person_says_so() -> None:
    stopped = run("limits.step_tokens=400", misbehave="hang")
    assert (stopped.code, "501 of 400 tokens" in stopped.out) == (3, True)
    now = status("sweep-1")
    assert (now["outage"]["why"], len(now["questions"])) == ("budget", 1)
    assert "root:work#1.1" in treadle("status").out
    again = treadle("answer", "sweep-1", "continue", "--resume")
    now = status("sweep-1")
    assert (again.code, now["outage"]["why"], len(now["questions"])) == (3, "budget", 1)
    assert (now["usage"]["tokens_in"], now["activities"][0]["attempt"]) == (1000, 1)


def test_an_answer_in_time_counts_even_over_the_token_limit() -> None:
    assert run("limits.step_tokens=400", exit=DID).code == 0


def test_the_budget_of_a_day_holds_for_all_runs_together() -> None:
    assert run("limits.day_tokens=500", exit=DID).code == 0
    second = run("limits.day_tokens=500", exit=DID)
    assert (second.code, status("sweep-1-2")["outage"]["why"]) == (3, "budget")
    assert "501 of 500 tokens" in second.out
    assert not list(Path(".treadle/local/runs/sweep-1-2").glob("acts/*/work.json")), "nothing was started"
    assert treadle("answer", "sweep-1-2", "continue", "--resume").code == 0


def test_a_run_that_has_used_its_tokens_asks() -> None:
    result = run("limits.tokens=500", protocol="ask", exit=DID)
    assert result.code == 3
    now = status("sweep-1")
    assert "run!limit" in [question["id"] for question in now["questions"]]
    assert (now["limits"]["tokens"], now["limits"]["granted"]) == (500, 1)
    assert (now["usage"]["tokens_in"], now["usage"]["cached"], now["usage"]["tokens_out"]) == (500, 400, 1)
    assert "cost unknown" in treadle("status").out
    assert "500 tokens" in treadle("cost", "sweep-1").out
    assert treadle("answer", "sweep-1", "run!limit", "continue").code == 0
    assert status("sweep-1")["limits"]["tokens"] == 1000


def test_a_limit_that_cannot_stop_the_agent_is_named_when_the_run_begins() -> None:
    warning, begins = run("limits.cost=5.0", exit=DID).err.splitlines()
    named = ("scripted:spends.yaml", "`limits.cost`", "`limits.tokens`", "`prices.scripted = ")
    assert [text for text in named if text not in warning] == []
    assert "sweep-1" in begins
    assert "cost unknown of 5.00\n" in treadle("status", "sweep-1").out
    assert "cost unknown\n" in treadle("evidence", "sweep-1").out


@pytest.mark.parametrize(
    "otherwise",
    [["limits.tokens=0"], ["limits.cost=5.0", "prices.scripted='2 in, 10 out'"], ["limits.tokens=900"]],
)
def test_limits_that_can_stop_the_agent_give_no_warning(otherwise: list[str]) -> None:
    words = [word for one in otherwise[1:] for word in ("--set", one)]
    assert run(otherwise[0], *words, exit=DID).err == "treadle: run sweep-1 begins\n"


def test_a_price_of_the_settings_has_a_limit_in_money_stop_the_run() -> None:
    result = run("limits.cost=0.0001", "--set", "prices.scripted='2 in, 10 out'", protocol="ask", exit=DID)
    assert result.code == 3
    assert "run!limit" in [question["id"] for question in status("sweep-1")["questions"]]


def test_an_agent_without_usage_reports_can_be_stopped_by_time_alone() -> None:
    def warning(*limits: str) -> str:
        words = [word for limit in limits for word in ("--set", limit)]
        return treadle("run", "chore.yaml", "-p", "decide", "--agent", "command:true", *words).err.splitlines()[0]

    without = warning("limits.cost=1", "limits.tokens=9")
    assert [text for text in ("command:true", "`limits.cost` and `limits.tokens`") if text not in without] == []
    assert without.endswith("set `limits.wall`")
    assert warning("limits.cost=1", "limits.tokens=9", "limits.wall=8h").endswith("but `limits.wall` can")


def test_a_price_that_the_agent_did_not_report_is_unknown_and_not_zero(chores: Chores) -> None:
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
