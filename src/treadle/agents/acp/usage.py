"""What an ACP agent has used in one turn, from its answer or from its own ledger."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from treadle.agents.told import event_of, part, whole

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


def ledger_usage(file: Path, name: str, since: int) -> dict[str, int]:
    """What opencode has written down of this turn: it tells its clients only of the last request."""
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
