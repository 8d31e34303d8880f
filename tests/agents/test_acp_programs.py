"""Gemini, opencode and others: their settings, and the tokens that they count."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from treadle.agents.acp import KNOWN, UNKNOWN
from treadle.agents.acp_turn import ledger_usage, usage_in_answer
from treadle.errors import PortError
from treadle.protocol.model import Perm
from treadle.testing.runner_contract import make_work

VARIABLES = "GEMINI_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI", "OPENCODE_CONFIG", "OPENCODE_CONFIG_CONTENT"


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's HOME, without any settings."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    return tmp_path / "user"


def put(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def test_each_program_declares_its_abilities() -> None:
    able = {name: (one.abilities.resume, one.abilities.fork, one.abilities.mcp) for name, one in KNOWN.items()}
    assert able["gemini"] == (True, False, "http"), "it cannot branch off"
    assert able["opencode"] == (True, True, "http")
    assert (UNKNOWN.abilities.fork, UNKNOWN.abilities.mcp) == (False, "stdio")
    assert all(one.abilities.survives for one in (*KNOWN.values(), UNKNOWN))


@pytest.mark.parametrize(
    ("environment", "settings", "login", "expected"),
    [
        ({}, "", False, "gemini-api-key"),
        ({}, "", True, "oauth-personal"),
        ({"GEMINI_API_KEY": "k"}, "", True, "gemini-api-key"),
        ({"GOOGLE_GENAI_USE_VERTEXAI": "true"}, "", True, "vertex-ai"),
        ({}, '{"security": {"auth": {"selectedType": "gateway"}}, "mcpServers": {"mine": {}}}', False, "gateway"),
    ],
)
def test_the_login_of_gemini_follows_from_environment_and_settings(
    environment: dict[str, str], settings: str, login: bool, expected: str, user: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    home = user.parent / "home"
    if settings:
        put(user / ".gemini" / "settings.json", settings)
    if login:
        put(home / ".gemini" / "oauth_creds.json", "{}")
    KNOWN["gemini"].prepare(make_work(user.parent, user.parent / "lane"), home)
    written = json.loads((home / ".gemini" / "settings.json").read_text())
    assert written["security"]["auth"]["selectedType"] == expected
    assert written["general"]["maxAttempts"] == 2
    assert "mcpServers" not in written, "servers of the user's are not for agents at work"


def test_a_conversation_of_gemini_moves_to_the_lane_that_goes_on_with_it(user: Path) -> None:
    home = user.parent / "home"
    put(home / ".gemini" / "tmp" / "lane-1" / ".project_root", "/old/lane-1")
    chats = home / ".gemini" / "tmp" / "lane-1" / "chats"
    put(chats / "session-2026-11-16T17-12-d8b571d2.jsonl", "all of it")
    work = make_work(user.parent, user.parent / "lane", session="a/d8b571d2-4546-4227-a48a-2abe83bf5681")
    KNOWN["gemini"].prepare(work, home)
    put(chats / "session-2026-11-16T17-13-d8b571d2.jsonl", "nothing")
    KNOWN["gemini"].prepare(work, home)
    kept = {path.name: path.read_text() for path in chats.iterdir()}
    assert kept["session-2000-01-01T00-00-d8b571d2.jsonl"] == "all of it"
    assert kept["session-2026-11-16T17-13-d8b571d2.jsonl"] == "nothing"
    assert json.loads((home / ".gemini" / "projects.json").read_text()) == {"projects": {str(work.lane): "lane-1"}}
    assert (home / ".gemini" / "tmp" / "lane-1" / ".project_root").read_text() == str(work.lane)


def test_gemini_gets_its_model_and_its_readable_folders_as_options(user: Path) -> None:
    work = make_work(user.parent, user.parent / "lane", model="flash")
    work.out.mkdir(exist_ok=True)
    assert KNOWN["gemini"].words(work) == ["-m", "flash", "--include-directories", f"{work.bundle},{work.out}"]


def test_the_turn_limit_reaches_gemini_and_opencode(user: Path) -> None:
    limited, free = (make_work(user.parent, user.parent / "lane", turns=turns) for turns in (7, 0))
    for work, turns in ((limited, 7), (free, -1)):
        KNOWN["gemini"].prepare(work, user)
        assert json.loads((user / ".gemini/settings.json").read_text())["model"] == {"maxSessionTurns": turns}
    opencode = [
        json.loads(KNOWN["opencode"].env(work, is_enclosed=True)["OPENCODE_CONFIG_CONTENT"]) for work in (limited, free)
    ]
    assert opencode[0]["agent"] == {"build": {"steps": 7}}
    assert "agent" not in opencode[1]


def test_opencode_gets_only_the_providers_of_the_users_settings(user: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    provider = {"mine": {"options": {"apiKey": "{env:MY_KEY}"}}}
    put(user / ".config/opencode/opencode.json", json.dumps({"provider": provider, "mcp": {"a": 1}, "plugin": ["x"]}))
    monkeypatch.setenv("OPENCODE_CONFIG_CONTENT", '{"model": "mine/small", "permission": "allow"}')
    agent = KNOWN["opencode"]
    work = make_work(user.parent, user.parent / "lane", writes=("src/**", "!src/x"))
    written = json.loads(agent.env(work, is_enclosed=False)["OPENCODE_CONFIG_CONTENT"])
    assert (written["provider"], written["model"]) == (provider, "mine/small")
    assert not {"mcp", "plugin"} & {*written}
    edits = written["permission"]["edit"]
    assert (edits["*"], edits["src/**"], edits["src/x"]) == ("deny", "allow", "deny")
    assert "MY_KEY" in agent.keys
    chosen = make_work(user.parent, user.parent / "lane", model="mine/large")
    assert json.loads(agent.env(chosen, is_enclosed=True)["OPENCODE_CONFIG_CONTENT"])["model"] == "mine/large"
    assert "edit" not in json.loads(agent.env(work, is_enclosed=True)["OPENCODE_CONFIG_CONTENT"])["permission"]


def test_unreadable_settings_are_an_error_with_advice(user: Path) -> None:
    put(user / ".config/opencode/opencode.jsonc", "{} // mine")
    with pytest.raises(PortError, match="remove its comments"):
        KNOWN["opencode"].env(make_work(user.parent, user.parent / "lane"), is_enclosed=False)


def test_other_programs_get_their_model_in_a_variable(user: Path) -> None:
    work = make_work(user.parent, user.parent / "lane", model="large")
    assert KNOWN["goose"].env(work, is_enclosed=False)["GOOSE_MODEL"] == "large"
    assert UNKNOWN.env(work, is_enclosed=False) == {}


@pytest.mark.parametrize("is_enclosed", [False, True])
def test_a_roles_missing_permissions_become_deny_rules_of_the_program(is_enclosed: bool, user: Path) -> None:
    def rules(*perms: Perm) -> dict[str, Any]:
        work = make_work(user.parent, user.parent / "lane", perms=perms, writes=("src/**",))
        env = KNOWN["opencode"].env(work, is_enclosed=is_enclosed)
        found: dict[str, Any] = json.loads(env["OPENCODE_CONFIG_CONTENT"])["permission"]
        return found

    critic = rules("read_files")
    assert [critic[name] for name in ("bash", "webfetch", "websearch")] == ["deny"] * 3
    assert critic["edit"]["*"] == "deny"
    free = rules("read_files", "run_commands", "modify", "web")
    assert not {"bash", "webfetch"} & {*free}
    assert ("edit" in free) != is_enclosed

    def excluded(*perms: Perm) -> list[str]:
        KNOWN["gemini"].prepare(make_work(user.parent, user.parent / "lane", perms=perms), user.parent / "home")
        found: list[str] = json.loads((user.parent / "home/.gemini/settings.json").read_text())["tools"]["exclude"]
        return found

    assert excluded("read_files") == ["run_shell_command", "google_web_search", "web_fetch"]
    assert excluded("run_commands", "web") == []


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
def test_usage_is_read_from_the_answer(answer: dict[str, Any], expected: dict[str, int]) -> None:
    assert usage_in_answer(answer) == expected


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


def test_a_missing_or_broken_ledger_counts_no_tokens(tmp_path: Path) -> None:
    assert ledger_usage(tmp_path, "*.db", "it", 0) == {}
    (tmp_path / "odd.db").write_text("no database at all")
    assert ledger_usage(tmp_path, "*.db", "it", 0) == {}
    assert ledger_usage(tmp_path, "*.jsonl", "it", 0) == {}
