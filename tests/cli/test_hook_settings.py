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


def test_the_hook_is_installed_shown_and_removed(project: Kept) -> None:
    file = project.root / ".claude" / "settings.json"
    shown = treadle("hook", "install", "--dry-run")
    assert f"would change {file}" in shown.out
    assert '+            "command": "treadle hook",' in shown.out
    assert not file.exists()

    done = treadle("hook", "install")
    assert (done.code, str(file) in done.out) == (0, True)
    assert set(json.loads(file.read_text())["hooks"]) == {"Stop", "SubagentStop", "TaskCompleted", "TeammateIdle"}
    assert "already" in treadle("hook", "install").out

    lines = {line["what"]: line for line in treadle("hook", "status", "--json").json()["lines"]}
    assert (lines["hook claude"]["code"], lines["hook codex"]["code"]) == ("hook.uncommitted", "hook.not_installed")
    project.git("add", "-A")
    project.git("commit", "-q", "-m", "hook")
    lines = {line["what"]: line for line in treadle("hook", "status", "--json").json()["lines"]}
    assert lines["hook claude"]["state"] == "ok"
    assert "Stop, SubagentStop, TaskCompleted, TeammateIdle" in lines["hook claude"]["detail"]

    (project.root / "programs" / "treadle").unlink()
    lines = {line["what"]: line for line in treadle("hook", "status", "--json").json()["lines"]}
    assert lines["hook claude"]["code"] == "hook.incomplete"

    assert "removed" in treadle("hook", "uninstall").out
    assert not file.exists()


def test_codex_has_a_file_for_all_projects_and_must_trust_it(project: Kept) -> None:
    done = treadle("hook", "install", "--agent", "codex")
    file = project.root / "home" / ".codex" / "hooks.json"
    assert done.code == 0
    assert "/hooks" in done.out
    assert set(json.loads(file.read_text())["hooks"]) == {"Stop", "SubagentStop"}
    lines = treadle("hook", "status", "--json").json()["lines"]
    assert [(it["what"], it["code"]) for it in lines][-1] == ("hook codex", "hook.untrusted")


def test_a_users_own_settings(project: Kept) -> None:
    assert treadle("hook", "install", "--user", "--agent", "claude").code == 0
    assert (project.root / "home" / ".claude" / "settings.json").exists()
    assert not (project.root / ".claude").exists()


@pytest.mark.parametrize(("agent", "named"), [("claud", "'claude'"), ("gemini", "'gemini'")])
def test_a_program_without_hooks_is_refused(project: Kept, agent: str, named: str) -> None:
    result = treadle("hook", "install", "--agent", agent)
    assert (result.code, result.error, named in result.err) == (2, "agent.unknown", True)
    assert not (project.root / ".claude").exists()


def test_settings_that_cannot_be_read_are_left_alone(project: Kept) -> None:
    file = project.root / ".claude" / "settings.json"
    file.parent.mkdir()
    file.write_text("{broken")
    for words in (("install",), ("uninstall", "--agent", "claude")):
        result = treadle("hook", *words)
        assert (result.code, result.error) == (2, "hook.settings")
    assert file.read_text() == "{broken"
    lines = {line["what"]: line for line in treadle("hook", "status", "--json").json()["lines"]}
    assert lines["hook claude"]["code"] == "hook.settings"


def test_settings_with_comments_stay_and_the_error_shows_the_lines_to_add_by_hand(project: Kept) -> None:
    file = project.root / ".claude" / "settings.json"
    file.parent.mkdir()
    text = '{\n  // the large one\n  "model": "opus"\n}\n'
    file.write_text(text)
    told = treadle("hook", "install", "--agent", "claude")
    assert (told.code, told.error) == (2, "hook.settings")
    assert [text for text in (str(file), "(line 2, column 3)") if text not in told.err] == []
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
    assert (result.code, result.error) == (2, "agent.missing")
    assert "claude nor codex" in result.err
