"""What an ACP agent has used in one turn, from its answer or from its own ledger."""

import sqlite3
from contextlib import closing, suppress
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from treadle.agents.told import event_of, part, text, whole

_COUNTED: Final = (
    "select data from message where time_created >= ? and session_id in"
    " (select id from session where id = ? or parent_id = ?)"
)


def told_usage(answer: dict[str, Any]) -> dict[str, int]:
    """In the place that the protocol has for it, or where Gemini puts it."""
    if usage := part(answer, "usage"):
        cached = whole(usage, "cachedReadTokens")
        tokens_in = whole(usage, "inputTokens") + cached + whole(usage, "cachedWriteTokens")
        tokens_out = whole(usage, "outputTokens") + whole(usage, "thoughtTokens")
        return {"tokens_in": tokens_in, "tokens_out": tokens_out, "cached": cached}
    count = part(answer, "_meta", "quota", "token_count")
    return {"tokens_in": whole(count, "input_tokens"), "tokens_out": whole(count, "output_tokens")} if count else {}


def ledger_usage(home: Path, ledger: str, name: str, since: int) -> dict[str, int]:
    """What an agent has written down of a turn in its HOME, since a moment in milliseconds; nothing if that is odd."""
    files = sorted(home.glob(ledger))
    if ledger.endswith(".jsonl"):
        return _gemini_usage(files, since)
    return _opencode_usage(files[0], name, since) if files else {}


def _gemini_usage(files: list[Path], since: int) -> dict[str, int]:
    """It tells its clients nothing of its cache. A message that is written again has the same name."""
    messages = {}
    for file in files:
        with suppress(OSError):
            for line in file.read_bytes().splitlines():
                if (event := event_of(line)) and _moment(text(event, "timestamp")) >= since:
                    messages[text(event, "id")] = part(event, "tokens")
    total = {
        "tokens_in": sum(whole(one, "input") for one in messages.values()),
        "tokens_out": sum(whole(one, "output") + whole(one, "thoughts") for one in messages.values()),
        "cached": sum(whole(one, "cached") for one in messages.values()),
    }
    return total if any(total.values()) else {}


def _moment(stamp: str) -> float:
    try:
        return datetime.fromisoformat(stamp).timestamp() * 1000
    except (ValueError, OverflowError):
        return -1


def _opencode_usage(file: Path, name: str, since: int) -> dict[str, int]:
    """It tells its clients only of the last request."""
    total = dict.fromkeys(("tokens_in", "tokens_out", "cached"), 0)
    try:
        with closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True, timeout=1)) as base:
            rows = base.execute(_COUNTED, (since, name, name)).fetchall()
    except sqlite3.Error:
        return {}
    for (data,) in rows:
        tokens = part(event_of(data.encode()) if isinstance(data, str) else None, "tokens")
        cached = whole(part(tokens, "cache"), "read")
        total["tokens_in"] += whole(tokens, "input") + whole(part(tokens, "cache"), "write") + cached
        total["tokens_out"] += whole(tokens, "output") + whole(tokens, "reasoning")
        total["cached"] += cached
    return total if any(total.values()) else {}
