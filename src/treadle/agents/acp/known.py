"""What is known of some agents that speak ACP besides the protocol: their keys, their logins, their own settings."""

import json
import os
import shutil
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Final, Protocol

import msgspec

from treadle.agents.answer import put_file
from treadle.agents.told import event_of, part, text
from treadle.errors import PortError
from treadle.ports import Abilities, Work
from treadle.protocol.model import HELD, Perm
from treadle.results import executor_result, handoff

ANSWERS: Final = (executor_result.FILE, *handoff.FILES)
"""What every agent may write in its lane: answers that are taken out of it."""
WAYS: Final = (
    *("NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE"),
    *(name for upper in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY") for name in (upper, upper.lower())),
)
"""How a service is reached."""
_RESUMES: Final = Abilities(resume=True, survives=True, mcp="http", tells="some prices")
_FORKS: Final = Abilities(resume=True, fork=True, survives=True, mcp="http", tells="some prices")


class Known(Protocol):
    """One of them."""

    @property
    def abilities(self) -> Abilities: ...

    @property
    def keys(self) -> tuple[str, ...]: ...

    @property
    def login(self) -> tuple[str, ...]: ...

    @property
    def ledger(self) -> str:
        """Where it writes down its tokens, as a glob below its HOME; empty: it tells its client all there is."""
        ...

    def prepare(self, work: Work, home: Path) -> None:
        """Write what it reads from its HOME."""
        ...

    def words(self, work: Work) -> list[str]:
        """What its command line needs besides the user's words."""
        ...

    def env(self, work: Work, *, is_enclosed: bool) -> dict[str, str]: ...


class Plain(msgspec.Struct, frozen=True, kw_only=True):
    """An agent that needs nothing besides the protocol, or nothing that is known."""

    abilities: Abilities = Abilities(resume=True, survives=True, tells="some prices")
    """Most of them load a conversation; one that does not begins afresh, and says so."""
    keys: tuple[str, ...] = WAYS
    login: tuple[str, ...] = ()
    ledger: str = ""
    model_variable: str = ""
    variables: dict[str, str] = {}

    def prepare(self, work: Work, home: Path) -> None:
        """Nothing is known of its settings."""

    def words(self, work: Work) -> list[str]:  # noqa: ARG002
        return []

    def env(self, work: Work, *, is_enclosed: bool) -> dict[str, str]:  # noqa: ARG002
        return self.variables | ({self.model_variable: work.model} if work.model and self.model_variable else {})


# gemini

_GEMINI: Final = ".gemini"
_SETTINGS: Final = "settings.json"
_OAUTH: Final = f"{_GEMINI}/oauth_creds.json"
_GEMINI_KEY: Final = "gemini-api-key"
_LONG_AGO: Final = "session-2000-01-01T00-00"
_NOT_ASKED: Final[dict[Perm, tuple[str, ...]]] = {
    "run_commands": ("run_shell_command",),
    "web": ("google_web_search", "web_fetch"),
}
"""Tools that only some roles may use: it does not ask about all that they do. About changes it does."""
_ATTEMPTS: Final = 2
"""How often it asks a service that is busy. More is not its business: the run waits, and costs no attempt."""


class Gemini(msgspec.Struct, frozen=True, kw_only=True):
    """The Gemini CLI. It loads conversations, and cannot branch off."""

    abilities: Abilities = msgspec.structs.replace(_RESUMES, tells="tokens", holds=HELD)
    login: tuple[str, ...] = (_OAUTH, f"{_GEMINI}/google_accounts.json")
    ledger: str = f"{_GEMINI}/tmp/*/chats/**/*.jsonl"

    @property
    def keys(self) -> tuple[str, ...]:
        return (*("GEMINI_API_KEY", "GOOGLE_API_KEY", "GEMINI_MODEL"), "GOOGLE_*", "CODE_ASSIST_ENDPOINT", *WAYS)

    def prepare(self, work: Work, home: Path) -> None:
        """Its settings; and its conversations belong to folders, so the lane is the one that they belong to."""
        folder = home / _GEMINI
        settings = {
            "security": {"auth": {"selectedType": _auth(home)}, "folderTrust": {"enabled": False}},
            "general": {"maxAttempts": _ATTEMPTS, "enableAutoUpdate": False, "enableAutoUpdateNotification": False},
            "privacy": {"usageStatisticsEnabled": False},
            "telemetry": {"enabled": False},
            "model": {"maxSessionTurns": work.turns or -1},
            "tools": {"exclude": [tool for perm, tools in _NOT_ASKED.items() if not work.may(perm) for tool in tools]},
        }
        put_file(folder, _SETTINGS, json.dumps(settings).encode())
        if work.session:
            _move_project(folder, str(work.lane.absolute()))
            _put_aside(folder, work.session.partition("/")[2])

    def words(self, work: Work) -> list[str]:
        model = ["-m", work.model] if work.model else []
        seen = [str(path.absolute()) for path in (work.bundle, work.out) if path.is_dir()]
        return [*model, *(["--include-directories", ",".join(seen)] if seen else [])]

    def env(self, work: Work, *, is_enclosed: bool) -> dict[str, str]:  # noqa: ARG002
        return {"GEMINI_CLI_NO_RELAUNCH": "true", "GEMINI_CLI_TRUST_WORKSPACE": "true"}


def _auth(home: Path) -> str:
    """How it logs in: as the user does, or with the key that is there."""
    own = part(_settings(Path.home() / _GEMINI / _SETTINGS), "security", "auth")
    if chosen := text(own, "selectedType"):
        return chosen
    if os.environ.get("GOOGLE_GENAI_USE_VERTEXAI") == "true":
        return "vertex-ai"
    return "oauth-personal" if not os.environ.get("GEMINI_API_KEY") and (home / _OAUTH).is_file() else _GEMINI_KEY


def _move_project(folder: Path, lane: str) -> None:
    """Have what it keeps for the folder that it worked in before belong to this one."""
    names = [path.parent for path in folder.glob("*/*/.project_root")]
    for place in names:
        put_file(place, ".project_root", lane.encode())
    if names:
        put_file(folder, "projects.json", json.dumps({"projects": {lane: names[0].name}}).encode())


def _put_aside(folder: Path, session: str) -> None:
    """Give a conversation's file a name of long ago.

    Whoever loads a conversation in the minute in which it was begun would open the same file for a new one first, and
    find it empty.
    """
    if not session.isascii() or not session.replace("-", "").isalnum():
        return
    for chats in folder.glob("tmp/*/chats"):
        found = sorted(chats.glob(f"session-*-{session[:8]}.jsonl"))
        if found and not found[0].name.startswith(_LONG_AGO):
            found[0].replace(found[0].with_name(f"{_LONG_AGO}-{session[:8]}.jsonl"))


# opencode

_CONTENT: Final = "OPENCODE_CONFIG_CONTENT"
_FOLDER: Final = ".config/opencode"
OPENCODE_SETTINGS: Final = tuple(f"{_FOLDER}/{name}" for name in ("config.json", "opencode.json", "opencode.jsonc"))
"""The user's own, below a home folder; a provider's key may stand in there."""
_LENT: Final = ("$schema", "provider", "model", "small_model", "enabled_providers", "disabled_providers")
"""The user's settings that say which model is asked, where and how; no others hold for agents at work here."""
_PERMISSIONS: Final = {"*": "allow", "external_directory": "allow", "doom_loop": "deny", "question": "deny"}
_TOOLS: Final[dict[Perm, tuple[str, ...]]] = {
    "run_commands": ("bash",),
    "web": ("webfetch", "websearch", "codesearch"),
}
"""What only some roles may do, as its permissions call it."""
_OFF: Final = (
    *("AUTOUPDATE", "CLAUDE_CODE", "DEFAULT_PLUGINS", "EXTERNAL_SKILLS", "LSP_DOWNLOAD", "PROJECT_CONFIG", "SHARE"),
    "TERMINAL_TITLE",
)


class Opencode(msgspec.Struct, frozen=True, kw_only=True):
    """opencode, whose settings are handed over as a variable."""

    abilities: Abilities = msgspec.structs.replace(_FORKS, holds=HELD)
    login: tuple[str, ...] = (".local/share/opencode/auth.json",)
    ledger: str = ".local/share/opencode/opencode.db"

    @property
    def keys(self) -> tuple[str, ...]:
        """Those of the usual services, and those that the user's settings name."""
        usual = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "OPENCODE_API_KEY")
        others = ("GEMINI_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY", "OPENROUTER_API_KEY", "GROQ_API_KEY")
        return (*usual, *others, *self.secrets, "OPENCODE_DISABLE_MODELS_FETCH", "OPENCODE_MODELS_URL", *WAYS)

    @property
    def secrets(self) -> tuple[str, ...]:
        """The variables that the user's settings refer to."""
        return tuple(_variables(json.dumps(_lent())))

    def prepare(self, work: Work, home: Path) -> None:
        """Nobody holds the locks of a HOME that was copied; and its conversations belong to the lane of this step."""
        shutil.rmtree(home / ".local" / "state" / "opencode" / "locks", ignore_errors=True)
        database = home / self.ledger
        if work.session and database.is_file() and not database.is_symlink():
            _move_sessions(database, str(work.lane.absolute()))

    def words(self, work: Work) -> list[str]:  # noqa: ARG002
        return ["--print-logs", "--log-level", "WARN"]

    def env(self, work: Work, *, is_enclosed: bool) -> dict[str, str]:
        is_free = is_enclosed and work.may("modify")
        settings = {
            **_lent(),
            "permission": _PERMISSIONS | _denied(work) | ({} if is_free else {"edit": _edits(work)}),
            "share": "disabled",
            "autoupdate": False,
            **({"model": work.model} if work.model else {}),
            **({"agent": {"build": {"steps": work.turns}}} if work.turns else {}),
        }
        return {_CONTENT: json.dumps(settings), **{f"OPENCODE_DISABLE_{name}": "1" for name in _OFF}}


