"""`claude`: Claude Code, started once for each activity as `claude -p`, which prints a stream of JSON."""

import functools
import json
import os
import re
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any, Final

import msgspec

from treadle.agents.event_stream import (
    LONGEST_WAIT,
    StreamSummary,
    each,
    money,
    one_line,
    outage_of,
    part,
    text,
    wait_of,
    whole,
)
from treadle.kernel.events import Outages, Usage
from treadle.ports import Abilities, Progress, Work
from treadle.protocol.model import HELD, Perm
from treadle.results import executor_result, handoff
from treadle.results.tools import EMIT, SERVER

# The stream of Claude Code (`--output-format stream-json`): a JSON object on each line.

TOOL: Final = f"mcp__{SERVER}__"
"""The prefix of Treadle's tools in Claude Code."""
_LIMITS: Final = ("error_max_turns", "error_max_budget_usd")
"""Kinds of results that mean a limit stopped it, not an error."""
_TELLING: Final = ("file_path", "notebook_path", "command", "pattern", "url", "query", "description", "path")
"""The arguments of a tool that say the most, the best first."""
_MOST_REFUSED: Final = 20


class ClaudeReader:
    """Reads the stream. It may contain several `result` events; only a result with nothing after it ends the stream."""

    def __init__(self) -> None:
        self._session = self._folder = ""
        self._is_over = False
        self._results: dict[int, dict[str, Any]] = {}
        self._messages: dict[str, Usage] = {}
        self._seen = Usage()
        self._notes: list[str] = []
        self._refused: dict[str, None] = {}
        self._resets = 0

    def take(self, event: dict[str, Any]) -> Progress | None:
        """Process the next event and return the progress that it shows."""
        self._session = text(event, "session_id") or self._session
        match text(event, "type"):
            case "assistant":
                self._is_over = False
                message = part(event, "message")
                self._count(text(message, "id"), _usage(part(message, "usage")))
                lines = [_progress_line(block, self._folder) for block in each(message, "content")]
                return Progress(next((line for line in reversed(lines) if line), ""), self._usage())
            case "user":
                self._is_over = False
            case "system":
                return self._take_system_event(event)
            case "rate_limit_event":
                limit = part(event, "rate_limit_info")
                self._resets = whole(limit, "resetsAt") if text(limit, "status") == "rejected" else self._resets
            case "result":
                self._is_over = True
                index = whole(event, "result_index") if "result_index" in event else len(self._results)
                if not (before := self._results.get(index)) or not _trouble(before):
                    self._results[index] = event
                return Progress(usage=self._usage())
        return Progress()

    def _take_system_event(self, event: dict[str, Any]) -> Progress:
        match text(event, "subtype"):
            case "init":
                self._is_over = False
                self._folder = text(event, "cwd")
                servers = [one for one in each(event, "mcp_servers") if text(one, "status") != "connected"]
                names = [_short(text(one, "name")) for one in servers]
                return self._note([f"its tool server '{name}' is not connected" for name in names])
            case "permission_denied":
                tool, why = text(event, "tool_name"), text(event, "decision_reason")
                what = f"{_short(tool)}: {_short(why) or 'it is not allowed'}"
                if len(self._refused) < _MOST_REFUSED:
                    self._refused[what] = None
                return self._note([f"it was refused {what}"])
            case "api_retry":
                status, why = whole(event, "error_status"), _short(text(event, "error"))
                return Progress(f"asks its service again ({status or why or 'no answer'})")
        return Progress()

    def _note(self, notes: list[str]) -> Progress:
        new = [note for note in dict.fromkeys(notes) if note not in self._notes]
        self._notes += new
        return Progress(note="; ".join(new))

    def _count(self, message: str, usage: Usage) -> None:
        """Count each message once: it arrives in parts, and each part repeats the usage of the whole message."""
        before = self._messages.get(message, Usage())
        self._messages[message] = usage
        more = Usage(usage.tokens_in - before.tokens_in, usage.tokens_out - before.tokens_out)
        self._seen = self._seen.plus(msgspec.structs.replace(more, cached=usage.cached - before.cached))

    def summary(self) -> StreamSummary:
        """Return the summary of all events so far."""
        last = self._results[max(self._results)] if self._results else {}
        trouble = _trouble(last) if last else ""
        status = whole(last, "api_error_status") or None
        outage: Outages | None = None
        if trouble and text(last, "subtype") in _LIMITS:
            outage = "budget"
        elif trouble and (status or text(last, "terminal_reason") == "api_error"):
            # Words count only if the service failed: an agent may write about quotas, too.
            outage = "quota" if self._resets else outage_of(trouble, status)
        until = min(max(self._resets - int(time.time()), 0), LONGEST_WAIT)
        return StreamSummary(
            session=self._session,
            final=text(last, "result"),
            usage=self._usage(),
            is_over=self._is_over,
            trouble=trouble,
            outage=outage,
            wait=(until if self._resets else wait_of(trouble)) if outage else 0,
            refused=tuple(self._refused),
        )

    def _usage(self) -> Usage:
        """Return the usage of all results, with subagents; messages that no result counts are added unpriced."""
        counted = Usage()
        for result in self._results.values():
            counted = counted.plus(_counted(result))
        seen = self._seen
        more_in = max(seen.tokens_in - counted.tokens_in, 0)
        more_out = max(seen.tokens_out - counted.tokens_out, 0)
        more_cached = min(max(seen.cached - counted.cached, 0), more_in)
        return counted.plus(Usage(more_in, more_out, cached=more_cached, unpriced=more_in + more_out))


