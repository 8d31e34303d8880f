"""What Claude Code tells of itself (`--output-format stream-json`): a JSON object on each line."""

import time
from typing import Any, Final

import msgspec

from treadle.agents.outages import outage_of, wait_of
from treadle.agents.told import Told, each, money, part, text, whole
from treadle.kernel.events import Outages, Usage
from treadle.ports import Progress
from treadle.results.mcp_tool import SERVER

TOOL: Final = f"mcp__{SERVER}__"
"""How the names of Treadle's tools begin here."""
_LONGEST: Final = 7 * 24 * 3600
_TELLING: Final = ("file_path", "notebook_path", "command", "pattern", "url", "query", "description", "path")
_LENGTH: Final = 120
_MOST_REFUSED: Final = 20


class ClaudeReader:
    """Reads the stream. There can be several `result`s; only one after which nothing more is said ends it."""

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
        """The next event; what of it shows that the agent lives."""
        self._session = text(event, "session_id") or self._session
        match text(event, "type"):
            case "assistant":
                return self._said(event)
            case "user":
                self._is_over = False
            case "system":
                return self._happened(event)
            case "rate_limit_event":
                limit = part(event, "rate_limit_info")
                self._resets = whole(limit, "resetsAt") if text(limit, "status") == "rejected" else self._resets
            case "result":
                return self._ended(event)
        return Progress()

    def told(self) -> Told:
        """What all events so far say."""
        last = self._results[max(self._results)] if self._results else {}
        trouble = _trouble(last) if last else ""
        outage = self._outage(last, trouble)
        return Told(
            session=self._session,
            final=text(last, "result"),
            usage=self._usage(),
            is_over=self._is_over,
            trouble=trouble,
            outage=outage,
            wait=self._wait(trouble) if outage else 0,
            refused=tuple(self._refused),
            notes=tuple(self._notes),
        )

    # events

    def _said(self, event: dict[str, Any]) -> Progress:
        self._is_over = False
        message = part(event, "message")
        self._count(text(message, "id"), _usage(part(message, "usage")))
        words = [_words(block, self._folder) for block in each(message, "content")]
        return Progress(next((said for said in reversed(words) if said), ""), self._usage())

    def _count(self, message: str, usage: Usage) -> None:
        """Each message once: it comes in parts, and each part tells all of it."""
        before = self._messages.get(message, Usage())
        self._messages[message] = usage
        more = Usage(usage.tokens_in - before.tokens_in, usage.tokens_out - before.tokens_out)
        self._seen = self._seen.plus(msgspec.structs.replace(more, cached=usage.cached - before.cached))

    def _happened(self, event: dict[str, Any]) -> Progress:
        match text(event, "subtype"):
            case "init":
                self._is_over = False
                self._folder = text(event, "cwd")
                missing = [
                    text(one, "name") for one in each(event, "mcp_servers") if text(one, "status") != "connected"
                ]
                return self._noting([f"its server of tools '{_short(name)}' is not connected" for name in missing])
            case "permission_denied":
                tool, why = text(event, "tool_name"), text(event, "decision_reason")
                what = f"{_short(tool)}: {_short(why) or 'it is not allowed'}"
                if len(self._refused) < _MOST_REFUSED:
                    self._refused[what] = None
                return self._noting([f"it was refused {what}"])
            case "api_retry":
                status, why = whole(event, "error_status"), _short(text(event, "error"))
                return Progress(f"asks its service again ({status or why or 'no answer'})")
        return Progress()

    def _ended(self, event: dict[str, Any]) -> Progress:
        self._is_over = True
        index = whole(event, "result_index") if "result_index" in event else len(self._results)
        if not (before := self._results.get(index)) or not _trouble(before):
            self._results[index] = event
        return Progress(usage=self._usage())

    def _noting(self, notes: list[str]) -> Progress:
        new = [note for note in dict.fromkeys(notes) if note not in self._notes]
        self._notes += new
        return Progress(note="; ".join(new))

    # what they say together

    def _usage(self) -> Usage:
        """What the results count, subagents included, and of what none of them counts at least what went in."""
        counted = Usage()
        for result in self._results.values():
            counted = counted.plus(_counted(result))
        seen = self._seen
        more_in = max(seen.tokens_in - counted.tokens_in, 0)
        more_out = max(seen.tokens_out - counted.tokens_out, 0)
        more_cached = min(max(seen.cached - counted.cached, 0), more_in)
        return counted.plus(Usage(more_in, more_out, cached=more_cached, unpriced=more_in + more_out))

    def _outage(self, result: dict[str, Any], trouble: str) -> Outages | None:
        """Words count only if it was the service that failed: an agent may speak of quotas, too."""
        if trouble and text(result, "subtype") in _LIMITS:
            return "budget"
        status = whole(result, "api_error_status") or None
        if not trouble or not (status or text(result, "terminal_reason") == "api_error"):
            return None
        return "quota" if self._resets else outage_of(trouble, status)

    def _wait(self, trouble: str) -> int:
        until = min(max(self._resets - int(time.time()), 0), _LONGEST)
        return until if self._resets else wait_of(trouble)


_LIMITS: Final = ("error_max_turns", "error_max_budget_usd")
"""It was stopped by what it may use, and not by anything that went wrong."""


def _trouble(result: dict[str, Any]) -> str:
    """Why a result is no success; only one that says so in each place is."""
    kind, reason = text(result, "subtype"), text(result, "terminal_reason")
    is_fine = result.get("is_error") is False and kind == "success"
    if is_fine and not reason.startswith(("aborted", "api_error")):
        return ""
    errors = result.get("errors")
    said = [word for word in errors if isinstance(word, str)] if isinstance(errors, list) else []
    words = text(result, "result") or "; ".join(said) or "it ended with an error"
    return f"{_short(words, 2000)} ({_short(reason or kind or 'no result')})"


def _counted(result: dict[str, Any]) -> Usage:
    """What was used since the result before; a price that is a guess counts as none."""
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
        total = total.plus(
            Usage(tokens_in, tokens_out, cost or 0.0, cached, tokens_in + tokens_out if cost is None else 0)
        )
    return total


def _usage(usage: dict[str, Any]) -> Usage:
    """What goes in is all that the model reads: new, put into the cache, or read from it."""
    cached = whole(usage, "cache_read_input_tokens")
    tokens_in = whole(usage, "input_tokens") + whole(usage, "cache_creation_input_tokens") + cached
    return Usage(tokens_in, whole(usage, "output_tokens"), cached=cached)


def _words(block: dict[str, Any], folder: str) -> str:
    """What a part of a message shows of the agent's doing."""
    if text(block, "type") == "text":
        return _short(text(block, "text"))
    if text(block, "type") != "tool_use":
        return ""
    name, given = text(block, "name").removeprefix(TOOL), part(block, "input")
    telling = next((text(given, key) for key in _TELLING if text(given, key)), "")
    telling = telling.removeprefix(f"{folder}/") if folder else telling
    return _short(f"{name}{':' if name == 'Bash' else ''} {telling}")


def _short(words: str, length: int = _LENGTH) -> str:
    """On one line, and nothing that a terminal would obey."""
    line = " ".join("".join(one if one.isprintable() else " " for one in words[: 2 * length]).split())
    return line if len(line) <= length else f"{line[: length - 1]}…"