def _move_sessions(database: Path, lane: str) -> None:
    """Other lanes cannot be seen from a box; where it cannot be said that they are this one, the agent will tell."""
    with suppress(sqlite3.Error), closing(sqlite3.connect(database, timeout=5)) as db, db:
        db.execute("UPDATE project SET worktree = ?", (lane,))
        db.execute("UPDATE session SET directory = ?", (lane,))
        db.execute("DELETE FROM project_directory")


def _denied(work: Work) -> dict[str, str]:
    return {tool: "deny" for perm, tools in _TOOLS.items() if not work.may(perm) for tool in tools}


def _edits(work: Work) -> dict[str, str]:
    """What it may write, in its own rules, of which the last one that fits counts; asked for leave and refused, it
    would end its turn. Its `*` passes through folders, so these may be wider than the globs of the step.
    """
    out = str(work.out.absolute())
    if work.writes is None:
        rules = {"*": "allow", "../*": "deny"}
    else:
        globs = (*work.writes, *ANSWERS)
        # Paths start at the root of the repository, or at `/` where there is none.
        starts = ("", f"{work.lane.absolute()}/".removeprefix("/"))
        rules = {"*": "deny"}
        rules |= {f"{start}{glob}": "allow" for start in starts for glob in globs if not glob.startswith("!")}
        rules |= {f"{start}{glob[1:]}": "deny" for start in starts for glob in globs if glob.startswith("!")}
    return rules | {f"{os.path.relpath(out, work.lane)}/*": "allow", f"{out.removeprefix('/')}/*": "allow"}


