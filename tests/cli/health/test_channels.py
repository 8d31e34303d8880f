"""Whether channels could be told."""

from importlib import machinery

import pytest

from treadle.cli.health import channels
from treadle.cli.health.channels import channel_lines
from treadle.config.model import Notifications


def lines(*named: str) -> list[tuple[str, str]]:
    return [(it.state, it.detail) for it in channel_lines(Notifications(bell=False, on=(), channels=named))]


def test_channels_are_looked_at_if_there_are_any(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHATS", "x")
    monkeypatch.delenv("NO_CHATS", raising=False)
    assert lines() == []
    assert lines("env:CHATS", "dbus://") == [("ok", "2 named in the settings")]
    assert lines("env:CHATS", "env:NO_CHATS") == [("warn", "not set: NO_CHATS")]
    missing: machinery.ModuleSpec | None = None
    monkeypatch.setattr(channels, "find_spec", lambda _name: missing)
    assert lines("dbus://") == [("warn", "Apprise is not installed: nobody is told")]
