"""`treadle hook install`, `uninstall` and `status`."""

import json
from pathlib import Path

import pytest

from tests.cli.kept import Kept
from tests.cli.treadle import treadle


@pytest.fixture
def project(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> Kept:
    monkeypatch.setenv("HOME", str(kept.root / "home"))
    for name in ("CODEX_HOME", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    programs = kept.root / "programs"
    programs.mkdir()
    for name in ("claude", "treadle"):
        (programs / name).write_text("#!/bin/sh\nexit 0\n")
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    return kept


def test_in_out_and_shown(project: Kept) -> None:
    file = project.root / ".claude" / "settings.json"
    shown = treadle("hook", "install", "--dry-run")
    assert f"would change {file}" in shown.out
    assert '+            "command": "treadle hook",' in shown.out
    assert not file.exists()

    done = treadle("hook", "install")
    assert (done.code, done.out) == (
        0, f"Claude Code: the hook is in {file}\n  commit it, so that the lanes of runs have it, too\n"
    )  # fmt: skip
    assert set(json.loads(file.read_text())["hooks"]) == {"Stop", "SubagentStop", "TaskCompleted", "TeammateIdle"}
    assert "already" in treadle("hook", "install").out

    status = treadle("hook", "status").out
    assert "not in lanes" in status
    assert "hook codex" in status
    assert "not installed" in status
    project.git("add", "-A")
    project.git("commit", "-q", "-m", "hook")
    lines = {line["what"]: line for line in treadle("hook", "status", "--json").json()["lines"]}
    assert lines["hook claude"]["state"] == "ok"
    assert "Stop, SubagentStop, TaskCompleted, TeammateIdle" in lines["hook claude"]["detail"]

    (project.root / "programs" / "treadle").unlink()
    assert "there is no such program" in treadle("hook", "status").out

    assert "removed" in treadle("hook", "uninstall").out
    assert not file.exists()


def test_codex_has_a_file_for_all_projects_and_must_trust_it(project: Kept) -> None:
    done = treadle("hook", "install", "--agent", "codex")
    file = project.root / "home" / ".codex" / "hooks.json"
    assert done.code == 0
    assert "/hooks" in done.out
    assert set(json.loads(file.read_text())["hooks"]) == {"Stop", "SubagentStop"}
    assert "whether Codex does so, it does not say" in treadle("hook", "status").out


def test_a_users_own_settings(project: Kept) -> None:
    assert treadle("hook", "install", "--user", "--agent", "claude").code == 0
    assert (project.root / "home" / ".claude" / "settings.json").exists()
    assert not (project.root / ".claude").exists()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--agent", "claud"), "did you mean 'claude'?"),
        (("--agent", "gemini"), "no hook can be put into 'gemini'"),
    ],
)
def test_a_program_without_hooks(project: Kept, words: tuple[str, ...], told: str) -> None:
    result = treadle("hook", "install", *words)
    assert result.code == 2
    assert told in result.err
    assert project.root.is_dir()


def test_settings_that_cannot_be_read_are_left_alone(project: Kept) -> None:
    file = project.root / ".claude" / "settings.json"
    file.parent.mkdir()
    file.write_text("{broken")
    for words in (("install",), ("uninstall", "--agent", "claude")):
        result = treadle("hook", *words)
        assert result.code == 2
        assert "nothing was changed" in result.err
    assert file.read_text() == "{broken"
    assert "mend the file" in treadle("hook", "status").out


def test_settings_with_comments_are_left_alone_and_it_is_said_what_to_do(project: Kept) -> None:
    file = project.root / ".claude" / "settings.json"
    file.parent.mkdir()
    text = '{\n  // the large one\n  "model": "opus"\n}\n'
    file.write_text(text)
    told = treadle("hook", "install", "--agent", "claude")
    assert told.code == 2
    assert f"{file} is not JSON: " in told.err
    assert "(line 2, column 3)" in told.err
    assert "Claude Code takes plain JSON only: with a comment in it" in told.err
    assert told.error == "hook.settings"
    by_hand = told.err.partition("put this into it by hand:\n")[2].rpartition("[")[0]
    assert "put this" not in treadle("hook", "uninstall", "--agent", "claude").err
    assert file.read_text() == text

    plain = {"model": "opus", **json.loads(by_hand)}
    file.write_text(json.dumps(plain))
    assert "already" in treadle("hook", "install", "--agent", "claude").out, "what was shown is what is put in"


def test_without_any_program_it_says_so(project: Kept, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (project.root / "programs" / "claude").unlink()
    monkeypatch.setenv("PATH", str(tmp_path))
    result = treadle("hook", "install")
    assert result.code == 2
    assert "neither claude nor codex" in result.err
