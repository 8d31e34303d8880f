"""The agents' programs that can call a hook: where they look for one, and when they call it."""

import os
from pathlib import Path
from typing import Final

import msgspec

_LONG: Final = 600
"""Seconds that a hook may take: it runs the project's tests."""


class Program(msgspec.Struct, frozen=True, kw_only=True):
    """A program, the file that it reads its hooks from, and what it fires of what concerns a run."""

    name: str
    title: str
    file: Path
    events: tuple[str, ...]
    is_users: bool
    """Whether the file is the user's own, for all projects; otherwise it is the project's."""
    timeout: int = _LONG


def claude(root: Path) -> Program:
    """Claude Code: the project's own settings, which lanes have, too, once they are committed."""
    file = root / ".claude" / "settings.json"
    return _claude(file, is_users=False)


def users_claude() -> Program:
    """Claude Code: the user's settings, for all projects."""
    folder = os.environ.get("CLAUDE_CONFIG_DIR")
    return _claude((Path(folder) if folder else Path.home() / ".claude") / "settings.json", is_users=True)


def codex() -> Program:
    """Codex: the user's file. It trusts a hook by the path of its file, so one in each lane would never be trusted."""
    folder = os.environ.get("CODEX_HOME")
    file = (Path(folder) if folder else Path.home() / ".codex") / "hooks.json"
    return Program(name="codex", title="Codex", file=file, events=("Stop", "SubagentStop"), is_users=True)


def _claude(file: Path, *, is_users: bool) -> Program:
    events = ("Stop", "SubagentStop", "TaskCompleted", "TeammateIdle")
    return Program(name="claude", title="Claude Code", file=file, events=events, is_users=is_users)
