"""Gemini CLI: its keys, login and settings, beyond the Agent Client Protocol."""

import json
import os
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Final

import msgspec

from treadle.agents.contract import put_file
from treadle.agents.event_stream import event_of, part, text, whole
from treadle.agents.one_shot import PROXY_VARIABLES, read_settings
from treadle.ports import Abilities, Work
from treadle.protocol.model import HELD, Perm

_FOLDER: Final = ".gemini"
_OAUTH: Final = f"{_FOLDER}/oauth_creds.json"
_NOT_ASKED: Final[dict[Perm, tuple[str, ...]]] = {
    "run_commands": ("run_shell_command",),
    "web": ("google_web_search", "web_fetch"),
}
"""Tools that need a permission of the role: Gemini does not ask before every use, except for changes."""


class Gemini(msgspec.Struct, frozen=True, kw_only=True):
    """The Gemini CLI. It loads conversations but cannot fork them."""

    abilities: Abilities = Abilities(resume=True, survives=True, mcp="http", tells="tokens", holds=HELD)
    login: tuple[str, ...] = (_OAUTH, f"{_FOLDER}/google_accounts.json")
    ledger: str = f"{_FOLDER}/tmp/*/chats/**/*.jsonl"
    keys: tuple[str, ...] = (
        *("GEMINI_API_KEY", "GOOGLE_API_KEY", "GEMINI_MODEL", "GOOGLE_*", "CODE_ASSIST_ENDPOINT"),
        *PROXY_VARIABLES,
    )

    def prepare(self, work: Work, home: Path) -> None:
        """Write its settings, and move its conversations to this lane, because Gemini files them by folder."""
        folder = home / _FOLDER
        settings = {
            "security": {"auth": {"selectedType": _login_method(home)}, "folderTrust": {"enabled": False}},
            # Two attempts; beyond that the run waits, which costs no attempt of the step.
            "general": {"maxAttempts": 2, "enableAutoUpdate": False, "enableAutoUpdateNotification": False},
            "privacy": {"usageStatisticsEnabled": False},
            "telemetry": {"enabled": False},
            "model": {"maxSessionTurns": work.turns or -1},
            "tools": {"exclude": [tool for perm, tools in _NOT_ASKED.items() if not work.may(perm) for tool in tools]},
        }
        put_file(folder, "settings.json", json.dumps(settings).encode())
        if not work.session:
            return
        lane = str(work.lane.absolute())
        projects = [path.parent for path in folder.glob("*/*/.project_root")]
        for project in projects:
            put_file(project, ".project_root", lane.encode())
        if projects:
            put_file(folder, "projects.json", json.dumps({"projects": {lane: projects[0].name}}).encode())
        _backdate(folder, work.session.partition("/")[2])

    def words(self, work: Work) -> list[str]:
        model = ["-m", work.model] if work.model else []
        seen = [str(path.absolute()) for path in (work.bundle, work.out) if path.is_dir()]
        return [*model, *(["--include-directories", ",".join(seen)] if seen else [])]

    def env(self, work: Work, *, is_enclosed: bool) -> dict[str, str]:  # noqa: ARG002
        return {"GEMINI_CLI_NO_RELAUNCH": "true", "GEMINI_CLI_TRUST_WORKSPACE": "true"}


def _login_method(home: Path) -> str:
    """Return the login method: the user's own choice, or the one for the key or login at hand."""
    own = part(read_settings(Path.home() / _FOLDER / "settings.json"), "security", "auth")
    if chosen := text(own, "selectedType"):
        return chosen
    if os.environ.get("GOOGLE_GENAI_USE_VERTEXAI") == "true":
        return "vertex-ai"
    has_login = not os.environ.get("GEMINI_API_KEY") and (home / _OAUTH).is_file()
    return "oauth-personal" if has_login else "gemini-api-key"


def _backdate(folder: Path, session: str) -> None:
    """Rename a conversation's file so that its name carries an old date.

    Loading a conversation in the same minute in which it began makes Gemini open that file for a new conversation
    first, and then find it empty.
    """
    if not session.isascii() or not session.replace("-", "").isalnum():
        return
    long_ago = "session-2000-01-01T00-00"
    for chats in folder.glob("tmp/*/chats"):
        found = sorted(chats.glob(f"session-*-{session[:8]}.jsonl"))
        if found and not found[0].name.startswith(long_ago):
            found[0].replace(found[0].with_name(f"{long_ago}-{session[:8]}.jsonl"))


def count_tokens(files: list[Path], since: int) -> dict[str, int]:
    """Sum up Gemini's chat files since a moment in milliseconds: it reports no cached tokens to its clients.

    A rewritten message keeps its id and counts once.
    """
    messages = {}
    for file in files:
        with suppress(OSError):
            for line in file.read_bytes().splitlines():
                if (event := event_of(line)) and _milliseconds(text(event, "timestamp")) >= since:
                    messages[text(event, "id")] = part(event, "tokens")
    return {
        "tokens_in": sum(whole(one, "input") for one in messages.values()),
        "tokens_out": sum(whole(one, "output") + whole(one, "thoughts") for one in messages.values()),
        "cached": sum(whole(one, "cached") for one in messages.values()),
    }


def _milliseconds(stamp: str) -> float:
    try:
        return datetime.fromisoformat(stamp).timestamp() * 1000
    except (ValueError, OverflowError):
        return -1
