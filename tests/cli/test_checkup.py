"""The lines of a check-up: how they are printed, and parts of `treadle doctor` that need no project."""

from importlib import machinery

import pytest

from treadle.cli import doctor
from treadle.cli.checkup import format_checkup, missing, ok, summarize_checkup, warn
from treadle.cli.toolchain_health import version_question
from treadle.config.model import Notifications


def test_neighbours_with_the_same_fix_print_it_once() -> None:
    lines = [
        missing("one", "not found", "buy it", code="a.b", required=False),
        warn("two", "old", "buy it", code="a.b"),
        warn("x", "y", "z", code="a.b"),
    ]
    assert list(format_checkup(lines)) == [
        "absent  one  not found",
        "warn    two  old",
        "             → buy it",
        "warn    x    y",
        "             → z",
    ]


def test_only_required_things_are_called_missing() -> None:
    git, codex = (
        missing("git", "not found", "get it", code="a.b"),
        missing("x", "gone", "y", code="a.b", required=False),
    )
    assert [line.split()[0] for line in format_checkup([git, codex])] == ["missing", "→", "absent", "→"]
    assert summarize_checkup([git, codex]).endswith("missing: git")
    assert "optional" in summarize_checkup([ok("git"), codex])
    assert "optional" not in summarize_checkup([ok("git")])


def channels(*named: str) -> list[tuple[str, str]]:
    lines = doctor.channel_lines(Notifications(bell=False, on=(), channels=named))
    return [(it.code, it.detail.split()[-1]) for it in lines]


def test_channels_are_checked_if_there_are_any(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHATS", "x")
    monkeypatch.delenv("NO_CHATS", raising=False)
    assert channels() == []
    assert channels("env:CHATS", "dbus://") == [("doctor.ok", "settings")]
    assert channels("env:CHATS", "env:NO_CHATS") == [("notify.settings", "NO_CHATS")]
    nothing: machinery.ModuleSpec | None = None
    monkeypatch.setattr(doctor, "find_spec", lambda _name: nothing)
    assert [code for code, _ in channels("dbus://")] == ["notify.settings"]


@pytest.mark.parametrize(
    ("command", "question"),
    [
        ("python3 -m pytest -q", ("-m", "pytest", "--version")),
        ("/r/.venv/bin/python -m compileall .", ("--version",)),
        ("python3 script.py", ("--version",)),
        ("go test ./...", ("version",)),
        ("/r/node_modules/.bin/vitest run", ("--version",)),
        ("./run-tests.sh", None),
        ("sh -c x", None),
        ("npx vitest", None),
    ],
)
def test_only_known_programs_are_asked_for_their_version(command: str, question: tuple[str, ...] | None) -> None:
    assert version_question(tuple(command.split())) == question


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("git version 2.39.5", (2, 39, 5)),
        ("git version 2.39.5.windows.1", (2, 39, 5)),
        ("v10.2", (10, 2)),
        ("none", ()),
    ],
)
def test_versions_in_texts(text: str, version: tuple[int, ...]) -> None:
    assert doctor.parse_version(text) == version
