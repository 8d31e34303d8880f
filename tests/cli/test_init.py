"""`treadle init` in real folders and real repositories."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.treadle import treadle
from treadle.config.project import Project
from treadle.config.settings import load_settings


def git(folder: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=True).stdout


def fake_agent(folder: Path, name: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text("#!/bin/sh\nexit 1\n")
    (folder / name).chmod(0o755)


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    for name in ("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"):
        monkeypatch.setenv(name, "Somebody")
    for name in ("GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"):
        monkeypatch.setenv(name, "somebody@example.org")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    place = tmp_path / "root"
    (place / "tests").mkdir(parents=True)
    (place / "tests" / "test_a.py").write_text("def test_a(): ...\n")
    monkeypatch.chdir(place)
    return place


def test_init_prints_the_detected_toolchain_and_writes_settings_that_load(root: Path) -> None:
    git(root, "init", "-q")
    found = treadle("init")
    assert (found.code, found.err) == (0, "")
    for line in (
        "Language  Python (tests/test_a.py)",
        "  test    python3 -m pytest  (tests/test_a.py)",
        "treadle.toml is written",
        "`git add treadle.toml && git commit`: agents work on copies of a commit, and there is none",
        "`treadle doctor`",
    ):
        assert line in found.out
    config = load_settings(Project(root), {"HOME": "/nowhere"}).config()
    assert (config.toolchain.kind, config.toolchain.test) == ("pytest", ("python3", "-m", "pytest"))
    assert (root / ".treadle" / "local" / ".gitignore").read_text() == "*\n"
    assert git(root, "status", "--porcelain") == "?? tests/\n?? treadle.toml\n"


def test_init_in_a_subfolder_writes_to_the_root_of_the_repository(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git(root, "init", "-q")
    monkeypatch.chdir(root / "tests")
    assert treadle("init").code == 0
    assert (root / "treadle.toml").is_file()
    assert not (root / "tests" / "treadle.toml").exists()


@pytest.mark.parametrize(
    ("script", "minimum"),
    [("vitest run", "word"), ("node --test", "observed"), ("mocha", "word"), ("sh it.sh", "observed")],
)
def test_init_says_so_where_only_the_runner_can_see_its_tests(root: Path, script: str, minimum: str) -> None:
    (root / "pyproject.toml").unlink(missing_ok=True)
    shutil.rmtree(root / "tests")
    needs = {name: "1" for name in (script.partition(" ")[0],) if name not in ("node", "sh")}
    package = {"name": "it", "scripts": {"test": script}, "devDependencies": needs}
    (root / "package.json").write_text(json.dumps(package))
    assert treadle("init").code == 0
    assert load_settings(Project(root), {}).config().verification.minimum == minimum


def test_init_never_overwrites_a_file(root: Path) -> None:
    git(root, "init", "-q")
    (root / "treadle.toml").write_text("# mine\n")
    found = treadle("init", "--yes", "--protocol", "v3")
    assert found.code == 0
    assert "treadle.toml exists already" in found.out
    assert "set `toolchain.contract` in treadle.toml" in found.out
    assert "would choose" not in found.out, "what the file does not say is as it was found"
    assert (root / "treadle.toml").read_text() == "# mine\n"


def test_settings_that_differ_from_the_detected_ones_are_shown(root: Path) -> None:
    (root / "treadle.toml").write_text('[toolchain]\ntest = "make check"\n')
    found = treadle("init").out
    differ = [re.findall(r"`(.+?)`", line) for line in found.splitlines() if "; Treadle would choose `" in line]
    assert differ[:2] == [
        ['kind = "command"', 'kind = "pytest"'],
        ['test = "make check"', 'test = "python3 -m pytest"'],
    ]
    assert [one[0] for one in differ[2:]].count("build") == 1
    (root / "treadle.toml").unlink()
    treadle("init")
    again = treadle("init").out
    assert "as pytest\n" in again
    assert "; Treadle would choose `" not in again


@pytest.mark.parametrize(("protocol", "kind"), [((), True), (("-p", "v3"), True), (("-p", "dptr"), False)])
def test_settings_that_runs_need_are_named(root: Path, protocol: tuple[str, ...], kind: bool) -> None:
    (root / "tests" / "test_a.py").unlink()
    found = treadle("init", "--dry-run", *protocol)
    assert found.code == 0
    assert "set `toolchain.test` in treadle.toml" in found.out
    kinds = ("set `toolchain.kind`", '"pytest"', '"gotest"', '"junit"')
    assert all(it in found.out for it in kinds) == kind


def test_a_missing_default_protocol_does_not_stop_init(root: Path) -> None:
    (root / "treadle.toml").write_text('[protocol]\ndefault = "mine"\n')
    assert treadle("init").code == 0


def test_a_dangling_link_counts_as_an_existing_file(root: Path) -> None:
    (root / "treadle.toml").symlink_to(root.parent / "outside.toml")
    assert "leaves it unchanged" in treadle("init").out
    assert not (root.parent / "outside.toml").exists()


def test_a_dry_run_changes_no_file(root: Path) -> None:
    before = sorted(root.rglob("*"))
    found = treadle("init", "--dry-run", "--yes", "--protocol", "fractal")
    assert found.code == 0
    assert "treadle.toml would be written:" in found.out
    assert "  keeps   {testPath}/test_manifest.json" in found.out
    assert '    test = "python3 -m pytest"\n' in found.out
    assert "`git init`" in found.out
    assert sorted(root.rglob("*")) == before


def test_init_makes_a_repository_only_with_yes(root: Path) -> None:
    assert treadle("init").lacks("`git init`", "`git add`", "`git commit`") == []
    assert not (root / ".git").exists()
    found = treadle("init", "--yes")
    assert (found.code, found.err) == (0, "")
    assert "\ncommitted: treadle.toml\n" in found.out
    assert git(root, "log", "--format=%an", "--name-only") == "Somebody\n\ntreadle.toml\n"
    assert "(tests/test_a.py)" in found.out


@pytest.mark.parametrize(("answers", "log"), [(b"y\ny\n", "Set up Treadle\n"), (b"n\n", "")])
def test_a_person_at_a_terminal_is_asked(root: Path, answers: bytes, log: str) -> None:
    master, slave = os.openpty()
    os.write(master, answers)
    done = subprocess.run([sys.executable, "-m", "treadle", "init"], stdin=slave, stdout=slave, timeout=60, check=True)
    os.close(slave)
    shown = os.read(master, 100_000).decode()
    os.close(master)
    assert done.returncode == 0
    assert "Create one?" in shown
    assert (root / "treadle.toml").is_file()
    assert (root / ".git").exists() is bool(log)
    assert not log or git(root, "log", "--format=%s") == log


def test_the_first_commit_leaves_staged_files_out(root: Path) -> None:
    git(root, "init", "-q")
    (root / "staged").touch()
    git(root, "add", "staged")
    assert treadle("init", "--yes").code == 0
    assert git(root, "show", "--name-only", "--format=") == "treadle.toml\n"
    assert git(root, "diff", "--cached", "--name-only") == "staged\n"


def test_a_repository_with_commits_gets_no_commit_from_us(root: Path) -> None:
    git(root, "init", "-q")
    git(root, "commit", "-q", "--allow-empty", "-m", "first")
    found = treadle("init", "--yes")
    assert "`git add treadle.toml && git commit`" in found.out
    assert git(root, "log", "--format=%s") == "first\n"


def test_git_without_a_user_name_is_refused_with_the_command_that_sets_it(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "user.useConfigOnly")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "true")
    found = treadle("init", "--yes")
    assert (found.code, found.error, found.lacks("git config user.name")) == (2, "git.failed", [])
    assert (root / "treadle.toml").is_file()


def test_agents_that_are_installed_are_named_and_not_started(root: Path) -> None:
    fake_agent(root.parent / "bin", "codex")
    found = treadle("init")
    assert "Agents    codex\n" in found.out
    assert load_settings(Project(root), {"HOME": "/nowhere"}).config().agents == {"default": "codex"}


def test_of_several_agents_the_first_is_the_default_and_all_are_named(root: Path) -> None:
    for name in ("opencode", "claude", "gemini"):
        fake_agent(root.parent / "bin", name)
    assert "Agents    claude, gemini, opencode\n" in treadle("init").out
    text = (root / "treadle.toml").read_text()
    assert ': claude, gemini, opencode\ndefault = "claude"\n' in text
    assert '\n#standard = { claude = "sonnet" }\n' in text


def test_a_protocols_own_files(root: Path) -> None:
    git(root, "init", "-q")
    assert treadle("protocol", "new", "mine").code == 0
    files = root / ".treadle" / "protocols" / "mine" / "project"
    (files / ".ai").mkdir(parents=True)
    (files / ".ai" / "notes.md").write_text("# Notes\n")
    (files / "README.md").write_text("theirs\n")
    (root / "README.md").write_text("mine\n")
    found = treadle("init", "--protocol", "mine")
    assert (found.code, found.err) == (0, "")
    assert ".ai/notes.md is written" in found.out
    assert "README.md exists already" in found.out
    assert (root / ".ai" / "notes.md").read_text() == "# Notes\n"
    assert (root / "README.md").read_text() == "mine\n"
    assert load_settings(Project(root), {"HOME": "/nowhere"}).config().protocol == "mine"


def test_a_protocols_files_do_not_go_through_a_link(root: Path) -> None:
    git(root, "init", "-q")
    assert treadle("protocol", "new", "mine").code == 0
    files = root / ".treadle" / "protocols" / "mine" / "project"
    (files / ".ai").mkdir(parents=True)
    (files / ".ai" / "notes.md").touch()
    outside = root.parent / "outside"
    outside.mkdir()
    (root / ".ai").symlink_to(outside)
    found = treadle("init", "--protocol", "mine")
    assert (found.code, found.error, found.lacks(".ai")) == (2, "file.link", [])
    assert treadle("init", "--protocol", "mine", "--dry-run") == found, "nothing is promised that cannot be done"
    assert list(outside.iterdir()) == []
    assert not (root / "treadle.toml").exists()


def test_an_unwritable_file_stops_init_before_it_writes_any(root: Path) -> None:
    git(root, "init", "-q")
    assert treadle("protocol", "new", "mine").code == 0
    files = root / ".treadle" / "protocols" / "mine" / "project"
    (files / "tests" / "test_a.py").mkdir(parents=True)
    (files / "tests" / "test_a.py" / "below").touch()
    found = treadle("init", "--protocol", "mine")
    assert (found.code, found.error, found.lacks("tests/test_a.py")) == (2, "file.unwritable", [])
    assert not (root / "treadle.toml").exists()


def test_an_unknown_protocol_is_refused_before_init_writes(root: Path) -> None:
    found = treadle("init", "--protocol", "waterfal")
    assert (found.code, found.out, found.error, found.lacks("'waterfall'")) == (2, "", "protocol.unknown", [])
    assert not (root / "treadle.toml").exists()


@pytest.mark.parametrize("inside", [".", "objects"])
def test_init_in_a_bare_repository_is_refused(root: Path, inside: str, monkeypatch: pytest.MonkeyPatch) -> None:
    git(root, "init", "-q", "--bare", "bare.git")
    monkeypatch.chdir(root / "bare.git" / inside)
    found = treadle("init", "--yes")
    assert (found.code, found.out, found.error) == (2, "", "git.bare")
    assert not list((root / "bare.git").glob("**/treadle.toml"))


BOOTSTRAP = [
    ".ai/.gitignore",
    "PROJECT_CONTEXT.md",
    "PROJECT_MEMORY.md",
    "docs/api/README.md",
    "docs/bdd/README.md",
    "docs/constitution.md",
    "docs/deltas/README.md",
    "docs/nfr.md",
    "docs/sdd.md",
    "treadle.toml",
]


def test_a_project_of_the_agentic_coding_protocol(root: Path) -> None:
    git(root, "init", "-q")
    found = treadle("init", "--protocol", "waterfall", "--yes")
    assert (found.code, found.err) == (0, "")
    for name in (*BOOTSTRAP, ".ai/STATE.json", ".ai/HANDOFF.md"):
        assert f"{name} is written" in found.out
        assert (root / name).is_file()
    assert git(root, "show", "--name-only", "--format=").splitlines() == BOOTSTRAP, "how work stands is in no commit"
    assert git(root, "status", "--porcelain") == "?? tests/\n"
    state = json.loads((root / ".ai" / "STATE.json").read_text())
    assert (state["project"], state["story"], state["step"], state["status"]) == ("root", None, "bdd", "pending")
    assert len(state) == 16
    again = treadle("init", "--protocol", "waterfall")
    assert again.out.count(" exists already; ") == len(BOOTSTRAP) + 2


def test_a_project_with_valid_files_of_its_own_gets_no_remarks(root: Path) -> None:
    git(root, "init", "-q")
    own = {
        ".ai/STATE.json": '{"project":"cart","story":"US-005","step":"impl","attempt":2,"max_attempts":5,'
        '"status":"failing","reason":null,"dispatched_at":"2026-02-13T14:30:00Z",'
        '"completed_at":"2026-02-13T14:31:15Z","timeout_min":10,'
        '"tests":{"pass":42,"fail":2,"skip":1},"failing_tests":["cart_test.go:TestApplyCoupon"],"lint_pass":true,'
        '"files_changed":["internal/cart/service.go"],"blocked_by":[],"human_note":null}',
        ".ai/HANDOFF.md": "---\nstory: US-005\nstep: impl\n---\n\n# HANDOFF\n",
        "PROJECT_MEMORY.md": "# Memory\n",
        "docs/sdd.md": "# SDD\n",
    }
    for name, text in own.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text)
    found = treadle("init", "--protocol", "waterfall")
    assert found.code == 0
    assert {name: (root / name).read_text() for name in own} == own
    kept = found.out.partition(".ai/STATE.json exists already; Treadle leaves it unchanged\n")[2]
    assert not kept.startswith("  ")
    assert "docs/nfr.md is written" in found.out


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        (".ai/STATE.json", "{oops", "  it is not a JSON object: "),
        (".ai/STATE.json", '{"status": "done"}', '  status is "done", not one of pending, running, pass, failing,'),
        (".ai/STATE.json", '{"status": "done"}', "needs_human, timeout; did you mean 'pass'?"),
        (".ai/STATE.json", '{"status": "passing"}', "did you mean 'pass'?"),
        (".ai/STATE.json", '{"step": "implement"}', "did you mean 'impl'?"),
        (".ai/STATE.json", '{"reason": "unclear"}', '  reason is "unclear", not one of constitution_violation'),
        (".ai/STATE.json", '{"attempt": "2"}', '  attempt is "2", not a whole number'),
        (".ai/STATE.json", '{"stroy": "US-1"}', "  \"stroy\" is not a field of it; did you mean 'story'?"),
        (".ai/STATE.json", "{}", "  human_note is missing"),
        (".ai/HANDOFF.md", "---\nstatus: pass\n", "  its front matter is never closed"),
        (".ai/HANDOFF.md", "---\nfiles:\n\t- a\n---\n", "  line 3 of its front matter has a tab"),
    ],
)
def test_faults_in_existing_files_are_shown_and_the_files_stay(root: Path, name: str, text: str, told: str) -> None:
    (root / name).parent.mkdir()
    (root / name).write_text(text)
    found = treadle("init", "--protocol", "waterfall", "--dry-run")
    assert found.code == 0
    assert told in found.out.partition(f"{name} exists already; ")[2]
    assert (root / name).read_text() == text
    assert sorted(path.name for path in root.iterdir()) == [".ai", "tests"]


def test_generated_files_that_git_ignores_are_detected(root: Path) -> None:
    (root / ".gitignore").write_text("_version.py\n*.mo\n")
    (root / "pyproject.toml").write_text('[tool.setuptools_scm]\nversion_file = "src/pkg/_version.py"\n')
    (root / "src" / "pkg").mkdir(parents=True)
    for name in ("__init__.py", "_version.py", "de.mo"):
        (root / "src" / "pkg" / name).write_text("")
    git(root, "init", "-q")
    git(root, "add", "-A")
    assert treadle("init").code == 0
    wanted = ["src/pkg/_version.py", "src/pkg/de.mo"]
    settings = {it["key"]: it["value"] for it in treadle("config", "--json").json()["settings"]}
    assert settings["environment.generated"] == wanted
    (root / "treadle.toml").write_text("")
    assert "[init.generated]" in treadle("init").out
