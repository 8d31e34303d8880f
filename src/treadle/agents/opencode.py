"""opencode: its keys, login and settings, beyond the Agent Client Protocol."""

import json
import os
import re
import shutil
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Final

import msgspec

from treadle.agents.event_stream import event_of, part, whole
from treadle.agents.one_shot import PROXY_VARIABLES, read_settings
from treadle.ports import Abilities, Work
from treadle.protocol.model import HELD, Perm
from treadle.results import executor_result, handoff

_CONTENT: Final = "OPENCODE_CONFIG_CONTENT"
OPENCODE_SETTINGS: Final = tuple(
    f".config/opencode/{name}" for name in ("config.json", "opencode.json", "opencode.jsonc")
)
"""The user's settings files, relative to a home folder; they may contain a provider's key."""
_LENT: Final = ("$schema", "provider", "model", "small_model", "enabled_providers", "disabled_providers")
"""The user's settings that choose the model and its service; agents get no others."""
_PERMISSIONS: Final = {"*": "allow", "external_directory": "allow", "doom_loop": "deny", "question": "deny"}
_TOOLS: Final[dict[Perm, tuple[str, ...]]] = {
    "run_commands": ("bash",),
    "web": ("webfetch", "websearch", "codesearch"),
}
"""The names of opencode's permissions for each permission of a role."""
_OFF: Final = (
    *("AUTOUPDATE", "CLAUDE_CODE", "DEFAULT_PLUGINS", "EXTERNAL_SKILLS", "LSP_DOWNLOAD", "PROJECT_CONFIG", "SHARE"),
    "TERMINAL_TITLE",
)


class Opencode(msgspec.Struct, frozen=True, kw_only=True):
    """opencode, configured through an environment variable."""

    abilities: Abilities = Abilities(resume=True, fork=True, survives=True, mcp="http", tells="some prices", holds=HELD)
    login: tuple[str, ...] = (".local/share/opencode/auth.json",)
    ledger: str = ".local/share/opencode/opencode.db"

    @property
    def keys(self) -> tuple[str, ...]:
        """The key variables of the usual services, and those that the user's settings name."""
        usual = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "OPENCODE_API_KEY")
        others = ("GEMINI_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY", "OPENROUTER_API_KEY", "GROQ_API_KEY")
        own = ("OPENCODE_DISABLE_MODELS_FETCH", "OPENCODE_MODELS_URL")
        return (*usual, *others, *self.secrets, *own, *PROXY_VARIABLES)

    @property
    def secrets(self) -> tuple[str, ...]:
        """The variables that the user's settings refer to, as `{env:NAME}`."""
        return tuple(re.findall(r"\{env:([^}]*)", json.dumps(_lent_settings())))

    def prepare(self, work: Work, home: Path) -> None:
        """Remove stale locks that came with a copied HOME, and move its conversations to this lane."""
        shutil.rmtree(home / ".local" / "state" / "opencode" / "locks", ignore_errors=True)
        database = home / self.ledger
        if not work.session or not database.is_file() or database.is_symlink():
            return
        lane = str(work.lane.absolute())
        # A sandbox hides the other lanes, so a stored session must name this one. Database errors are ignored: the
        # agent itself will report a session that it cannot load.
        with suppress(sqlite3.Error), closing(sqlite3.connect(database, timeout=5)) as db, db:
            db.execute("UPDATE project SET worktree = ?", (lane,))
            db.execute("UPDATE session SET directory = ?", (lane,))
            db.execute("DELETE FROM project_directory")

    def words(self, work: Work) -> list[str]:  # noqa: ARG002
        return ["--print-logs", "--log-level", "WARN"]

    def env(self, work: Work, *, is_enclosed: bool) -> dict[str, str]:
        denied = {tool: "deny" for perm, tools in _TOOLS.items() if not work.may(perm) for tool in tools}
        is_free = is_enclosed and work.may("modify")
        settings = {
            **_lent_settings(),
            "permission": _PERMISSIONS | denied | ({} if is_free else {"edit": _edit_rules(work)}),
            "share": "disabled",
            "autoupdate": False,
            **({"model": work.model} if work.model else {}),
            **({"agent": {"build": {"steps": work.turns}}} if work.turns else {}),
        }
        return {_CONTENT: json.dumps(settings), **{f"OPENCODE_DISABLE_{name}": "1" for name in _OFF}}


def _edit_rules(work: Work) -> dict[str, str]:
    """Return the write scope as opencode's edit rules, where the last match wins.

    The rules allow or deny and never ask, because a refused request would end its turn. Its `*` crosses folders, so
    they may be wider than the step's globs.
    """
    out = str(work.out.absolute())
    if work.writes is None:
        rules = {"*": "allow", "../*": "deny"}
    else:
        globs = (*work.writes, executor_result.FILE, *handoff.FILES)
        # Paths start at the root of the repository, or at `/` where there is none.
        starts = ("", f"{work.lane.absolute()}/".removeprefix("/"))
        rules = {"*": "deny"}
        rules |= {f"{start}{glob}": "allow" for start in starts for glob in globs if not glob.startswith("!")}
        rules |= {f"{start}{glob[1:]}": "deny" for start in starts for glob in globs if glob.startswith("!")}
    return rules | {f"{os.path.relpath(out, work.lane)}/*": "allow", f"{out.removeprefix('/')}/*": "allow"}


def _lent_settings() -> dict[str, Any]:
    """Return the user's own settings, limited to `_LENT`."""
    files = [Path.home() / name for name in OPENCODE_SETTINGS]
    if own := os.environ.get("OPENCODE_CONFIG"):
        files.append(Path(own))
    found: dict[str, Any] = {}
    for file in files:
        found |= read_settings(file)
    found |= event_of(os.environ.get(_CONTENT, "{}").encode()) or {}
    return {name: found[name] for name in _LENT if name in found}


def count_tokens(database: Path, session: str, since: int) -> dict[str, int]:
    """Sum up opencode's database since a moment in milliseconds: it reports only the last request to its clients."""
    total = dict.fromkeys(("tokens_in", "tokens_out", "cached"), 0)
    query = (
        "select data from message where time_created >= ? and session_id in"
        " (select id from session where id = ? or parent_id = ?)"
    )
    try:
        with closing(sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True, timeout=1)) as base:
            rows = base.execute(query, (since, session, session)).fetchall()
    except sqlite3.Error:
        return {}
    for (data,) in rows:
        tokens = part(event_of(data.encode()) if isinstance(data, str) else None, "tokens")
        cached = whole(part(tokens, "cache"), "read")
        total["tokens_in"] += whole(tokens, "input") + whole(part(tokens, "cache"), "write") + cached
        total["tokens_out"] += whole(tokens, "output") + whole(tokens, "reasoning")
        total["cached"] += cached
    return total
