"""`codex`: OpenAI's Codex, once for each activity as `codex exec --json`."""

import json
import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from treadle.agents.contract import put_file
from treadle.agents.event_stream import (
    Reader,
    StreamSummary,
    each,
    event_of,
    one_line,
    outage_of,
    part,
    text,
    wait_of,
    whole,
)
from treadle.errors import PortError
from treadle.kernel.events import Usage
from treadle.ports import Abilities, Progress, Work
from treadle.protocol.model import HELD
from treadle.results.intake import read_file

# Writing TOML, the format of Codex's settings; the standard library only reads it.

_BARE: Final = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)


def toml_text(data: Mapping[str, Any]) -> str:
    """Format data as TOML, one line for each key, with inline tables. None is left out: TOML cannot express it."""
    return "".join(f"{_key(name)} = {_value(value)}\n" for name, value in data.items() if value is not None)


def _value(value: object) -> str:
    match value:
        case bool() | int() | float():
            return json.dumps(value).replace("NaN", "nan").replace("Infinity", "inf")
        case Mapping():
            pairs = (f"{_key(str(name))} = {_value(one)}" for name, one in value.items() if one is not None)
            return f"{{{', '.join(pairs)}}}"
        case list() | tuple():
            return f"[{', '.join(_value(one) for one in value)}]"
        case _:
            return _quoted(str(value))


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _quoted(name)


def _quoted(text: str) -> str:
    """Format a basic string as in JSON, but escape DEL and replace lone surrogates, which TOML forbids."""
    whole = text.encode(errors="replace").decode()
    return json.dumps(whole, ensure_ascii=False).replace("\x7f", "\\u007f")