def _trouble(result: dict[str, Any]) -> str:
    """Return why a result is no success; a success must be marked as one in every field."""
    kind, reason = text(result, "subtype"), text(result, "terminal_reason")
    is_fine = result.get("is_error") is False and kind == "success"
    if is_fine and not reason.startswith(("aborted", "api_error")):
        return ""
    errors = result.get("errors")
    messages = [word for word in errors if isinstance(word, str)] if isinstance(errors, list) else []
    words = text(result, "result") or "; ".join(messages) or "it ended with an error"
    return f"{_short(words, 2000)} ({_short(reason or kind or 'no result')})"


def _counted(result: dict[str, Any]) -> Usage:
    """Return the usage since the previous result; an estimated price counts as none."""
    models = result.get("model_usage_since_last_result")
    if not isinstance(models, dict):
        usage = _usage(part(result, "usage"))
        return msgspec.structs.replace(usage, unpriced=usage.tokens_in + usage.tokens_out)
    total = Usage()
    for model in models.values():
        one = model if isinstance(model, dict) else {}
        cached, made = whole(one, "cacheReadInputTokens"), whole(one, "cacheCreationInputTokens")
        tokens_in, tokens_out = whole(one, "inputTokens") + cached + made, whole(one, "outputTokens")
        cost = money(one, "costUSD") if text(one, "costBasis") != "unknown" else None
        unpriced = tokens_in + tokens_out if cost is None else 0
        total = total.plus(Usage(tokens_in, tokens_out, cost or 0.0, cached, unpriced))
    return total


def _usage(usage: dict[str, Any]) -> Usage:
    """Parse the usage of a message; input tokens are new ones, those written to the cache and those read from it."""
    cached = whole(usage, "cache_read_input_tokens")
    tokens_in = whole(usage, "input_tokens") + whole(usage, "cache_creation_input_tokens") + cached
    return Usage(tokens_in, whole(usage, "output_tokens"), cached=cached)


def _progress_line(block: dict[str, Any], folder: str) -> str:
    """Return one line of progress for a block of a message."""
    if text(block, "type") == "text":
        return _short(text(block, "text"))
    if text(block, "type") != "tool_use":
        return ""
    name, given = text(block, "name").removeprefix(TOOL), part(block, "input")
    telling = next((text(given, key) for key in _TELLING if text(given, key)), "")
    telling = telling.removeprefix(f"{folder}/") if folder else telling
    return _short(f"{name}{':' if name == 'Bash' else ''} {telling}")