def _lent() -> dict[str, Any]:
    """The user's own settings, as far as they are lent."""
    found: dict[str, Any] = {}
    for name in OPENCODE_SETTINGS:
        found |= _settings(Path.home() / name)
    if given := os.environ.get("OPENCODE_CONFIG"):
        found |= _settings(Path(given))
    found |= event_of(os.environ.get(_CONTENT, "{}").encode()) or {}
    return {name: found[name] for name in _LENT if name in found}


def _variables(settings: str) -> list[str]:
    """The variables that settings refer to as `{env:NAME}`."""
    return [piece.partition("}")[0] for piece in settings.split("{env:")[1:]]


def _settings(file: Path) -> dict[str, Any]:
    try:
        found = event_of(file.read_bytes())
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise PortError(
            f"{file}, your settings of an agent, cannot be read: {error.strerror}", code="agent.settings"
        ) from None
    if found is None:
        raise PortError(
            f"{file}, your settings of an agent, is no plain JSON; take its comments out", code="agent.settings"
        )
    return found


# by the program's name

KNOWN: Final[dict[str, Known]] = {
    "gemini": Gemini(),
    "opencode": Opencode(),
    "goose": Plain(
        abilities=_RESUMES,
        keys=("GOOSE_*", "OPENAI_*", "ANTHROPIC_*", "GOOGLE_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY", *WAYS),
        login=(".config/goose/config.yaml", ".config/goose/secrets.yaml"),
        model_variable="GOOSE_MODEL",
        variables={"GOOSE_DISABLE_KEYRING": "1"},
    ),
    "claude-agent-acp": Plain(
        abilities=msgspec.structs.replace(_FORKS, tells="prices"),
        keys=("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "CLAUDE_CODE_OAUTH_TOKEN", *WAYS),
        login=(".claude/.credentials.json",),
        variables={"CLAUDE_CODE_MAX_RETRIES": "2", "DISABLE_AUTOUPDATER": "1"},
    ),
    "codex-acp": Plain(
        abilities=msgspec.structs.replace(_FORKS, tells="tokens"),
        keys=("CODEX_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL", *WAYS),
        login=(".codex/auth.json", ".codex/config.toml"),
    ),
}
UNKNOWN: Final[Known] = Plain()