_FOLDER: Final = ".codex"
_SETTINGS: Final = "config.toml"
_LOGIN: Final = f"{_FOLDER}/auth.json"
CODEX_SETTINGS: Final = (f"{_FOLDER}/{_SETTINGS}",)
"""The user's settings file, relative to a home folder; it may contain a provider's key."""
_KEY: Final = "CODEX_API_KEY"
"""The key that `codex exec` reads from its environment; it has priority over a login."""
_USUAL_KEY: Final = "OPENAI_API_KEY"
_SECRETS: Final = (_KEY, "CODEX_ACCESS_TOKEN")
_WAYS: Final = (
    *("OPENAI_ORGANIZATION", "OPENAI_PROJECT", "CODEX_CA_CERTIFICATE", "SSL_CERT_FILE"),
    *(name for upper in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY") for name in (upper, upper.lower())),
)
"""Variables for proxies, certificates and the account, needed to reach its service."""
_LENT: Final = (
    *("model", "model_provider", "model_providers", "openai_base_url", "chatgpt_base_url"),
    *("model_reasoning_effort", "model_reasoning_summary", "model_verbosity", "model_context_window"),
    *("model_auto_compact_token_limit", "service_tier", "forced_login_method", "forced_chatgpt_workspace_id"),
)
"""The user's settings that choose the model and its service; agents get no others."""
_PATIENT: Final = {"request_max_retries": 2, "stream_max_retries": 2}
"""Few retries: the run waits for a service instead, because it knows for how long and survives a restart."""
_INSTRUCTIONS: Final = (
    "You work on one step of a larger run, and no person can answer you: do not ask questions, but end the step with"
    " the exit that names what is missing. Hand in your exit with the tool `emit_exit` of the server `treadle`, and"
    " correct what it refuses. Leave your changes in the working tree: Treadle commits them."
)
_NAME: Final = re.compile(r"[0-9A-Za-z][0-9A-Za-z-]{7,63}", re.ASCII)
_STATUS: Final = re.compile(r"\bstatus:? ([45]\d\d)\b", re.ASCII)


class Codex(msgspec.Struct, frozen=True, kw_only=True):
    """The dialect of Codex: its command line and its settings."""

    is_enclosed: bool = False
    """Whether a sandbox already limits its writes; its own sandbox would be in the way there."""
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
        """The variables that contain keys, including those that the user's settings name."""
        return (*_SECRETS, *_named_secrets(_lent_settings()))

    @property
    def sandbox(self) -> str:
        return "" if self.is_enclosed else "its own sandbox"

    def prepare(self, work: Work, home: Path) -> None:
        """Write its settings; they contain secrets (a token, maybe a key), so its command line never has them."""
        if not self.is_enclosed:
            _scratch(work).mkdir(parents=True, exist_ok=True)
        if work.fork:  # its indices name the files of the HOME that this one was copied from; it makes them anew
            for index in (home / _FOLDER).glob("*.sqlite*"):
                index.unlink()
        put_file(home / _FOLDER, _SETTINGS, toml_text(self.settings(work)).encode())

    def settings(self, work: Work) -> dict[str, Any]:
        """Return its configuration: the user's settings for the service, ours for everything else."""
        lent = _lent_settings()
        features = ["plugins", "apps", "hooks", "unbounded_connection_retries"]
        if not work.may("run_commands") and not work.may("modify"):
            # Such a role reads with the tools of its step. A role that may modify always keeps the shell: models
            # unknown to Codex have no other way to write.
            features += ["shell_tool", "unified_exec"]
        return {
            **_service(lent, os.environ.get("OPENAI_BASE_URL", "")),
            "approval_policy": "never",
            "cli_auth_credentials_store": "file",
            "check_for_update_on_startup": False,
            "developer_instructions": _INSTRUCTIONS,
            "project_doc_max_bytes": 0,  # AGENTS.md is quoted in the prompt, from the commit that the run starts from
            "agents": {"enabled": False},  # its stream and its usage cover one thread only
            "analytics": {"enabled": False},
            "features": dict.fromkeys(features, False),
            "skills": {"bundled": {"enabled": False}},  # else quoted in every prompt, and unpacked into every new HOME
            "sandbox_workspace_write": {
                "writable_roots": [str(work.out.absolute())],
                "exclude_slash_tmp": True,  # where the lanes of others may be
                "exclude_tmpdir_env_var": True,
            },
            "shell_environment_policy": {
                "inherit": "all",  # with the mark that identifies its processes
                "ignore_default_excludes": True,
                "exclude": [*_SECRETS, *_named_secrets(lent)],
            },
            "mcp_servers": _servers(work),
            **({} if work.may("web") else {"web_search": "disabled"}),
        }

    def argv(self, work: Work, home: Path, session: str) -> list[str]:
        """Return the command line; all options precede `resume` or `fork`, since a conversation passes none on."""
        writes = work.may("modify") or work.may(
            "run_commands"
        )  # tests leave their traces; the check on the diff judges them
        sandbox = ["-s", "workspace-write" if writes else "read-only"]
        kept = ["--dangerously-bypass-approvals-and-sandbox"] if self.is_enclosed else sandbox
        lane = str(work.lane.absolute())
        words = ["exec", "--json", "--color", "never", "--skip-git-repo-check", "-C", lane, *kept]
        words += ["-m", work.model] if work.model else []
        # An agent that forgot to answer by a tool must answer by its final message.
        schema = work.bundle.absolute() / "schema.json"
        words += ["--output-schema", str(schema)] if work.round and schema.is_file() else []
        # Without its transcript, a conversation cannot continue; a new one begins.
        transcripts = (home / _FOLDER / "sessions").rglob(f"rollout-*-{session}.jsonl*")
        if _NAME.fullmatch(session) and any(transcripts):
            words += ["fork" if work.fork else "resume", session]
        return [*words, "-"]

    def env(self, work: Work, home: Path) -> dict[str, str]:
        found = {"CODEX_HOME": str(home / _FOLDER)}
        if not self.is_enclosed:
            found["TMPDIR"] = str(_scratch(work))
        # It does not look at the usual variable. A login goes before it: that key may be meant for something else.
        has_key = any(name in os.environ for name in _SECRETS) or (home / _LOGIN).is_file()
        if _USUAL_KEY in os.environ and not has_key:
            found[_KEY] = os.environ[_USUAL_KEY]
        return found

    def reader(self) -> Reader:
        return CodexReader()


# Settings


def _scratch(work: Work) -> Path:
    """Return a folder for temporary files: without a sandbox, all agents share `/tmp`."""
    return work.out.absolute() / "tmp"


def _lent_settings() -> dict[str, Any]:
    """Return the user's own settings, limited to `_LENT`."""
    file = Path.home() / _FOLDER / _SETTINGS
    try:
        found = tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise PortError(f"{file}, your settings of Codex, cannot be read: {error}", code="agent.settings") from None
    return {name: found[name] for name in _LENT if name in found}


def _service(lent: Mapping[str, Any], address: str) -> dict[str, Any]:
    """Return the settings of the service: from the user's settings, else from the environment, else Codex's default."""
    providers = {name: _PATIENT | one for name, one in part(dict(lent), "model_providers").items() if part(one)}
    if not address or "model_provider" in lent or "openai_base_url" in lent:
        return {**lent, "model_providers": providers}
    own = {"name": "treadle", "base_url": address, "wire_api": "responses", "requires_openai_auth": True, **_PATIENT}
    return {**lent, "model_provider": "treadle", "model_providers": {**providers, "treadle": own}}


def _named_secrets(lent: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the variables from which the user's settings read a key."""
    providers = [part(one) for one in part(dict(lent), "model_providers").values()]
    names = [text(one, "env_key") for one in providers]
    names += [value for one in providers for value in part(one, "env_http_headers").values() if isinstance(value, str)]
    return tuple(dict.fromkeys(name for name in names if name))


def _servers(work: Work) -> dict[str, Any]:
    """Return the MCP servers of the bundle. Codex must not start without them, and needs no approval to use them."""
    found = read_file(work.bundle, "mcp.json")
    named = part(event_of(found) if isinstance(found, bytes) else None, "mcpServers")
    always = {"required": True, "default_tools_approval_mode": "approve"}
    always |= {"startup_timeout_sec": 60, "tool_timeout_sec": 300}
    servers = {}
    for name in named:
        one = part(named, name)
        own: dict[str, Any] = {key: one[key] for key in ("command", "args", "env") if key in one}
        if address := text(one, "url"):
            own = {"url": address, "bearer_token_env_var": "TREADLE_TOKEN"}
        servers[name] = own | always
    return servers


# Output


class CodexReader:
    """Reads the output of `codex exec --json`."""

    def __init__(self) -> None:
        self._session = self._final = ""
        self._usage = Usage()
        self._is_over = False
        self._failure = self._error = ""

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
                item = part(event, "item")
                if text(item, "type") != "error":
                    self._error = ""  # a retry has succeeded
                if kind == "item.completed" and text(item, "type") == "agent_message":
                    self._final = text(item, "text")
                return Progress(_short(_progress_line(item)))
        return None

    def summary(self) -> StreamSummary:
        trouble = self._failure or ("" if self._is_over else self._error)
        status = _STATUS.search(trouble)
        return StreamSummary(
            session=self._session,
            final=self._final,
            usage=self._usage,
            is_over=self._is_over,
            trouble=trouble,
            outage=outage_of(trouble, int(status[1]) if status else None) if trouble else None,
            wait=wait_of(trouble),
        )


def _progress_line(item: dict[str, Any]) -> str:
    """Return one line of progress for an item."""
    match text(item, "type"):
        case "command_execution":
            return f"$ {text(item, 'command')}"
        case "file_change":
            return ", ".join(f"{text(one, 'kind')} {text(one, 'path')}" for one in each(item, "changes"))
        case "mcp_tool_call":
            failure = text(part(item, "error"), "message")
            return f"{text(item, 'server')}: {text(item, 'tool')}" + (f" failed: {failure}" if failure else "")
        case "web_search":
            return text(item, "query")
        case "error":
            return text(item, "message")
        case _:
            return text(item, "text")


def _usage(usage: dict[str, Any]) -> Usage:
    """Parse the usage of the whole thread. Codex reports no price, so all tokens are unpriced."""
    tokens_in, tokens_out = whole(usage, "input_tokens"), whole(usage, "output_tokens")
    cached = min(whole(usage, "cached_input_tokens"), tokens_in)
    return Usage(tokens_in=tokens_in, tokens_out=tokens_out, cached=cached, unpriced=tokens_in + tokens_out)


def _short(words: str) -> str:
    return one_line(words, 300)
