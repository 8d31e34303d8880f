"""`treadle say`: plain words that move a run, whether somebody drives it or nobody does."""

from datetime import datetime
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.cli.chores import Chores, until
from tests.cli.treadle import status, treadle
from tests.fakes import StillClock
from treadle.config.project import Project
from treadle.config.projects import Projects
from treadle.engines.client import Client
from treadle.store.sqlite import opened_store
from treadle.talk.speaker import Speaker, take_up_here


@pytest.fixture
def chores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Chores:
    found = Chores(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    return found


def start(*arguments: str, protocol: str = "ask", spec: str = "chore.yaml") -> None:
    assert treadle("run", spec, "-p", protocol, "--agent", "scripted:did.yaml", *arguments).code == 3


@pytest.mark.usefixtures("chores")
def test_at_level_one_every_continue_is_one_step() -> None:
    start("--level", "1")
    asked = treadle("say", "status")
    assert "go sweep-1 work --resume\n" in asked.out
    shown = treadle("status", "sweep-1").out
    assert asked.out.splitlines()[1:] == shown.splitlines()[1:], "the answer is what the command prints"
    went = treadle("say", "Continue,", "please!")
    assert went.code == 3
    assert went.out.splitlines()[:2] == ["work may start", "root: work · worker"]
    assert "Is it done?\n" in went.out


@pytest.mark.usefixtures("chores")
def test_a_question_is_answered_by_an_action_or_by_the_name_of_a_choice() -> None:
    start()
    wrong = treadle("say", "approv")
    assert (wrong.code, wrong.out, wrong.error) == (2, "", "say.unclear")
    assert "'approve'" in wrong.err
    skip = treadle("say", "skip")
    assert (skip.code, skip.error) == (2, "answer.unknown")
    assert "  retry  once more" in skip.err
    again = treadle("say", "retry: with the other broom")
    assert again.code == 3
    assert again.out.startswith("Is it done?: retry\n")
    done = treadle("say", "OK")
    assert (done.code, status("sweep-1")["outcome"]) == (0, "Finished")
    assert "retry" in treadle("log", "sweep-1").out
    assert "Finished" in treadle("say", "continue").out
    late = treadle("say", "reject: all wrong")
    assert (late.code, late.out, late.error) == (2, "", "run.ended")


def test_a_sentence_that_is_repeated_after_a_crash_is_done_once(chores: Chores) -> None:
    start()
    crashed = Speaker(Projects({}), Project(chores.root), settle=lambda _project, _store, _run: None)
    assert crashed.hear("retry: the corners too").moved, "posted, and nobody has taken it up"
    assert treadle("say", "retry: the corners too").code == 3
    (asked,) = status("sweep-1")["questions"]
    assert asked["id"] == "root:confirm#2.1", "one more attempt, not two"


def test_a_note_reaches_the_next_agent(chores: Chores) -> None:
    start("--level", "1")
    assert treadle("say", "note: mind the corners").code == 0
    assert treadle("say", "continue").code == 3
    (prompt,) = (chores.root / ".treadle/local/runs").glob("*/acts/*/bundle/prompt.md")
    assert "mind the corners" in prompt.read_text()


def test_say_addresses_the_unfinished_run_of_a_project(chores: Chores) -> None:
    start()
    start()
    assert treadle("abort", "sweep-1-2").code == 0
    assert Speaker(Projects({}), Project(chores.root)).hear("status").run == "sweep-1"


@pytest.mark.usefixtures("chores")
def test_a_sentence_that_fits_several_parts_is_refused() -> None:
    start(protocol="fan", spec="chores.yaml")
    either = treadle("say", "accept")
    assert either.code == 2
    assert "\n  accept dishes\n  accept floor" in either.err
    gone = treadle("say", "abort")
    assert "abort everything" in gone.err
    assert (either.error, gone.error) == ("say.ambiguous", "say.ambiguous")
    unknown = treadle("say", "accept flor")
    assert (unknown.error, "'flor'" in unknown.err) == ("say.unknown", True)
    assert treadle("say", "accept flor", "--json").json()["code"] == "say.unknown"
    one = treadle("say", "accept the floor")
    assert (one.code, one.out.startswith("Is it done?: accept\n")) == (3, True)
    assert "floor: Done" in treadle("say", "status").out
    end = treadle("say", "accept dishes")
    assert (end.code, status("all")["outcome"]) == (0, "Finished")


@pytest.mark.usefixtures("chores")
def test_continue_lists_the_work_in_a_persons_hands_once_and_waits_for_it() -> None:
    assert treadle("run", "chores.yaml", "-p", "fan", "--level", "0").code == 3
    told = treadle("say", "continue")
    assert told.code == 3, "only a person can move it"
    assert told.out.count("  treadle show all 'root/floor:work#1.1' --prompt\n") == 1
    assert told.out.count("is yours: ") == 2
    asked = treadle("say", "status")
    assert (asked.code, "floor: work · yours" in asked.out) == (0, True)


def let_go(chores: Chores) -> None:
    """An agent is to work, and nobody drives the run: as after a crash."""
    treadle("run", "chore.yaml", "-p", "ask", "--agent", "scripted:did.yaml", "--level", "1")
    with opened_store(Project(chores.root)) as store:
        Client(Project(chores.root), store).go("sweep-1", "work", at="root")
        take_up_here(Project(chores.root), store, "sweep-1")


def test_an_agent_without_a_driver_waits_for_resume(chores: Chores) -> None:
    let_go(chores)
    assert "`treadle resume sweep-1`" in treadle("say", "status").out
    assert status("sweep-1")["driver"] == ""
    result = treadle("say", "status", "--json").json()["result"]
    assert result == {"type": "dispatched", "step": "work", "attempt": 1, "story": ""}


def test_a_timeout_that_passed_without_a_driver_is_shown(chores: Chores, monkeypatch: pytest.MonkeyPatch) -> None:
    let_go(chores)
    (busy,) = status("sweep-1")["activities"]
    assert busy["overdue"] is False
    due = int(datetime.fromisoformat(busy["due"]).timestamp() * 1000)
    monkeypatch.setattr("treadle.engines.client.SystemClock", lambda: StillClock(due))
    monkeypatch.setattr("treadle.engines.status.time", SimpleNamespace(time_ns=lambda: due * 1_000_000))
    since = f"{busy['due'][:10]} {busy['due'][11:19]} UTC"
    for words in (("say", "status"), ("status",)):
        said = treadle(*words).out
        assert [text for text in ("root:work#1.1", since) if text not in said] == []
    assert status("sweep-1")["activities"][0]["overdue"] is True


def test_stop_pauses_a_run_that_could_move_and_continue_resumes_it(chores: Chores) -> None:
    let_go(chores)
    stopped = treadle("say", "stop for today")
    assert (stopped.code, stopped.out.splitlines()[0]) == (0, "asked sweep-1 to pause")
    assert treadle("say", "status", "--json").json()["result"]["type"] == "blocked"
    assert treadle("say", "continue").code == 3
    assert status("sweep-1")["status"] == "asks"


@pytest.mark.usefixtures("chores")
def test_exit_codes_are_those_that_are_written_down() -> None:
    start()
    said = {words: treadle("say", words).code for words in ("status", "help", "continue", "contniue", "stop for today")}
    assert said == {"status": 0, "help": 0, "continue": 3, "contniue": 2, "stop for today": 0}
    assert treadle("say", "--json", "continue").code == 3
    assert treadle("say", "--json", "contniue").code == 2
    assert treadle("say", "abort everything").code == 1, "it has ended, but not as it was meant to"
    assert {words: treadle("say", words).code for words in ("status", "continue", "approve")} == {
        "status": 0,
        "continue": 1,
        "approve": 2,
    }


@pytest.mark.usefixtures("chores")
def test_of_several_runs_one_is_named() -> None:
    start("--name", "one")
    start("--name", "two")
    both = treadle("say", "status")
    assert (both.code, both.out.count(" asks: Is it done?")) == (0, 2)
    either = treadle("say", "accept")
    assert (either.error, "\n  approve two\n  approve one" in either.err) == ("run.ambiguous", True)
    treadle("say", "accept one")
    assert (status("one")["outcome"], status("two")["outcome"]) == ("Finished", "")
    treadle("say", "accept")
    assert status("two")["outcome"] == "Finished"


@pytest.mark.usefixtures("chores")
def test_programs_get_the_result_of_a_dispatch() -> None:
    start()
    asked = treadle("say", "--json", "continue").json()
    assert (asked["understood"], asked["result"]["type"]) == (True, "needs_human")
    sayable = asked["text"].rpartition("You can say:")[2].split("\n")
    assert [line.split()[0] for line in sayable if line] == ["accept", "retry", "abort"]
    assert treadle("say", "--json", "frobnicate").json()["understood"] is False
    done = treadle("say", "--json", "accept").json()
    assert done["result"]["type"] == "done"
    assert done["run"] == "sweep-1"


def test_a_sentence_reaches_a_run_that_another_process_drives(chores: Chores) -> None:
    with chores.background("run", "chore.yaml", "-p", "ask", "--agent", f"command:{chores.root / 'agent.py'}"):
        until(chores.agents, "the agent is at work")
        busy = treadle("say", "continue", "--json")
        assert (busy.code, busy.json()["result"]["type"]) == (0, "dispatched")
        stopped = treadle("say", "Stop for today")
        assert (stopped.code, "root: work · paused" in stopped.out) == (0, True)
        assert status("sweep-1")["status"] == "paused"
        assert treadle("say", "continue").code == 0
        assert status("sweep-1")["status"] == "works"
        chores.release()
        until(lambda: " asks: Is it done?" in treadle("say", "status").out, "it asks")


def test_a_sentence_can_name_its_project_from_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    for name in ("cart-app", "cellar"):
        (tmp_path / name).mkdir()
        Chores(tmp_path / name)
        monkeypatch.chdir(tmp_path / name)
        assert treadle("projects", "add").code == 0
        taken = treadle("projects", "add", "--name", "continue")
        assert (taken.error, "'continue'" in taken.err) == ("project.name", True)
        start()
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    listed = treadle("projects", "list", "--json").json()
    assert {it["name"]: it["folder"] for it in listed["projects"]} == {
        name: str(tmp_path / name) for name in ("cart-app", "cellar")
    }
    assert treadle("projects", "add", str(tmp_path / "cellar"), "--name", "wine").code == 0
    both = treadle("say", "status")
    assert both.out.count(" asks: Is it done?") == 2, "a folder with two names is one project"
    assert [line for line in both.out.splitlines() if line in ("cart-app:", "cellar:")] == ["cart-app:", "cellar:"]
    ways = {
        "approve": "\n  cart-app: approve\n  cellar: approve",
        "approve c": "'c' could be cart-app, cellar",
        "continue nope": "'nope'",
        "continue ar": "\n  cart-app: continue\n  cellar: continue\n",
    }
    for words, way in ways.items():
        unclear = treadle("say", words)
        assert (unclear.code, unclear.error, way in unclear.err) == (2, "say.ambiguous", True), unclear
    assert treadle("say", "cellar: continue").code == 3, "what is proposed can be said"
    one = treadle("say", "accept ca")
    assert (one.code, one.out.split()[-1]) == (0, "Finished")
    assert " asks: " in treadle("say", "status cellar").out
    assert treadle("projects", "remove", "cart-app").code == 0
    wrong = treadle("projects", "remove", "celar")
    assert (wrong.error, "'cellar'" in wrong.err) == ("project.unknown", True)
    assert "cart-app" not in treadle("projects", "list").out


def test_two_projects_at_once_do_not_wait_for_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    found = {}
    for name in ("cart-app", "blog"):
        (tmp_path / name).mkdir()
        found[name] = Chores(tmp_path / name)
        monkeypatch.chdir(tmp_path / name)
        treadle("projects", "add")
        agent = f"command:{tmp_path / name / 'agent.py'}"
        assert treadle("run", "chore.yaml", "-p", "ask", "--agent", agent, "--level", "1").code == 3
    cart, blog = found.values()
    with cart.background("say", "continue cart-app") as one, cart.background("say", "blog: continue") as other:
        until(lambda: cart.agents() and blog.agents(), "both are at work")
        assert "root: work · worker" in treadle("say", "status cart-app").out
        blog.release()
        assert other.wait(60) == 3
        assert one.poll() is None, "the other one goes on"
        cart.release()
        assert one.wait(60) == 3
    assert treadle("say", "status").out.count(" asks: Is it done?") == 1, "here it is the blog"
    assert treadle("say", "cart-app: accept").out.split()[-1] == "Finished"
    assert " asks: " in treadle("say", "status blog").out


def test_help_lists_the_phrases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    told = treadle("say", "help")
    assert (told.code, "30 seconds, others OK" in told.out) == (0, True)
    assert treadle("say", "continue").error == "project.missing"
    assert treadle("projects", "list", "--json").json()["projects"] == []
