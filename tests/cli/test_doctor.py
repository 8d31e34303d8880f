"""`treadle doctor` on this machine, with programs, repositories and stores of our own making."""

import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.box import box_here
from tests.cli.treadle import treadle
from treadle.cli.toolchain_health import is_treadles_own
from treadle.store.connection import migrate


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
    settings = '[toolchain]\nkind = "junit"\ntest = "make test"\n[verification]\nminimum = "word"\n'
    (root / "treadle.toml").write_text(settings)
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
    assert "they are missing" not in found.out
    assert [it for it in sorted(root.rglob("*")) if ".git" not in it.parts] == [
        it for it in before if ".git" not in it.parts
    ]


def test_every_line_that_is_not_ok_has_a_fix() -> None:
    assert all(it["fix"] for it in told().values() if it["state"] != "ok")


def test_outside_of_a_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    found = treadle("doctor")
    assert found.code == 0
    assert told()["project"]["code"] == "project.missing"
    assert list((tmp_path / "empty").iterdir()) == []


def test_an_old_git_is_not_enough(root: Path) -> None:
    program(root, "git", "echo git version 2.37.9")
    assert treadle("doctor").code == 1
    line = told()["git"]
    assert (line["code"], line["required"]) == ("git.too_old", True)
    assert [text for text in ("2.37.9", "2.38") if text not in line["detail"]] == []


def test_a_test_tool_that_is_missing_is_fatal(root: Path) -> None:
    commands = 'kind = "junit"\ntest = "no-such-tool test"\nlint = "no-such-linter"\n'
    (root / "treadle.toml").write_text(f"[toolchain]\n{commands}")
    found = treadle("doctor")
    assert found.code == 1
    lines = told()
    assert all(lines[f"toolchain {name}"]["code"] == "env.missing" for name in ("test", "lint"))
    assert all(lines[f"toolchain {name}"]["required"] for name in ("test", "lint")), "the settings name both"


def test_a_missing_module_is_shown_with_the_command_that_installs_it(root: Path) -> None:
    program(root, "python3", 'test "$1" = -c && exit 0; echo "No module named pytest"; exit 1')
    (root / "treadle.toml").write_text('[toolchain]\ntest = "python3 -m pytest"\n')
    line = told()["toolchain test"]
    assert (line["state"], line["code"], "pip install pytest" in line["fix"]) == ("missing", "env.broken", True)


@pytest.mark.parametrize("name", ["python", "badpy"])
@pytest.mark.parametrize("how", ["exit 3", "exit 134", "test $1 = --version && exit 0; echo broken; exit 1"])
def test_an_interpreter_that_cannot_run_is_broken_itself(root: Path, how: str, name: str) -> None:
    python = root / ".venv" / "bin" / name
    python.parent.mkdir(parents=True)
    (root / ".venv" / "pyvenv.cfg").write_text("home = /usr/bin\n")
    python.write_text(f"#!/bin/sh\n{how}\n")
    python.chmod(0o755)
    commands = f'build = "{python} -m compileall -q ."\ntest = "{python} -m pytest"\n'
    (root / "treadle.toml").write_text(f'[toolchain]\nkind = "pytest"\n{commands}')
    lines = [told()[f"toolchain {name}"] for name in ("build", "test")]
    assert [line["code"] for line in lines] == ["env.interpreter"] * 2
    assert all(f"venv --clear {root}/.venv" in line["fix"] for line in lines)
    assert not any("pip install" in line["fix"] for line in lines)
    specified = "id: it\ndescription: x\nacceptanceCriteria: [{id: AC-1, text: x}]\ntargetPath: x\ntestPath: tests\n"
    (root / "spec.yaml").write_text(specified)
    begun = treadle("run", "spec.yaml", "--agent", "manual")
    assert (begun.code, begun.error) == (2, "env.interpreter")