def _short(words: str, length: int = 120) -> str:
    return one_line(words, length)


_FOLDER: Final = ".claude"
_SYSTEM: Final = (
    "You work on one step of a larger plan, and no person can answer questions. The prompt gives your role in it, your "
    "task, and the files that you may change; Treadle checks your claims. Leave your changes uncommitted. "
    f"When you are done, call the tool {TOOL}{EMIT} once: nothing else ends the step. If it refuses your answer, "
    "correct the answer and call it again."
)
"""The same for every role: a conversation keeps its first system prompt, even if another role continues it."""
_UNUSED: Final = (
    *("AskUserQuestion", "CronCreate", "CronDelete", "CronList", "DesignSync", "EnterPlanMode", "EnterWorktree"),
    *("ExitPlanMode", "ExitWorktree", "ListAgents", "ScheduleWakeup", "SendMessage"),
)
"""Tools that lead out of the lane, to other agents, to a person, or beyond the end of the step."""
_TOOLS: Final[dict[Perm, tuple[str, ...]]] = {
    "run_commands": ("Bash", "Monitor"),
    "modify": ("Edit", "NotebookEdit", "Write"),
    "web": ("WebFetch", "WebSearch"),
}
"""The tools for each permission of a role; a role without the permission is refused them, in a sandbox too."""
_NETWORK: Final = (
    "NODE_EXTRA_CA_CERTS",
    *(name for upper in ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY") for name in (upper, upper.lower())),
)
_KEYS: Final = (
    *("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "ANTHROPIC_CUSTOM_HEADERS"),
    *("CLAUDE_CODE_OAUTH_TOKEN", "ANTHROPIC_MODEL", "ANTHROPIC_DEFAULT_*"),
)
_CLOUDS: Final = {
    "CLAUDE_CODE_USE_BEDROCK": ("AWS_*", "ANTHROPIC_BEDROCK_*"),
    "CLAUDE_CODE_USE_VERTEX": (
        "GOOGLE_*",
        "GCLOUD_PROJECT",
        "CLOUD_ML_REGION",
        "ANTHROPIC_VERTEX_*",
        "VERTEX_REGION_*",
    ),
    "CLAUDE_CODE_USE_FOUNDRY": ("ANTHROPIC_FOUNDRY_*", "AZURE_*"),
}
"""Cloud services that offer the model; Treadle passes their variables on only if one is in use."""
_NAME: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)
_PLAIN: Final = re.compile(r"[\w./*@+-]+")
"""The pattern of globs that mean the same in a permission rule of Claude Code."""
_ANSWERS: Final = (executor_result.FILE, handoff.FILES[0])


class Claude(msgspec.Struct, frozen=True, kw_only=True):
    """The dialect of Claude Code: its command line, its settings and its stream."""

    is_enclosed: bool = False
    """Whether a sandbox already limits its writes; then it need not ask."""
    has_sandbox: bool = False
    """Whether its own sandbox for commands works here; used only without another enclosure."""
    program: str = "claude"
    abilities: Abilities = Abilities(resume=True, fork=True, survives=True, mcp="http", tells="prices", holds=HELD)
    login: tuple[str, ...] = (f"{_FOLDER}/.credentials.json",)
    """The login file; not `.claude.json`, where an agent could plant commands for the user's own programs."""
    otherwise: tuple[str, ...] = tuple(_CLOUDS)
    cumulative: tuple[str, ...] = ()

    @property
    def keys(self) -> tuple[str, ...]:
        """Its variables; those of a cloud only if that cloud is in use."""
        used = [name for name in _CLOUDS if os.environ.get(name)]
        return (*_KEYS, *_NETWORK, *used, *(name for cloud in used for name in _CLOUDS[cloud]))

    @property
    def sandbox(self) -> str:
        """Its own sandbox covers commands; its permission rules cover its file tools and always apply."""
        return "" if self.is_enclosed else "its own sandbox" if self.has_sandbox else "its own rules"

    def prepare(self, work: Work, home: Path) -> None:
        """Write nothing: its command line contains all its settings."""

    def argv(self, work: Work, home: Path, session: str) -> list[str]:
        """Return the whole command line each time: a resumed conversation keeps no permissions and no model."""
        words = ["-p", "--output-format", "stream-json", "--verbose", "--append-system-prompt", _SYSTEM]
        refused = (*_UNUSED, *(tool for perm, tools in _TOOLS.items() if not work.may(perm) for tool in tools))
        words += ["--setting-sources", "", "--strict-mcp-config", "--disallowedTools", ",".join(refused)]
        words += self._permissions(work)
        if (servers := work.bundle.absolute() / "mcp.json").exists():
            words += ["--mcp-config", str(servers)]
        if work.model:
            words += ["--model", work.model]
        if work.turns:
            words += ["--max-turns", str(work.turns)]
        # Without its transcript, a conversation cannot continue: the agent begins a new one with a complete prompt.
        if _NAME.fullmatch(session) and any((home / _FOLDER / "projects").glob(f"*/{session}.jsonl")):
            words += ["--resume", session, *(["--fork-session"] if work.fork else [])]
        return words

    def env(self, work: Work, home: Path) -> dict[str, str]:  # noqa: ARG002
        """Return its variables: its folder, whichever HOME an image has; no tool search, no updates, few retries."""
        own = {
            "CLAUDE_CONFIG_DIR": str(home / _FOLDER),
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_MAX_RETRIES": "2",  # beyond that the run waits, which costs no attempt
            "DISABLE_AUTOUPDATER": "1",
            "ENABLE_TOOL_SEARCH": "false",
        }
        return own | ({"IS_SANDBOX": "1"} if self.is_enclosed else {})

    def reader(self) -> ClaudeReader:
        return ClaudeReader()

    def _permissions(self, work: Work) -> list[str]:
        """Return the options that refuse everything not allowed, since there is no user to answer questions."""
        if self.is_enclosed:
            return ["--permission-mode", "bypassPermissions"]
        # Claude Code would ask about these two; changes have their own rules.
        allowed = [tool for perm in ("run_commands", "web") if work.may(perm) for tool in _TOOLS[perm]]
        allowed += [f"mcp__{SERVER}", f"Read(/{work.bundle.absolute()}/**)"]
        mode = "acceptEdits"
        if not work.may("modify"):
            mode = "dontAsk"
        elif work.writes is not None and all(map(_PLAIN.fullmatch, work.writes)):
            mode, allowed = "dontAsk", [*allowed, *(f"Edit(/{glob})" for glob in (*work.writes, *_ANSWERS))]
        words = ["--permission-mode", mode, "--allowedTools", *allowed]
        if self.has_sandbox:
            # Commands write the lane and the answers; a failing sandbox is an error, no gap.
            sandbox = {"enabled": True, "failIfUnavailable": True, "allowUnsandboxedCommands": False}
            files = {"allowWrite": [str(work.out.absolute())]}
            words += ["--settings", json.dumps({"sandbox": {**sandbox, "filesystem": files}})]
        return words


@functools.cache
def sandbox_works() -> bool:
    """Whether its own sandbox for commands works on this machine."""
    program = shutil.which("bwrap")
    if not program or not shutil.which("socat"):
        return False
    trial = "--ro-bind / / --dev /dev --proc /proc --unshare-net --unshare-pid true".split()
    try:
        return subprocess.run([program, *trial], capture_output=True, timeout=10, check=False).returncode == 0
    except (OSError, subprocess.SubprocessError):
        return False
