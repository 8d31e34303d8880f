"""`treadle doctor` on this machine, with programs, repositories and stores of our own making."""

import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.box import box_here
from tests.cli.treadle import treadle
from treadle.cli.health.tools import is_treadles
from treadle.store.migrations import migrate


def git(folder: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=True).stdout


def program(root: Path, name: str, script: str) -> None:
    path = root.parent / "bin" / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "not for doctors")
    monkeypatch.delenv("TREADLE_SET", raising=False)
    place = tmp_path / "root"
    place.mkdir()
    (tmp_path / "bin").mkdir()
    git(place, "init", "-q")
    git(place, "-c", "user.name=x", "-c", "user.email=x@y", "commit", "-q", "--allow-empty", "-m", "first")
    monkeypatch.chdir(place)
    return place


def told() -> dict[str, Any]:
    return {it["what"]: it for it in treadle("doctor", "--json").json()["lines"]}


def test_a_healthy_project(root: Path) -> None:
    (root / "treadle.toml").write_text('[toolchain]\nkind = "junit"\ntest = "make test"\n')
    program(root, "make", "echo GNU Make 9")
    before = sorted(root.rglob("*"))
    found = treadle("doctor")
    assert (found.code, found.err) == (0, "")
    for start in (
        "ok      git ",
        "ok      SQLite ",
        "ok      repository ",
        "ok      store ",
        "ok      toolchain test ",
    ):
        assert f"\n{start}" in f"\n{found.out}"
    assert found.out.endswith("\n\nEverything that is needed is there; what is absent is optional.\n")
    assert [it for it in sorted(root.rglob("*")) if ".git" not in it.parts] == [
        it for it in before if ".git" not in it.parts
    ]


def test_every_line_that_is_not_well_says_what_to_do() -> None:
    assert all(it["fix"] for it in told().values() if it["state"] != "ok")


def test_outside_of_a_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    found = treadle("doctor")
    assert found.code == 0
    assert "this folder is in none" in found.out
    assert list((tmp_path / "empty").iterdir()) == []


def test_an_old_git_is_not_enough(root: Path) -> None:
    program(root, "git", "echo git version 2.37.9")
    found = treadle("doctor")
    assert found.code == 1
    assert "2.37.9, but 2.38 is needed" in found.out
    assert "needed and missing: git" in found.out


def test_a_test_tool_that_is_missing_is_fatal(root: Path) -> None:
    commands = 'kind = "junit"\ntest = "no-such-tool test"\nlint = "no-such-linter"\n'
    (root / "treadle.toml").write_text(f"[toolchain]\n{commands}")
    found = treadle("doctor")
    assert found.code == 1
    lines = told()
    assert all(lines[f"toolchain {name}"]["code"] == "env.missing" for name in ("test", "lint"))
    assert all(lines[f"toolchain {name}"]["required"] for name in ("test", "lint")), "the settings name both"


def test_a_module_that_is_missing_is_told_with_its_cure(root: Path) -> None:
    program(root, "python3", 'echo "No module named pytest"; exit 1')
    (root / "treadle.toml").write_text('[toolchain]\ntest = "python3 -m pytest"\n')
    line = told()["toolchain test"]
    assert (line["state"], line["fix"]) == ("missing", "python3 -m pip install pytest")


def test_modules_are_looked_for_where_checks_would_find_them(root: Path) -> None:
    program(root, "python3", 'test -n "$PYTHONNOUSERSITE" || { echo pytest 9; exit 0; }; echo "No module"; exit 1')
    (root / "treadle.toml").write_text('[toolchain]\ntest = "python3 -m pytest"\n')
    assert told()["toolchain test"]["state"] == "missing", "what is installed for one user is not seen by checks"


