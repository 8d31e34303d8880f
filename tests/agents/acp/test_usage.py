"""What a turn has used, by an agent's answer or by its own ledger."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from treadle.agents.acp.usage import ledger_usage, told_usage

TABLES = "create table session (id, parent_id); create table message (session_id, time_created, data)"


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ({}, {}),
        ({"usage": {"inputTokens": 5, "outputTokens": 1}}, {"tokens_in": 5, "tokens_out": 1, "cached": 0}),
        (
            {"usage": {"inputTokens": 5, "cachedReadTokens": 3, "cachedWriteTokens": 2, "thoughtTokens": 4}},
            {"tokens_in": 10, "tokens_out": 4, "cached": 3},
        ),
        (
            {"_meta": {"quota": {"token_count": {"input_tokens": 7, "output_tokens": 2}}}},
            {"tokens_in": 7, "tokens_out": 2},
        ),
        ({"usage": {"inputTokens": "many", "outputTokens": -1}}, {"tokens_in": 0, "tokens_out": 0, "cached": 0}),
    ],
)
def test_as_it_is_told(answer: dict[str, Any], expected: dict[str, int]) -> None:
    assert told_usage(answer) == expected


def test_a_ledger_counts_the_messages_of_this_turn_and_of_its_helpers(tmp_path: Path) -> None:
    file = tmp_path / "a#1.db"
    tokens = {"input": 10, "output": 2, "reasoning": 1, "cache": {"read": 5, "write": 3}}
    spent = json.dumps({"role": "assistant", "tokens": tokens})
    with closing(sqlite3.connect(file)) as base, base:
        base.executescript(TABLES)
        base.executemany("insert into session values (?, ?)", [("it", None), ("helper", "it"), ("other", None)])
        rows = [("it", 99, spent), ("it", 100, spent), ("helper", 101, spent), ("other", 101, spent), ("it", 102, "no")]
        base.executemany("insert into message values (?, ?, ?)", rows)
    assert ledger_usage(tmp_path, "*.db", "it", 100) == {"tokens_in": 36, "tokens_out": 6, "cached": 10}
    assert ledger_usage(tmp_path, "*.db", "none", 100) == {}


def test_a_ledger_of_lines_counts_each_message_once(tmp_path: Path) -> None:
    tokens = {"input": 10, "output": 2, "thoughts": 1, "cached": 5}
    lines = [
        {"id": "a", "timestamp": "2026-11-16T17:12:36.187Z", "tokens": tokens},
        {"id": "b", "timestamp": "2026-11-16T17:12:37Z", "tokens": {"input": 1}},
        {"id": "b", "timestamp": "2026-11-16T17:12:37Z", "tokens": tokens},
        {"id": "c", "timestamp": "never", "tokens": tokens},
        {"$set": {}},
    ]
    (tmp_path / "a.jsonl").write_text("\n".join(["odd", *map(json.dumps, lines)]))
    since = 1_794_849_156_187
    assert ledger_usage(tmp_path, "*.jsonl", "", since) == {"tokens_in": 20, "tokens_out": 6, "cached": 10}
    assert ledger_usage(tmp_path, "*.jsonl", "", since + 1) == {"tokens_in": 10, "tokens_out": 3, "cached": 5}
    assert ledger_usage(tmp_path, "*.jsonl", "", since + 1000) == {}


def test_what_is_no_ledger_counts_nothing(tmp_path: Path) -> None:
    assert ledger_usage(tmp_path, "*.db", "it", 0) == {}
    (tmp_path / "odd.db").write_text("no database at all")
    assert ledger_usage(tmp_path, "*.db", "it", 0) == {}
    assert ledger_usage(tmp_path, "*.jsonl", "it", 0) == {}
