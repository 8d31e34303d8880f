"""`codex`: OpenAI's Codex, once for each activity as `codex exec --json`."""

import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from treadle.agents.answer import put_file
from treadle.agents.one_shot import variables
from treadle.agents.outages import outage_of, wait_of
from treadle.agents.told import Reader, Told, each, event_of, part, text, whole
from treadle.agents.toml_text import toml_text
from treadle.errors import PortError
from treadle.kernel.events import Usage
from treadle.ports import Abilities, Progress, Work
from treadle.protocol.model import HELD
from treadle.results.files import look

_FOLDER: Final = ".codex"
_SETTINGS: Final = "config.toml"
_LOGIN: Final = f"{_FOLDER}/auth.json"
CODEX_SETTINGS: Final = (f"{_FOLDER}/{_SETTINGS}",)
"""The user's own, below a home folder; a provider's key may stand in there."""
_KEY: Final = "CODEX_API_KEY"
"""The one that `codex exec` takes from its environment; it goes before a login."""
_USUAL_KEY: Final = "OPENAI_API_KEY"
_ADDRESS: Final = "OPENAI_BASE_URL"
_SECRETS: Final = (_KEY, "CODEX_ACCESS_TOKEN")
_WAYS: Final = (
    *("OPENAI_ORGANIZATION", "OPENAI_PROJECT", "CODEX_CA_CERTIFICATE", "SSL_CERT_FILE"),
    *(name for upper in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY") for name in (upper, upper.lower())),
)
"""How its service is reached."""
_LENT: Final = (
    *("model", "model_provider", "model_providers", "openai_base_url", "chatgpt_base_url"),
    *("model_reasoning_effort", "model_reasoning_summary", "model_verbosity", "model_context_window"),
    *("model_auto_compact_token_limit", "service_tier", "forced_login_method", "forced_chatgpt_workspace_id"),
)
"""The user's settings that say which model is asked, where and how; no others hold for agents at work here."""
_PATIENT: Final = {"request_max_retries": 2, "stream_max_retries": 2}
"""Whoever waits for a service is the run: it knows for how long, and outlives a restart."""
_START_UP: Final = 60
_CALL: Final = 300
_INSTRUCTIONS: Final = (
    "You work on one step of a larger run, and nobody reads along: do not ask questions, end the step with the exit"
    " that says what is missing. Hand in how the step ended with the tool `emit_exit` of the server `treadle`, and"
    " correct what it does not accept. Leave your changes in the working tree: they are committed for you."
)
_NAME: Final = re.compile(r"[0-9A-Za-z][0-9A-Za-z-]{7,63}", re.ASCII)
_STATUS: Final = re.compile(r"\bstatus:? ([45]\d\d)\b", re.ASCII)
_SHOWN: Final = 300
_MOST_NOTES: Final = 20


class Codex(msgspec.Struct, frozen=True, kw_only=True):
    """What Codex needs to be told."""

    is_enclosed: bool = False
    """Whether something around it keeps its writes to where they belong; its own sandbox would be in the way there."""
    program: str = "codex"
    abilities: Abilities = Abilities(resume=True, fork=True, survives=True, mcp="http", tells="tokens", holds=HELD)
    login: tuple[str, ...] = (_LOGIN,)
    otherwise: tuple[str, ...] = (_USUAL_KEY,)
    cumulative: tuple[str, ...] = ("tokens_in", "tokens_out", "cached", "unpriced")

    @property
    def keys(self) -> tuple[str, ...]:
        return (*self.secrets, *_WAYS)

    @property
    def secrets(self) -> tuple[str, ...]:
        """Those of its variables that are keys, also those that the user's settings name."""
        return (*_SECRETS, *_named_secrets(_lent_settings()))

    @property
    def sandbox(self) -> str:
        return "" if self.is_enclosed else "its own sandbox"

    def prepare(self, work: Work, home: Path) -> None:
        """Write its settings; they hold secrets (a token, maybe a key), so they never are words of its command."""
        if not self.is_enclosed:
            _scratch(work).mkdir(parents=True, exist_ok=True)
        if work.fork:  # its indices name the files of the HOME that this one was copied from; it makes them anew
            for index in (home / _FOLDER).glob("*.sqlite*"):
                index.unlink()
        put_file(home / _FOLDER, _SETTINGS, toml_text(self.settings(work)).encode())

    def settings(self, work: Work) -> dict[str, Any]:
        """Its configuration: the user's where the service is concerned, ours everywhere else."""
        lent = _lent_settings()
        return {
            **_served(lent, os.environ.get(_ADDRESS, "")),
            "approval_policy": "never",
            "cli_auth_credentials_store": "file",
            "check_for_update_on_startup": False,
            "developer_instructions": _INSTRUCTIONS,
            "project_doc_max_bytes": 0,  # AGENTS.md is quoted in the prompt, from the commit that the run starts from
            "agents": {"enabled": False},  # its stream tells of one thread, and so does what it says that it used
            "analytics": {"enabled": False},
            "features": dict.fromkeys(("plugins", "apps", "hooks", "unbounded_connection_retries"), False)
            | _without_commands(work),
            "skills": {"bundled": {"enabled": False}},  # told in every prompt, and unpacked into every new HOME
            "sandbox_workspace_write": {
                "writable_roots": [str(work.out.absolute())],
                "exclude_slash_tmp": True,  # where the lanes of others may be
                "exclude_tmpdir_env_var": True,
            },
            "shell_environment_policy": {
                "inherit": "all",  # with the mark by which what it starts is found
                "ignore_default_excludes": True,
                "exclude": [*_SECRETS, *_named_secrets(lent)],
            },
            "mcp_servers": _servers(work),
            **({} if work.may("web") else {"web_search": "disabled"}),
        }

    def argv(self, work: Work, home: Path, session: str) -> list[str]:
        """All of it goes before the word that continues a conversation: nothing is inherited from it."""
        writes = work.may("modify") or work.may("run_commands")  # tests leave their traces; the diff is looked at
        sandbox = ["-s", "workspace-write" if writes else "read-only"]
        kept = ["--dangerously-bypass-approvals-and-sandbox"] if self.is_enclosed else sandbox
        lane = str(work.lane.absolute())
        words = ["exec", "--json", "--color", "never", "--skip-git-repo-check", "-C", lane, *kept]
        words += ["-m", work.model] if work.model else []
        # Whoever forgot to answer by a tool has to do it by its last words.
        schema = work.bundle.absolute() / "schema.json"
        words += ["--output-schema", str(schema)] if work.round and schema.is_file() else []
        if _is_kept(home, session):
            words += ["fork" if work.fork else "resume", session]
        return [*words, "-"]

    def env(self, work: Work, home: Path) -> dict[str, str]:
        found = {"CODEX_HOME": str(home / _FOLDER)}
        if not self.is_enclosed:
            found["TMPDIR"] = str(_scratch(work))
        # It does not look at the usual variable. A login goes before it: that key may be meant for something else.
        usual = variables((_USUAL_KEY,))
        if usual and not variables(_SECRETS) and not (home / _LOGIN).is_file():
            found[_KEY] = usual[_USUAL_KEY]
        return found

    def reader(self) -> Reader:
        return CodexReader()


# what it is told


def _is_kept(home: Path, session: str) -> bool:
    """Whether a conversation can go on; one whose transcript is gone begins anew."""
    kept = (home / _FOLDER / "sessions").rglob(f"rollout-*-{session}.jsonl*") if _NAME.fullmatch(session) else ()
    return any(kept)


def _without_commands(work: Work) -> dict[str, bool]:
    """Who may neither run commands nor modify has no shell: it reads by the tools of its step.

    Who may modify keeps it, whatever else it may: models that the program does not know write by nothing else.
    """
    return {} if work.may("run_commands") or work.may("modify") else {"shell_tool": False, "unified_exec": False}


def _scratch(work: Work) -> Path:
    """For temporary files: without a box around it, `/tmp` is the same folder for all agents."""
    return work.out.absolute() / "tmp"


def _lent_settings() -> dict[str, Any]:
    """The user's own settings, as far as they are lent."""
    file = Path.home() / _FOLDER / _SETTINGS
    try:
        found = tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise PortError(f"{file}, your settings of Codex, cannot be read: {error}", code="agent.settings") from None
    return {name: found[name] for name in _LENT if name in found}


def _served(lent: Mapping[str, Any], address: str) -> dict[str, Any]:
    """Which service is asked: what the user's settings name, or what the environment does, or Codex's own."""
    providers = {name: _PATIENT | one for name, one in part(dict(lent), "model_providers").items() if part(one)}
    if not address or "model_provider" in lent or "openai_base_url" in lent:
        return {**lent, "model_providers": providers}
    own = {"name": "treadle", "base_url": address, "wire_api": "responses", "requires_openai_auth": True, **_PATIENT}
    return {**lent, "model_provider": "treadle", "model_providers": {**providers, "treadle": own}}


def _named_secrets(lent: Mapping[str, Any]) -> tuple[str, ...]:
    """The variables that the user's settings take a key from."""
    providers = [part(one) for one in part(dict(lent), "model_providers").values()]
    names = [text(one, "env_key") for one in providers]
    names += [value for one in providers for value in part(one, "env_http_headers").values() if isinstance(value, str)]
    return tuple(dict.fromkeys(name for name in names if name))


def _servers(work: Work) -> dict[str, Any]:
    """The servers of tools that its bundle names. Without them it must not even begin, and it needs no leave."""
    found = look(work.bundle, "mcp.json")
    named = part(event_of(found) if isinstance(found, bytes) else None, "mcpServers")
    always = {"required": True, "default_tools_approval_mode": "approve"}
    always |= {"startup_timeout_sec": _START_UP, "tool_timeout_sec": _CALL}
    return {name: _server(part(one)) | always for name, one in named.items()}


def _server(one: dict[str, Any]) -> dict[str, Any]:
    if address := text(one, "url"):
        return {"url": address, "bearer_token_env_var": "TREADLE_TOKEN"}
    return {name: one[name] for name in ("command", "args", "env") if name in one}


# what it tells


class CodexReader:
    """Reads what `codex exec --json` prints."""

    def __init__(self) -> None:
        self._session = self._final = ""
        self._usage = Usage()
        self._is_over = False
        self._failure = self._error = ""
        self._notes: dict[str, None] = {}

    def take(self, event: dict[str, Any]) -> Progress | None:
        kind = text(event, "type")
        match kind:
            case "thread.started":
                name = text(event, "thread_id")
                self._session = self._session or (name if _NAME.fullmatch(name) else "")
            case "turn.completed" if isinstance(event.get("usage"), dict):
                self._is_over, self._usage = True, _usage(event["usage"])
            case "turn.failed":
                self._failure = text(part(event, "error"), "message") or "its turn failed, and it does not say why"
            case "error":
                self._error = text(event, "message")
                return Progress(_short(self._error))
            case "item.started" | "item.updated" | "item.completed":
                return self._item(kind, part(event, "item"))
        return None

    def told(self) -> Told:
        trouble = self._failure or ("" if self._is_over else self._error)
        status = _STATUS.search(trouble)
        return Told(
            session=self._session,
            final=self._final,
            usage=self._usage,
            is_over=self._is_over,
            trouble=trouble,
            outage=outage_of(trouble, int(status[1]) if status else None) if trouble else None,
            wait=wait_of(trouble),
            notes=tuple(self._notes),
        )

    def _item(self, kind: str, item: dict[str, Any]) -> Progress:
        if text(item, "type") != "error":
            self._error = ""  # whatever it tried again has succeeded
        if kind == "item.completed":
            if text(item, "type") == "agent_message":
                self._final = text(item, "text")
            if (note := _warning(item)) and len(self._notes) < _MOST_NOTES:
                self._notes[_short(note)] = None
        return Progress(_short(_shown(item)))


def _shown(item: dict[str, Any]) -> str:
    """What an item is about, in a line for people."""
    match text(item, "type"):
        case "command_execution":
            return f"$ {text(item, 'command')}"
        case "file_change":
            return ", ".join(f"{text(one, 'kind')} {text(one, 'path')}" for one in each(item, "changes"))
        case "mcp_tool_call":
            return _warning(item) or f"{text(item, 'server')}: {text(item, 'tool')}"
        case "web_search":
            return text(item, "query")
        case "error":
            return text(item, "message")
        case _:
            return text(item, "text")


def _warning(item: dict[str, Any]) -> str:
    """What people should know: it warns, or its tools were not to be had."""
    match text(item, "type"):
        case "error":
            return text(item, "message")
        case "mcp_tool_call" if why := text(part(item, "error"), "message"):
            return f"{text(item, 'server')}: {text(item, 'tool')} failed: {why}"
        case _:
            return ""


def _usage(told: dict[str, Any]) -> Usage:
    """Of the whole thread. It tells no price, so all of it is unpriced."""
    tokens_in, tokens_out = whole(told, "input_tokens"), whole(told, "output_tokens")
    cached = min(whole(told, "cached_input_tokens"), tokens_in)
    return Usage(tokens_in=tokens_in, tokens_out=tokens_out, cached=cached, unpriced=tokens_in + tokens_out)


def _short(words: str) -> str:
    line = " ".join(words[: 4 * _SHOWN].split())
    return line if len(line) <= _SHOWN else f"{line[: _SHOWN - 1]}…"