def test_what_the_checks_of_the_default_protocol_lack_is_missing(root: Path) -> None:
    program(root, "python3", "echo pytest 9")
    (root / "treadle.toml").write_text('[toolchain]\ntest = "python3 -m pytest"\n')
    found = treadle("doctor")
    assert (found.code, "needed and missing: checks of v3\n" in found.out) == (1, True)
    line = told()["checks of v3"]
    assert "node.scaffold (contract_exists) asks which tests there are" in line["detail"]
    assert line["fix"].startswith('set `toolchain.kind` to "pytest"')
    (root / "treadle.toml").write_text('[protocol]\ndefault = "dptr"\n[toolchain]\ntest = "python3 -m pytest"\n')
    assert treadle("doctor").code == 0


def test_a_default_protocol_that_is_not_there_is_told_with_the_rest(root: Path) -> None:
    (root / "treadle.toml").write_text('[protocol]\ndefault = "mine"\n[toolchain]\ntest = "true"\n')
    line = told()["protocol mine"]
    assert (line["state"], line["required"]) == ("missing", True)
    assert told()["toolchain test"]["state"] == "ok"


def test_a_default_protocol_with_a_mistake_stops_nothing(root: Path) -> None:
    assert treadle("protocol", "new", "mine").code == 0
    path = root / ".treadle" / "protocols" / "mine" / "protocol.yaml"
    path.write_text(path.read_text().replace(" red", " no_such_check"))
    (root / "treadle.toml").write_text('[protocol]\ndefault = "mine"\n[toolchain]\ntest = "true"\n')
    assert "no_such_check" in path.read_text()
    assert told()["toolchain test"]["state"] == "ok"


@pytest.mark.parametrize(
    ("file", "advice"), [("", "in treadle.toml (`treadle init` writes one"), ("#", "in treadle.toml")]
)
def test_init_is_recommended_only_where_it_has_not_been(root: Path, file: str, advice: str) -> None:
    if file:
        (root / "treadle.toml").write_text(file)
    fix = told()["checks of v3"]["fix"]
    assert fix.startswith(f"set `toolchain.test` {advice}")
    assert ("init" in fix) == (not file)


def test_what_the_projects_files_tell_is_tried_too(root: Path) -> None:
    program(root, "go", "echo go version go9")
    (root / "go.mod").write_text("module example.com/x\n")
    assert told()["toolchain test"]["detail"].startswith("go version go9")


@pytest.mark.skipif(sys.prefix == sys.base_prefix, reason="this Python is everybody's")
def test_treadles_own_python_is_not_the_projects(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "treadle.toml").write_text('[toolchain]\nkind = "pytest"\ntest = "python -m pytest"\n')
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:/usr/bin:/bin")
    line = told()["toolchain test"]
    assert (line["state"], "which is Treadle's own environment" in line["detail"]) == ("warn", True)
    assert "`{root}/.venv/bin/python -m pytest`" in line["fix"]
    assert not is_treadles(sys.executable, Path(sys.prefix).parent), "the environment of the project is the project's"
    assert not is_treadles("/usr/bin/python3", root)


def test_without_git_nothing_is_said_that_only_git_knows(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(root.parent / "bin"))
    found = told()
    assert (found["git"]["detail"], "repository" in found, "store" in found) == ("not found", False, True)


def test_without_any_sandbox(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(root.parent / "bin"))
    found = told()
    line = found["sandbox of checks"]
    assert line["detail"] == "no sandbox: network and files are within reach"
    assert line["fix"].startswith("apt install bubblewrap")
    line = found["sandbox of agents"]
    assert (line["state"], line["detail"].partition(";")[0]) == ("warn", "none: there is no program 'bwrap'")
    assert line["fix"].startswith("`apt install bubblewrap`")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ('box = "on"', "agents cannot be put in a box: there is no program 'bwrap'"),
        ('network = "none"', "agents cannot be kept from the network without a box: there is no program 'bwrap'"),
        ('network = "none"\nbox = "off"', "without a box: the settings want none"),
    ],
)
def test_a_box_that_the_settings_ask_for(settings: str, said: str, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "treadle.toml").write_text(f"[workspace]\n{settings}\n")
    monkeypatch.setenv("PATH", str(root.parent / "bin"))
    line = told()["sandbox of agents"]
    assert (line["state"], line["required"]) == ("missing", True)
    assert said in line["detail"]
    assert "`apt install bubblewrap`" in line["fix"]


