"""`treadle say`: plain words that move a run, whether somebody drives it or nobody does."""

from datetime import datetime
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.cli.chores import Chores, until
from tests.cli.treadle import treadle
from treadle.config.project import Project
from treadle.config.projects import Projects
from treadle.engines.client import Client
from treadle.engines.opening import opened_store
from treadle.talk.speaking import Speaker, taken_up
from treadle.testing.clock import StillClock


@pytest.fixture
def chores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Chores:
    found = Chores(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    return found


def start(*arguments: str, protocol: str = "ask", spec: str = "chore.yaml") -> None:
    assert treadle("run", spec, "-p", protocol, "--agent", "scripted:did.yaml", *arguments).code == 3


def test_at_level_one_every_continue_is_one_step(chores: Chores) -> None:
    start("--level", "1")
    asked = treadle("say", "status")
    assert "Next is work, continue?" in asked.out
    went = treadle("say", "Continue,", "please!")
    assert went.code == 3
    assert went.out.splitlines()[:2] == ["Received.", f"{chores.root.name}: work is at work"]
    assert "work complete ✓" in went.out
    assert "needs you: Is it done?" in went.out


@pytest.mark.usefixtures("chores")
def test_a_question_is_answered_by_an_action_or_by_the_name_of_a_choice() -> None:
    start()
    wrong = treadle("say", "approv")
    assert (wrong.code, wrong.out) == (2, "")
    assert "did you mean 'approve'?" in wrong.err
    skip = treadle("say", "skip")
    assert skip.code == 2
    assert "nothing that is open can be answered with 'skip'" in skip.err
    assert "  retry  once more" in skip.err
    again = treadle("say", "retry: with the other broom")
    assert again.code == 3
    assert "Received: confirm: retry." in again.out
    done = treadle("say", "OK")
    assert (done.code, "has ended with Finished" in done.out) == (0, True)
    assert "retry" in treadle("log", "sweep-1").out
    assert "has ended with Finished" in treadle("say", "continue").out
    late = treadle("say", "reject: all wrong")
    assert (late.code, late.out) == (2, "")
    assert "sweep-1 has ended with Finished: nothing waits for that" in late.err


def test_of_a_project_the_run_that_goes_on_is_told(chores: Chores) -> None:
    start()
    start()
    assert treadle("abort", "sweep-1-2").code == 0
    assert Speaker(Projects({}), Project(chores.root)).standing(Project(chores.root)).facts.run == "sweep-1"


@pytest.mark.usefixtures("chores")
def test_of_several_that_could_be_meant_none_is_taken() -> None:
    start(protocol="fan", spec="chores.yaml")
    either = treadle("say", "accept")
    assert either.code == 2
    assert "several things wait for that; say which:\n  accept dishes\n  accept floor" in either.err
    gone = treadle("say", "abort")
    assert "what is to be given up? Say which:" in gone.err
    assert "abort everything" in gone.err
    assert (either.error, gone.error) == ("say.ambiguous", "say.ambiguous")
    unknown = treadle("say", "accept flor")
    assert (unknown.error, "'flor'" in unknown.err) == ("say.unknown", True)
    assert treadle("say", "accept flor", "--json").json()["code"] == "say.unknown"
    one = treadle("say", "accept the floor")
    assert (one.code, "Received: floor confirm: accept." in one.out, "floor all complete ✓" in one.out) == (
        3,
        True,
        False,
    )
    end = treadle("say", "accept dishes")
    assert (end.code, "all has ended with Finished" in end.out) == (0, True)
    assert "✅ floor, dishes" in end.out


@pytest.mark.usefixtures("chores")
def test_what_a_person_has_in_hand_is_told_once_and_waited_for() -> None:
    assert treadle("run", "chores.yaml", "-p", "fan", "--level", "0").code == 3
    told = treadle("say", "continue")
    assert told.code == 3, "only a person can move it"
    assert "is at work" not in told.out
    assert told.out.count("is yours: `treadle show all 'root/floor:work#1.1' --prompt`") == 1
    assert told.out.count("is yours: ") == 2
    status = treadle("say", "status")
    assert (status.code, "▶ floor: work" in status.out) == (0, True)


def let_go(chores: Chores) -> None:
    """An agent is to work, and nobody drives the run: as after a crash."""
    treadle("run", "chore.yaml", "-p", "ask", "--agent", "scripted:did.yaml", "--level", "1")
    with opened_store(Project(chores.root)) as store:
        Client(Project(chores.root), store).go("sweep-1", "work", at="root")
        taken_up(Project(chores.root), store, "sweep-1")


def test_an_agent_that_nobody_drives_waits_and_is_not_at_work(chores: Chores) -> None:
    let_go(chores)
    assert f'work waits, for nobody drives sweep-1; say "continue {chores.root.name}"' in treadle("say", "status").out
    serving = Speaker(Projects({}), Project(chores.root), drives=lambda _: True)
    assert "work is at work" in serving.hear("status").text


def test_a_time_that_was_up_while_nobody_drove_is_told(chores: Chores, monkeypatch: pytest.MonkeyPatch) -> None:
    let_go(chores)
    (busy,) = treadle("status", "sweep-1", "--json").json()["activities"]
    assert busy["overdue"] is False
    due = int(datetime.fromisoformat(busy["due"]).timestamp() * 1000)
    monkeypatch.setattr("treadle.engines.client.SystemClock", lambda: StillClock(due))
    monkeypatch.setattr("treadle.cli.situation.time", SimpleNamespace(time_ns=lambda: due * 1_000_000))
    since, root = f"{busy['due'][:10]} {busy['due'][11:19]} UTC", chores.root.name
    told = treadle("say", "status").out
    assert f'the time of work was up at {since}, and nobody drives sweep-1; say "continue {root}"' in told
    assert f"nobody drives it, and the time of root:work#1.1 was up at {since}" in treadle("status").out
    serving = Speaker(Projects({}), Project(chores.root), drives=lambda _: True)
    assert "work is at work" in serving.hear("status").text, "whoever drives it looks at the time"


def test_who_stops_for_today_hears_of_nobody_at_work_where_nobody_drives(chores: Chores) -> None:
    let_go(chores)
    stopped = Speaker(Projects({}), Project(chores.root)).hear("stop for today").text
    assert "still at work" not in stopped
    assert "is paused" in treadle("say", "status").out


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
    assert (both.code, both.out.count("needs you: Is it done?")) == (0, 2)
    either = treadle("say", "accept")
    assert "several runs go on; say which:\n  approve two\n  approve one" in either.err
    assert "one has ended with Finished" in treadle("say", "accept one").out
    assert "two has ended with Finished" in treadle("say", "accept").out


@pytest.mark.usefixtures("chores")
def test_programs_get_the_result_of_a_dispatch() -> None:
    start()
    asked = treadle("say", "--json", "continue").json()
    assert (asked["understood"], asked["result"]["type"]) == (True, "needs_human")
    assert treadle("say", "--json", "frobnicate").json()["understood"] is False
    done = treadle("say", "--json", "accept").json()
    assert done["result"]["type"] == "done"
    assert done["run"] == "sweep-1"


def test_a_run_that_another_process_drives_takes_it_up(chores: Chores) -> None:
    with chores.background("run", "chore.yaml", "-p", "ask", "--agent", f"command:{chores.root / 'agent.py'}"):
        until(chores.agents, "the agent is at work")
        busy = treadle("say", "continue")
        assert (busy.code, busy.out) == (0, f"Received.\n{chores.root.name}: work is at work\n")
        stopped = treadle("say", "Stop for today")
        assert stopped.code == 0
        assert "work is still at work and may end; nothing new starts" in stopped.out
        assert "paused" in treadle("say", "status").out
        went = treadle("say", "continue")
        assert went.out.startswith("Received.\n")
        assert "paused" not in treadle("say", "status").out
        chores.release()
        until(lambda: "needs you" in treadle("say", "status").out, "it asks")


def test_projects_are_spoken_to_by_name_from_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    for name in ("cart-app", "cellar"):
        (tmp_path / name).mkdir()
        Chores(tmp_path / name)
        monkeypatch.chdir(tmp_path / name)
        assert treadle("projects", "add").code == 0
        assert "'continue' is something that is said" in treadle("projects", "add", "--name", "continue").err
        start()
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    listed = treadle("projects", "list", "--json").json()
    assert {it["name"]: it["folder"] for it in listed["projects"]} == {
        name: str(tmp_path / name) for name in ("cart-app", "cellar")
    }
    assert treadle("projects", "add", str(tmp_path / "cellar"), "--name", "wine").code == 0
    both = treadle("say", "status")
    assert both.out.count("needs you: Is it done?") == 2, "a folder with two names is one project"
    assert [line for line in both.out.splitlines() if line in ("cart-app:", "cellar:")] == ["cart-app:", "cellar:"]
    assert "say which project:\n  cart-app: approve\n  cellar: approve" in treadle("say", "approve").err
    assert "'c' could be cart-app, cellar; say which" in treadle("say", "approve c").err
    assert "there is no project 'nope' here; say which project:" in treadle("say", "continue nope").err
    meant = treadle("say", "continue ar")
    assert meant.code == 2
    assert "'ar' could be cart-app, cellar; say which:\n  cart-app: continue\n  cellar: continue\n" in meant.err
    assert treadle("say", "cellar: continue").code == 3, "what is proposed can be said"
    one = treadle("say", "accept ca")
    assert (one.code, "cart-app: sweep-1 has ended with Finished" in one.out) == (0, True)
    assert "needs you" in treadle("say", "status cellar").out
    assert treadle("projects", "remove", "cart-app").code == 0
    assert "did you mean" in treadle("projects", "remove", "celar").err
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
        assert "work is at work" in treadle("say", "status cart-app").out
        blog.release()
        assert other.wait(60) == 3
        assert one.poll() is None, "the other one goes on"
        cart.release()
        assert one.wait(60) == 3
    assert treadle("say", "status").out.count("needs you: Is it done?") == 1, "here it is the blog"
    assert "cart-app: sweep-1 has ended with Finished" in treadle("say", "cart-app: accept").out
    assert "needs you" in treadle("say", "status blog").out


def test_help_lists_what_can_be_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    told = treadle("say", "help")
    assert (told.code, "30 seconds, others OK" in told.out) == (0, True)
    assert "none is registered; `treadle projects add`" in treadle("say", "continue").err
    assert treadle("projects", "list", "--json").json()["projects"] == []
    assert "no project is registered yet" in treadle("projects", "list").out