def test_no_advice_needs_the_program_that_is_missing(root: Path) -> None:
    (root / "treadle.toml").write_text('[toolchain]\nkind = "pytest"\ntest = "/usr/bin/no-python -m pytest"\n')
    line = told()["toolchain test"]
    assert (line["code"], "no-python -m" in line["fix"]) == ("env.missing", False)


def test_a_broken_standard_module_gets_no_advice_to_install(root: Path) -> None:
    program(root, "python3", 'test "$1" = -c && exit 0; echo nonsense; exit 1')
    (root / "treadle.toml").write_text('[toolchain]\ntest = "python3 -m unittest"\n')
    line = told()["toolchain test"]
    assert line["code"] == "env.broken"
    assert "install" not in line["fix"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_repository_of_another_user_is_shown_with_the_command_that_trusts_it(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in (root, *root.rglob("*")):
        os.lchown(path, 12345, 12345)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("SUDO_UID", raising=False)
    line = told()["repository"]
    assert (line["code"], line["required"]) == ("git.owner", True)
    assert f"--add safe.directory {root}" in line["fix"]
    refused = treadle("init", "--dry-run")
    assert (refused.code, refused.error) == (2, "git.owner")
    git(root, "config", "--global", "--add", "safe.directory", str(root))
    assert told()["repository"]["state"] == "ok"


def test_a_test_tool_without_canaries_says_so(root: Path) -> None:
    (root / "treadle.toml").write_text('[toolchain]\nkind = "junit"\ntest = "true"\n')
    line = told()["toolchain canaries"]
    assert line["state"] == "ok"
    assert "junit" in line["detail"]


def test_modules_are_looked_for_where_checks_would_find_them(root: Path) -> None:
    program(root, "python3", 'test -n "$PYTHONNOUSERSITE" || { echo pytest 9; exit 0; }; echo "No module"; exit 1')
    (root / "treadle.toml").write_text('[toolchain]\ntest = "python3 -m pytest"\n')
    assert told()["toolchain test"]["state"] == "missing", "what is installed for one user is not seen by checks"


def test_a_toolchain_that_the_checks_of_the_default_protocol_cannot_use_is_missing(root: Path) -> None:
    program(root, "python3", "echo pytest 9")
    (root / "treadle.toml").write_text('[toolchain]\ntest = "python3 -m pytest"\n')
    found = treadle("doctor")
    assert (found.code, found.out.splitlines()[-1].endswith(": checks of v3")) == (1, True)
    line = told()["checks of v3"]
    assert (line["code"], "node.scaffold (contract_exists)" in line["detail"]) == ("toolchain.unfit", True)
    assert line["fix"].startswith('set `toolchain.kind` to "pytest"')
    (root / "treadle.toml").write_text('[protocol]\ndefault = "dptr"\n[toolchain]\ntest = "python3 -m pytest"\n')
    assert treadle("doctor").code == 0


def test_a_missing_default_protocol_is_one_line_among_the_others(root: Path) -> None:
    (root / "treadle.toml").write_text('[protocol]\ndefault = "mine"\n[toolchain]\ntest = "true"\n')
    line = told()["protocol mine"]
    assert (line["state"], line["required"]) == ("missing", True)
    assert told()["toolchain test"]["state"] == "ok"


def test_a_faulty_default_protocol_does_not_stop_the_other_checks(root: Path) -> None:
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


def test_a_toolchain_detected_from_the_projects_files_is_tried(root: Path) -> None:
    program(root, "go", "echo go version go9")
    (root / "go.mod").write_text("module example.com/x\n")
    assert told()["toolchain test"]["detail"].startswith("go version go9")


@pytest.mark.skipif(sys.prefix == sys.base_prefix, reason="this Python is everybody's")
def test_treadles_own_python_is_not_the_projects(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "treadle.toml").write_text('[toolchain]\nkind = "pytest"\ntest = "python -m pytest"\n')
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:/usr/bin:/bin")
    line = told()["toolchain test"]
    assert (line["state"], line["code"]) == ("warn", "toolchain.own")
    assert "`{root}/.venv/bin/python -m pytest`" in line["fix"]
    assert not is_treadles_own(sys.executable, Path(sys.prefix).parent), (
        "the environment of the project is the project's"
    )
    assert not is_treadles_own("/usr/bin/python3", root)


def test_without_git_there_is_no_line_about_the_repository(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(root.parent / "bin"))
    found = told()
    assert (found["git"]["code"], "repository" in found, "store" in found) == ("git.missing", False, True)


def test_without_any_sandbox(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(root.parent / "bin"))
    found = told()
    line = found["sandbox of checks"]
    assert (line["state"], line["code"]) == ("warn", "box.missing")
    assert line["fix"].startswith("apt install bubblewrap")
    line = found["sandbox of agents"]
    assert (line["state"], line["code"], "'bwrap'" in line["detail"]) == ("warn", "box.missing", True)
    assert line["fix"].startswith("`apt install bubblewrap`")


@pytest.mark.parametrize(
    ("settings", "code"),
    [('box = "on"', "box.missing"), ('network = "none"', "box.missing"), ('network = "none"\nbox = "off"', "box.off")],
)
def test_a_box_that_the_settings_need_is_required(
    settings: str, code: str, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "treadle.toml").write_text(f"[workspace]\n{settings}\n")
    monkeypatch.setenv("PATH", str(root.parent / "bin"))
    line = told()["sandbox of agents"]
    assert (line["state"], line["required"], line["code"]) == ("missing", True, code)
    assert "`apt install bubblewrap`" in line["fix"]


def test_the_box_of_agents(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    box_here(monkeypatch)
    line = told()["sandbox of agents"]
    assert (line["state"], line["fix"], line["required"], line["code"]) == ("ok", "", False, "doctor.ok")
    assert line["detail"].startswith("bubblewrap: ")
    (root / "treadle.toml").write_text('[workspace]\nbox = "off"\n')
    line = told()["sandbox of agents"]
    assert (line["state"], line["code"]) == ("warn", "box.off")


def test_a_script_of_the_project_is_ok_and_not_started(root: Path) -> None:
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


def test_a_version_is_read_below_complaints(root: Path) -> None:
    program(root, "codex", "echo 'WARNING: proceeding without aliases' >&2; echo codex-cli 0.166.0")
    assert told()["agent codex"]["detail"].split(" (/")[0] == "codex-cli 0.166.0"


def test_an_agent_that_the_settings_name_needs_a_login(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(root, "codex", "echo codex-cli 0.166.0")
    (root / "treadle.toml").write_text('[agents]\ndefault = "codex"\n')
    for name in ("CODEX_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    line = told()["agent codex"]
    assert (line["state"], line["code"]) == ("warn", "agent.login")
    assert "`treadle agents try codex`" in line["fix"]
    monkeypatch.setenv("CODEX_API_KEY", "any")
    assert told()["agent codex"]["state"] == "ok"


def test_without_a_box_the_agents_with_a_sandbox_of_their_own_are_named(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "treadle.toml").write_text('[agents]\ndefault = "codex"\ntdd = "gemini"\nimpl = "command:./x"\n')
    monkeypatch.setenv("PATH", str(root.parent / "bin"))
    line = told()["sandbox of agents"]
    assert line["code"] == "box.missing"
    own = ("'bwrap'", "codex has its own sandbox", "gemini has its own rules")
    assert [text for text in own if text not in line["detail"]] == []


@pytest.mark.parametrize(
    ("toolchain", "minimum", "fatal"),
    [
        ('kind = "junit"\ntest = "true {report}"', None, True),
        ('kind = "junit"\ntest = "true {report}"', "word", False),
        ('kind = "junit"\ntest = "node --test"', None, False),
        ('kind = "junit"\ntest = "node --test"', "proved", True),
        ('kind = "gotest"\ntest = "go test ./..."', None, False),
        ('kind = "gotest"\ntest = "go test -run X ./..."', None, True),
        ('kind = "command"\ntest = "true"', "proved", False),
    ],
)
def test_tests_that_cannot_give_the_minimum_grade_are_reported(
    root: Path, toolchain: str, minimum: str | None, fatal: bool
) -> None:
    chosen = f'[verification]\nminimum = "{minimum}"\n' if minimum else ""
    (root / "treadle.toml").write_text(f"[toolchain]\n{toolchain}\n{chosen}")
    assert ("toolchain.grade" in {it["code"] for it in told().values()}) is fatal


def test_an_agent_that_the_settings_name_is_required(root: Path) -> None:
    assert told()["agent codex"]["required"] is False
    agents = '[agents]\ntdd = "codex"\nimpl = "command:no-such-agent -x"\n'
    minimum = '[verification]\nminimum = "word"\n'
    (root / "treadle.toml").write_text(f'{agents}[toolchain]\nkind = "junit"\ntest = "true"\n{minimum}')
    found = treadle("doctor")
    named = found.out.splitlines()[-1].partition(": ")[2]
    assert (found.code, named) == (1, "agent codex, agent command:no-such-agent -x")
    program(root, "codex", "exit 7")
    assert told()["agent codex"]["state"] == "warn"


def test_limits_that_cannot_stop_an_agent_of_the_settings(root: Path) -> None:
    assert "limits" not in told()
    (root / "treadle.toml").write_text('[agents]\ndefault = "codex"\n[limits]\ncost = 5.0\n')
    line = told()["limits"]
    assert (line["state"], line["code"]) == ("warn", "doctor.blind_limit")
    assert [text for text in ("codex", "`limits.cost`") if text not in line["detail"]] == []
    assert line["fix"].startswith("set `limits.tokens`, or ")
    with (root / "treadle.toml").open("a") as file:
        file.write("tokens = 100000\n")
    assert (told()["limits"]["state"], told()["limits"]["detail"].split(", ")[-1]) == ("ok", "but `limits.tokens` can")
    with (root / "treadle.toml").open("a") as file:
        file.write('[prices]\ncodex = "1.25 in, 10 out"\n')
    assert "limits" not in told()


def test_a_broken_bubblewrap_is_a_warning(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(root.parent / "bin"))
    program(root, "bwrap", "exit 1")
    line = told()["sandbox of checks"]
    assert (line["state"], line["required"]) == ("warn", False)


def test_a_sandbox_that_works(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(root.parent / "bin"))
    program(root, "bwrap", "exit 0")
    line = told()["sandbox of checks"]
    assert (line["state"], line["detail"].partition(":")[0]) == ("ok", "bubblewrap")


def test_mistakes_in_the_settings_are_fatal_and_hide_no_other_line(root: Path) -> None:
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
    assert told()["repository"]["code"] == "git.no_commits"


def store(root: Path) -> Path:
    path = root / ".treadle" / "local" / "store.db"
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def test_a_readable_store_is_shown_with_its_version(root: Path) -> None:
    db = sqlite3.connect(store(root), isolation_level=None)
    migrate(db)
    db.close()
    assert told()["store"]["detail"].startswith("readable, version ")


@pytest.mark.parametrize(
    "content", [b"not a database, but long enough to look like one" * 40, b"SQLite format 3\0" + b"x" * 4000]
)
def test_a_file_that_is_no_store_is_reported_and_stays(root: Path, content: bytes) -> None:
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
    assert (line["code"], "999" in line["detail"]) == ("store.newer", True)


def test_worktrees_and_locks_that_were_left_behind_are_shown(root: Path) -> None:
    worktrees = root / ".treadle" / "local" / "worktrees"
    (worktrees / "lane-1").mkdir(parents=True)
    git(root, "worktree", "add", "-q", str(worktrees / "known"))
    assert told()["left behind"]["state"] == "ok"
    (root / ".git" / "index.lock").touch()
    assert told()["locks"]["state"] == "warn"
    (root / ".git" / "index.lock").unlink()
    (worktrees / "known").rename(root.parent / "moved")
    assert told()["worktrees"]["fix"] == "git worktree prune"


def test_a_branch_in_the_way_is_reported_with_its_repair(root: Path) -> None:
    git(root, "tag", "treadle")
    assert "branches" not in told()
    git(root, "branch", "treadle")
    line = told()["branches"]
    assert (line["state"], line["required"], line["code"]) == ("missing", True, "git.ref_taken")
    assert "the branch treadle " in line["detail"]
    assert "`git.branch_prefix`" in line["fix"]


def test_a_test_command_with_failing_options_is_missing(root: Path) -> None:
    (root / "treadle.toml").write_text(f'[toolchain]\nkind = "pytest"\ntest = "{sys.executable} -m pytest"\n')
    (root / "pytest.ini").write_text("[pytest]\naddopts = --no-such-option\n")
    git(root, "add", "-A")
    git(root, "-c", "user.name=x", "-c", "user.email=x@y", "commit", "-q", "-m", "second")
    line = told()["toolchain tests"]
    assert (line["state"], line["code"], "--no-such-option" in line["detail"]) == ("missing", "env.tests", True)


@pytest.mark.parametrize(
    ("installed", "state"),
    [
        ((), "missing"),
        (("dequal", "chai"), "warn"),
        (("dequal", "eslint"), "missing"),
        (("dequal", "chai", "eslint"), ""),
    ],
)
def test_packages_that_are_not_installed(root: Path, installed: tuple[str, ...], state: str) -> None:
    """Code imports dequal, a test imports chai, and only the linter's settings need eslint."""
    program(root, "node", "echo v22.0.0")
    needs = '"dependencies": {"dequal": "2"}, "devDependencies": {"chai": "5", "eslint": "9"}'
    files = {
        "package.json": f'{{"scripts": {{"test": "node --test"}}, {needs}}}',
        "package-lock.json": "{}",
        "index.js": "const { dequal } = require('dequal/lite')\n",
        "test/a.test.js": 'import { expect } from "chai"\n',
        "eslint.config.js": "import eslint from 'eslint'\n",
        "treadle.toml": '[toolchain]\nkind = "junit"\ntest = "node --test"\n',
    }
    for name, text in files.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text)
    git(root, "add", "-A")
    for name in installed:
        (root / "node_modules" / name).mkdir(parents=True)
    line = told().get("toolchain packages")
    assert (line["state"] if line else "") == state
    if line:
        assert (line["code"], line["fix"]) == ("env.missing", "npm ci")


def test_generated_files_of_the_settings(root: Path) -> None:
    (root / "treadle.toml").write_text('[environment]\ngenerated = ["src/_version.py"]\n')
    (root / ".gitignore").write_text("_version.py\n")
    assert (told()["generated files"]["state"], told()["generated files"]["code"]) == ("missing", "generated.missing")
    (root / "src").mkdir()
    (root / "src" / "_version.py").write_text("")
    assert told()["generated files"]["state"] == "ok"


def test_tests_that_need_a_file_that_git_ignores(root: Path) -> None:
    files = {
        ".gitignore": "_version.py\n",
        "pkg/__init__.py": "from pkg import _version\n",
        "pkg/_version.py": "",
        "test_pkg.py": "import pkg\n\n\ndef test_it():\n    assert pkg\n",
        "treadle.toml": f'[toolchain]\nkind = "pytest"\ntest = "{sys.executable} -m pytest"\n',
    }
    for name, text in files.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text)
    git(root, "add", "-A")
    git(root, "-c", "user.name=x", "-c", "user.email=x@y", "commit", "-q", "-m", "second")
    assert told()["toolchain tests"]["code"] == "env.generated"
    with (root / "treadle.toml").open("a") as file:
        file.write('[environment]\ngenerated = ["pkg/_version.py"]\n')
    assert told()["toolchain tests"]["state"] == "ok"