def test_the_box_of_agents(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    box_here(monkeypatch)
    assert told()["sandbox of agents"] == {
        "what": "sandbox of agents",
        "state": "ok",
        "detail": "bubblewrap: writes only to its scope, own processes, its network",
        "fix": "",
        "required": False,
        "code": "doctor.ok",
    }
    (root / "treadle.toml").write_text('[workspace]\nbox = "off"\n')
    line = told()["sandbox of agents"]
    assert (line["state"], line["code"]) == ("warn", "box.off")


def test_a_script_of_the_project_is_found_and_not_started(root: Path) -> None:
    (root / "run.sh").write_text("#!/bin/sh\ntouch started\n")
    (root / "run.sh").chmod(0o755)
    (root / "treadle.toml").write_text('[toolchain]\ntest = "./run.sh --all"\n')
    assert told()["toolchain test"]["state"] == "ok"
    assert not (root / "started").exists()


def test_agents_tell_their_version_without_the_users_keys(root: Path) -> None:
    program(root, "claude", f'env > {root.parent}/seen; echo "2.1.325 (Claude Code)"')
    line = told()["agent claude"]
    assert (line["state"], line["detail"].split(" (/")[0]) == ("ok", "2.1.325 (Claude Code)")
    seen = (root.parent / "seen").read_text()
    assert "not for doctors" not in seen
    assert "ANTHROPIC_API_KEY" not in seen
    assert "HOME=/tmp" in seen or f"HOME={root.parent}" not in seen


def test_a_version_is_found_below_complaints(root: Path) -> None:
    program(root, "codex", "echo 'WARNING: proceeding without aliases' >&2; echo codex-cli 0.166.0")
    assert told()["agent codex"]["detail"].split(" (/")[0] == "codex-cli 0.166.0"


def test_an_agent_that_the_settings_name_needs_a_login(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(root, "codex", "echo codex-cli 0.166.0")
    (root / "treadle.toml").write_text('[agents]\ndefault = "codex"\n')
    for name in ("CODEX_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    line = told()["agent codex"]
    assert (line["state"], line["detail"].endswith("no login or key is found")) == ("warn", True)
    assert "`treadle agents try codex` shows whether it works" in line["fix"]
    monkeypatch.setenv("CODEX_API_KEY", "any")
    assert told()["agent codex"]["state"] == "ok"


def test_without_a_box_it_says_what_agents_have_of_their_own(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "treadle.toml").write_text('[agents]\ndefault = "codex"\ntdd = "gemini"\nimpl = "command:./x"\n')
    monkeypatch.setenv("PATH", str(root.parent / "bin"))
    said = "codex has its own sandbox, gemini has its own rules; changes outside of the scope are found afterwards"
    assert told()["sandbox of agents"]["detail"] == f"none: there is no program 'bwrap'; {said}"


def test_an_agent_that_the_settings_name_is_required(root: Path) -> None:
    assert told()["agent codex"]["required"] is False
    agents = '[agents]\ntdd = "codex"\nimpl = "command:no-such-agent -x"\n'
    (root / "treadle.toml").write_text(f'{agents}[toolchain]\nkind = "junit"\ntest = "true"\n')
    found = treadle("doctor")
    assert found.code == 1
    assert "needed and missing: agent codex, agent command:no-such-agent -x\n" in found.out
    program(root, "codex", "exit 7")
    assert told()["agent codex"]["state"] == "warn"


def test_limits_that_cannot_stop_an_agent_of_the_settings(root: Path) -> None:
    assert "limits" not in told()
    (root / "treadle.toml").write_text('[agents]\ndefault = "codex"\n[limits]\ncost = 5.0\n')
    line = told()["limits"]
    assert (line["state"], line["detail"]) == (
        "warn",
        "codex tells no price, so `limits.cost` cannot stop it, and no limit on tokens is set",
    )
    assert line["fix"].startswith("set `limits.tokens`, or tell what a million of its tokens cost")
    with (root / "treadle.toml").open("a") as file:
        file.write("tokens = 100000\n")
    assert (told()["limits"]["state"], told()["limits"]["detail"].split(", ")[-1]) == ("ok", "but `limits.tokens` can")
    with (root / "treadle.toml").open("a") as file:
        file.write('[prices]\ncodex = "1.25 in, 10 out"\n')
    assert "limits" not in told()


def test_a_bubblewrap_that_may_not_work(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(root.parent / "bin"))
    program(root, "bwrap", "exit 1")
    line = told()["sandbox of checks"]
    assert (line["state"], line["required"]) == ("warn", False)


def test_a_sandbox_that_works(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(root.parent / "bin"))
    program(root, "bwrap", "exit 0")
    line = told()["sandbox of checks"]
    assert (line["state"], line["detail"].partition(":")[0]) == ("ok", "bubblewrap")


def test_mistakes_in_the_settings_are_fatal_and_hide_nothing_else(root: Path) -> None:
    (root / "treadle.toml").write_text("[limits]\nagent = 1\n")
    found = treadle("doctor")
    assert found.code == 1
    assert "treadle.toml:2: limits.agent" in found.out
    assert found.out.count("treadle.toml  ") == 1
    assert "git" in found.out


def test_a_repository_without_a_commit(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "new").mkdir()
    git(root / "new", "init", "-q")
    monkeypatch.chdir(root / "new")
    assert treadle("doctor").code == 1
    assert told()["repository"]["detail"] == "there is no commit to start from"


def store(root: Path) -> Path:
    path = root / ".treadle" / "local" / "store.db"
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def test_a_store_that_is_well(root: Path) -> None:
    db = sqlite3.connect(store(root), isolation_level=None)
    migrate(db)
    db.close()
    assert told()["store"]["detail"].startswith("readable, version ")


@pytest.mark.parametrize(
    "content", [b"not a database, but long enough to look like one" * 40, b"SQLite format 3\0" + b"x" * 4000]
)
def test_a_store_that_is_none(root: Path, content: bytes) -> None:
    store(root).write_bytes(content)
    line = told()["store"]
    assert (line["state"], line["required"]) == ("missing", True)
    assert store(root).read_bytes() == content


def test_a_store_of_a_later_version(root: Path) -> None:
    db = sqlite3.connect(store(root), isolation_level=None)
    migrate(db)
    db.execute("PRAGMA user_version = 999")
    db.close()
    line = told()["store"]
    assert "999" in line["detail"]
    assert line["fix"] == "upgrade treadle (nothing has been changed)"


def test_what_was_left_behind(root: Path) -> None:
    worktrees = root / ".treadle" / "local" / "worktrees"
    (worktrees / "lane-1").mkdir(parents=True)
    git(root, "worktree", "add", "-q", str(worktrees / "known"))
    assert told()["left behind"]["state"] == "ok"
    (root / ".git" / "index.lock").touch()
    assert told()["locks"]["state"] == "warn"
    (root / ".git" / "index.lock").unlink()
    (worktrees / "known").rename(root.parent / "moved")
    assert told()["worktrees"]["fix"] == "git worktree prune"


def test_a_branch_in_the_way_of_those_of_runs(root: Path) -> None:
    git(root, "tag", "treadle")
    assert "branches" not in told()
    git(root, "branch", "treadle")
    line = told()["branches"]
    assert (line["state"], line["required"]) == ("missing", True)
    assert line["detail"].startswith("the branch treadle is in the way")
    assert "`git.branch_prefix`" in line["fix"]


def test_a_test_command_whose_own_options_fail_is_found(root: Path) -> None:
    (root / "treadle.toml").write_text(f'[toolchain]\nkind = "pytest"\ntest = "{sys.executable} -m pytest"\n')
    (root / "pytest.ini").write_text("[pytest]\naddopts = --no-such-option\n")
    git(root, "add", "-A")
    git(root, "-c", "user.name=x", "-c", "user.email=x@y", "commit", "-q", "-m", "second")
    line = told()["toolchain tests"]
    assert (line["state"], line["code"], "--no-such-option" in line["detail"]) == ("missing", "env.tests", True)
