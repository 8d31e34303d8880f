"""`treadle run`: starting, names, settings, exit codes, levels."""

import re
import shutil
import sys
from pathlib import Path

import msgspec
import pytest

from tests.cli.chores import Chores
from tests.cli.treadle import Outcome, status, treadle
from treadle.config.project import Project
from treadle.engines.run_settings import settings_of
from treadle.store.sqlite import opened_store

pytestmark = pytest.mark.usefixtures("chores")


@pytest.fixture
def chores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Chores:
    found = Chores(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    return found


def run(*arguments: str, agent: str = "scripted:did.yaml", protocol: str = "ask") -> Outcome:
    return treadle("run", "chore.yaml", "-p", protocol, "--agent", agent, *arguments)


def test_a_run_that_asks_prints_the_question_and_the_exact_commands() -> None:
    result = run()
    assert result.code == 3
    assert "root: work · worker\n" in result.out
    assert "Is it done?" in result.out
    assert all(f"treadle answer sweep-1 {choice} " in result.out for choice in ("accept", "retry", "abort"))
    assert result.err == "treadle: run sweep-1 begins\n"


@pytest.mark.parametrize(("agent", "code", "outcome"), [("did", 0, "Finished"), ("stuck", 1, "Failed")])
def test_a_good_end_exits_with_0_and_a_bad_one_with_1(agent: str, code: int, outcome: str) -> None:
    result = run(agent=f"scripted:{agent}.yaml", protocol="decide")
    assert (result.code, result.out.split()[-1]) == (code, outcome)
    assert status("sweep-1")["outcome"] == outcome


@pytest.mark.parametrize(
    ("arguments", "code", "named"),
    [
        (["chore.yaml", "-p", "aks"], "protocol.unknown", ["'aks'", "'ask'"]),
        (["-p", "ask"], "spec.missing", ["treadle spec new --protocol ask"]),
        (["nothing.yaml", "-p", "ask"], "spec.missing", ["nothing.yaml"]),
        (["did.yaml", "-p", "ask"], "spec.invalid", ["did.yaml", "ask"]),
        (["chore.yaml", "-p", "ask", "--agent", "wroker=manual"], "agent.unknown_role", ["'wroker'", "'worker'"]),
        (["chore.yaml", "-p", "ask", "--agent", "scripted:no.yaml"], "file.unreadable", ["no.yaml"]),
        (["chore.yaml", "-p", "ask", "--agent", "comand:x"], "agent.unknown", ["'comand'", "'command'"]),
        (["chore.yaml", "-p", "ask", "--agent", "manual", "--name", "../up"], "run.name", ["'../up'"]),
        (
            ["chore.yaml", "-p", "ask", "--agent", "manual", "--set", "limits.agent=3"],
            "config.unknown_key",
            ["limits.agent", "'agents'"],
        ),
    ],
)
def test_a_bad_argument_is_refused_before_the_local_folder_exists(
    chores: Chores, arguments: list[str], code: str, named: list[str]
) -> None:
    result = treadle("run", *arguments)
    assert (result.code, result.error) == (2, code)
    assert [text for text in named if text not in result.err] == []
    assert not (chores.root / ".treadle" / "local").exists()


def test_runs_are_named_after_their_input_and_counted() -> None:
    names = [run("--json", protocol="decide").json()["run"] for _ in range(2)]
    assert names == ["sweep-1", "sweep-1-2"]
    assert run("--name", "mine", "--json", protocol="decide").json()["run"] == "mine"
    again = run("--name", "mine", protocol="decide")
    assert (again.code, again.error, "mine" in again.err) == (2, "run.exists", True)


def test_an_agent_that_gives_no_answer_is_reported_without_the_words_for_agents() -> None:
    silent = treadle("run", "chore.yaml", "-p", "ask", "--agent", "command:true")
    assert silent.code == 3
    for out in (silent.out, treadle("status").out, treadle("log", "sweep-1").out):
        assert "Did or Stuck" in out
        assert not [word for word in ("emit", "````", "you have") if word in out]


def test_programs_read_only_json() -> None:
    told = run("--json").json()
    assert (told["run"], told["outcome"], told["code"]) == ("sweep-1", "", 3)
    assert told["questions"][0]["id"] == "root:confirm#1.1"
    assert [choice["name"] for choice in told["questions"][0]["choices"]] == ["accept", "retry", "abort"]


def test_settings_are_pinned_and_limits_are_those_of_the_settings(chores: Chores) -> None:
    run("--set", "limits.agents=3", "--set", "git.branch_prefix=robot", "--merge", "never")
    (chores.root / "treadle.toml").write_text("[limits]\nagents = 5\n")
    with opened_store(Project(chores.root)) as store:
        settings = settings_of(store.run("sweep-1"))
        assert store.load("sweep-1").protocol.limits.agents == 3
    assert (settings.config.limits.agents, settings.config.git.merge, settings.spec) == (3, "never", "chore.yaml")
    assert settings.agents == {"worker": "scripted:did.yaml"}


def test_the_agent_of_a_role_wins_over_that_for_all() -> None:
    arguments = ("--agent", "worker=scripted:stuck.yaml", "--agent", "scripted:did.yaml")
    assert "Failed" in treadle("run", "chore.yaml", "-p", "decide", *arguments).out


def test_the_default_protocol_is_that_of_the_settings(chores: Chores) -> None:
    (chores.root / "treadle.toml").write_text(
        '[protocol]\ndefault = "decide"\n[agents]\ndefault = "scripted:did.yaml"\n'
    )
    assert treadle("run", "chore.yaml").code == 0


def test_at_level_one_every_agent_waits_for_a_go() -> None:
    result = run("--level", "1", protocol="decide")
    assert (result.code, result.out.splitlines()[-1].strip()) == (3, "treadle go sweep-1 work --resume")
    wrong = treadle("go", "sweep-1", "wrok")
    assert (wrong.code, wrong.error, "'work'" in wrong.err) == (2, "go.unknown", True)
    went = treadle("go", "sweep-1").out
    assert [text for text in ("(root:work#1.1)", "`treadle resume sweep-1`") if text not in went] == []
    assert treadle("go", "sweep-1").error == "go.unknown"
    assert treadle("resume", "sweep-1").code == 0


def test_at_level_zero_a_person_is_the_agent() -> None:
    result = run("--level", "0", protocol="decide")
    assert result.code == 3
    assert "treadle done sweep-1 --exit Did " in result.out
    lane = Path(status("sweep-1")["yours"][0]["lane"])
    assert str(lane) in result.out
    (lane / "swept.txt").write_text("all of it")
    again = treadle("resume", "sweep-1")
    assert (again.code, str(lane) in again.out) == (3, True)
    assert (lane / "swept.txt").read_text() == "all of it", "nothing is taken from under a person"
    wrong = treadle("done", "--exit", "Didd")
    assert (wrong.code, wrong.error) == (2, "result.refused")
    assert [text for text in ("'Didd'", "'Did'") if text not in wrong.err] == []
    assert "summary" in treadle("done", "--exit", "Did").err
    done = treadle("done", "--exit", "Did", "--field", "summary=all of it")
    assert (done.code, status("sweep-1")["outcome"]) == (0, "Finished")
    assert treadle("done", "--exit", "Did").error == "work.none"


def test_the_level_of_a_run_is_changed_on_the_way(chores: Chores) -> None:
    run("--level", "0")
    assert status("sweep-1")["level"] == 0
    assert treadle("level", "1").code == 0
    now = status("sweep-1")
    assert (now["level"], [work["step"] for work in now["yours"]]) == (1, ["work"]), (
        "what was begun by hand is ended by hand"
    )
    assert treadle("done", "--exit", "Did", "--field", "summary=by hand").code == 0
    assert treadle("answer", "sweep-1", "retry").code == 0
    assert [start["step"] for start in status("sweep-1")["starts"]] == ["work"]
    assert treadle("go", "sweep-1", "--resume").code == 3
    assert treadle("level", "2", "sweep-1").code == 0
    assert treadle("retry", "sweep-1", "--resume").code == 3, "by itself, up to the next question"
    assert treadle("say", "level 0").code == 3
    treadle("retry", "sweep-1", "--resume")
    now = status("sweep-1")
    assert (now["level"], [work["step"] for work in now["yours"]]) == (0, ["work"])
    assert "level 1" in treadle("log", "sweep-1").out
    assert [treadle("level", word).code for word in ("3", "x")] == [2, 2]
    (chores.root / "did.yaml").unlink()
    missing = treadle("level", "2")
    assert (missing.code, missing.error, "did.yaml" in missing.err) == (2, "file.unreadable", True)


def test_a_persons_answer_may_be_a_file(chores: Chores) -> None:
    run("--level", "0", protocol="decide")
    (chores.root / "answer.json").write_text('{"type": "Stuck", "why": "no broom"}')
    treadle("done", "sweep-1", "answer.json")
    assert status("sweep-1")["outcome"] == "Failed"


def test_a_note_reaches_the_next_agent(chores: Chores) -> None:
    run(agent="scripted:did.yaml")
    assert treadle("answer", "sweep-1", "retry", "--note", "the corners too", "--resume").code == 3
    prompts = (chores.root / ".treadle/local/runs/sweep-1/acts").glob("*/bundle/prompt.md")
    assert sorted("the corners too" in path.read_text() for path in prompts) == [False, True]


def test_a_repository_without_a_commit_is_refused_before_the_store_exists(chores: Chores) -> None:
    for ref in (chores.root / ".git/refs/heads").iterdir():
        ref.unlink()
    result = run()
    assert (result.code, result.error) == (2, "git.no_commits")
    assert not (chores.root / ".treadle/local/store.db").exists()


def test_on_a_terminal_a_tree_moves(chores: Chores) -> None:
    words = ("run", "chore.yaml", "-p", "decide", "--agent", "command:./agent.py")
    text = chores.on_terminal(*words, release_at="● root")
    assert re.search(r"sweep-1 · decide · \d+ s", text)
    assert "● root" in text
    assert "✔ root" in text
    assert text.split()[-1] == "Finished"


def test_a_name_with_refs_in_the_repository_is_not_used_again(chores: Chores) -> None:
    run()
    shutil.rmtree(chores.root / ".treadle/local")
    assert "sweep-1-2 asks" in run().out
    again = run("--name", "sweep-1")
    assert (again.code, again.error) == (2, "run.exists")


def test_a_protocol_that_runs_tests_needs_to_know_how(chores: Chores) -> None:
    (chores.root / "agent.py").unlink()
    assert treadle("spec", "new", "--protocol", "v3", "spec.yaml").code == 0
    result = treadle("run", "spec.yaml", "--level", "0")
    assert (result.code, result.error, "node.scaffold (unbroken)" in result.err) == (2, "toolchain.unfit", True)
    by_code = treadle("run", "spec.yaml", "--level", "0", "--set", "toolchain.test=pytest")
    assert (by_code.code, 'set `toolchain.kind` to "pytest"' in by_code.err) == (2, True)
    gone = ("--set", "toolchain.kind=pytest", "--set", "toolchain.test=no-such-tool", "--set", "toolchain.lint=none")
    missing = treadle("run", "spec.yaml", "--level", "0", *gone)
    assert (missing.code, missing.error) == (2, "env.missing")
    assert (missing.err.count("'no-such-tool'"), missing.err.count("'none'")) == (1, 1)
    assert not (chores.root / ".treadle/local/store.db").exists()
    there = ("--set", "toolchain.kind=pytest", "--set", f"toolchain.test={sys.executable} -m pytest")
    assert treadle("run", "spec.yaml", "--level", "0", *there, "--set", "toolchain.lint=none").code == 2
    assert treadle("run", "spec.yaml", "--level", "0", *there).code == 3


def test_a_run_that_could_not_reach_the_minimum_grade_is_not_started(chores: Chores) -> None:
    (chores.root / "agent.py").unlink()
    assert treadle("spec", "new", "--protocol", "v3", "spec.yaml").code == 0
    words = ("spec.yaml", "--level", "0", "--set", "toolchain.kind=junit", "--set", "toolchain.test=true {report}")
    refused = treadle("run", *words)
    assert (refused.code, refused.error, 'verification.minimum = "word"' in refused.err) == (2, "toolchain.grade", True)
    assert treadle("run", *words, "--minimum", "observed").error == "toolchain.grade"
    assert not (chores.root / ".treadle/local/store.db").exists()
    assert treadle("run", *words, "--minimum", "word").code == 3
    with opened_store(Project(chores.root)) as store:
        (started,) = store.runs()
        assert settings_of(started).minimum == "word"


def test_a_run_without_a_grade_in_its_settings_keeps_what_it_was_promised(chores: Chores) -> None:
    assert run().code == 3
    with opened_store(Project(chores.root)) as store:
        (started,) = store.runs()
        assert settings_of(started).minimum == "observed"
        config = {name: value for name, value in started.settings["config"].items() if name != "verification"}
        older = msgspec.structs.replace(started, settings={**started.settings, "config": config})
        assert settings_of(older).minimum == "word"


def test_a_spec_that_only_another_protocol_takes_is_refused_with_the_names_of_those_protocols(chores: Chores) -> None:
    result = treadle("run", "chore.yaml", "--level", "0")
    assert (result.code, result.error, "chore.yaml" in result.err, "v3" in result.err) == (
        2,
        "spec.invalid",
        True,
        True,
    )
    assert "valid input for " in result.err
    assert "--protocol ask\n" in result.err
    (chores.root / "bad.yaml").write_text("id: X\nnothing: here\n")
    assert "valid input for" not in treadle("run", "bad.yaml", "--level", "0").err
    assert "valid input for" not in treadle("run", "chore.yaml", "-p", "v3", "--level", "0").err
    (chores.root / "script.yaml").write_text("agents: 3\n")
    broken = treadle("run", "chore.yaml", "--agent", "scripted:script.yaml", "--set", "protocol.default=ask")
    assert (broken.code, broken.error, "valid input for" in broken.err) == (2, "script.invalid", False)
