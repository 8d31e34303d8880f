"""Codex: its command line, its settings, and what its stream says."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.refusals import refused
from treadle.agents.codex import Codex, CodexReader, toml_text
from treadle.agents.event_stream import StreamSummary, read_all
from treadle.kernel.events import Outages, Usage
from treadle.ports import Work
from treadle.protocol.model import Perm
from treadle.results.tools import mcp_config, mcp_config_at
from treadle.testing.runner_contract import make_work

STREAMS = sorted(Path(__file__).with_name("streams").glob("codex-*.jsonl"))
THREAD = "01a1e10d-138c-7732-a557-552987ecd607"
OURS = ["exec", "--json", "--color", "never", "--skip-git-repo-check", "-C", "LANE"]
FREE = "--dangerously-bypass-approvals-and-sandbox"
VARIABLES = "CODEX_API_KEY", "CODEX_ACCESS_TOKEN", "OPENAI_API_KEY", "OPENAI_BASE_URL", "MINE"
PROVIDER = '[model_providers.mine]\nbase_url = "http://mine/v1"\nenv_key = "MINE"\nrequest_max_retries = 9\n'


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's HOME, without any settings."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    (tmp_path / "user" / ".codex").mkdir(parents=True)
    return tmp_path / "user"


@pytest.fixture
def work(tmp_path: Path) -> Work:
    return make_work(tmp_path, tmp_path / "lane")


def settings(work: Work, home: Path) -> dict[str, Any]:
    Codex().prepare(work, home)
    return tomllib.loads((home / ".codex" / "config.toml").read_text())


def talked(home: Path) -> Path:
    """A HOME with the transcript of a conversation."""
    kept = home / ".codex" / "sessions" / "2026" / "11" / "16" / f"rollout-2026-11-16T16-46-11-{THREAD}.jsonl"
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.touch()
    return home


# the command line


@pytest.mark.parametrize(
    ("codex", "changes", "session", "words"),
    [
        (Codex(), {}, "", ["-s", "workspace-write", "-"]),
        (Codex(), {"model": "gpt-5"}, "", ["-s", "workspace-write", "-m", "gpt-5", "-"]),
        (Codex(is_enclosed=True), {}, "", [FREE, "-"]),
        (Codex(), {"session": f"a/{THREAD}"}, THREAD, ["-s", "workspace-write", "resume", THREAD, "-"]),
        (Codex(is_enclosed=True), {"fork": True, "model": "m"}, THREAD, [FREE, "-m", "m", "fork", THREAD, "-"]),
        (Codex(), {}, "--last-no-name", ["-s", "workspace-write", "-"]),
        (Codex(), {}, THREAD[::-1], ["-s", "workspace-write", "-"]),
        (Codex(), {"perms": ("read_files",)}, "", ["-s", "read-only", "-"]),
        (Codex(), {"perms": ("run_commands",)}, "", ["-s", "workspace-write", "-"]),
        (Codex(), {"perms": ("modify",)}, "", ["-s", "workspace-write", "-"]),
        (Codex(is_enclosed=True), {"perms": ("read_files",)}, "", [FREE, "-"]),
    ],
)
def test_the_command_line_has_sandbox_model_and_session(
    codex: Codex, changes: dict[str, Any], session: str, words: list[str], tmp_path: Path
) -> None:
    work = make_work(tmp_path, tmp_path / "lane", **changes)
    found = codex.argv(work, talked(tmp_path), session)
    assert [word.replace(str(work.lane), "LANE") for word in found] == [*OURS, *words]


def test_only_a_second_round_passes_the_output_schema(tmp_path: Path) -> None:
    work = make_work(tmp_path, tmp_path / "lane", round=1)
    assert "--output-schema" not in Codex().argv(work, talked(tmp_path), THREAD)
    schema = work.bundle / "schema.json"
    schema.write_text("{}")
    assert f"--output-schema {schema} resume {THREAD} -" in " ".join(Codex().argv(work, tmp_path, THREAD))
    assert "--output-schema" not in Codex().argv(make_work(tmp_path, tmp_path / "lane"), tmp_path, "")


# the settings


def test_its_settings_file_is_isolated_and_private(work: Work, user: Path, tmp_path: Path) -> None:
    (user / ".codex" / "config.toml").write_text(
        'model = "gpt-9"\nsandbox_mode = "danger-full-access"\n[mcp_servers.mine]\ncommand = "evil"\n'
    )
    found = settings(work, tmp_path / "h")
    assert found["model"] == "gpt-9"
    assert "sandbox_mode" not in found
    assert found["mcp_servers"] == {}
    assert found["features"] == {
        "plugins": False,
        "apps": False,
        "hooks": False,
        "unbounded_connection_retries": False,
    }
    assert found["agents"] == found["analytics"] == found["skills"]["bundled"] == {"enabled": False}
    assert found["sandbox_workspace_write"]["writable_roots"] == [str(work.out)]
    assert (tmp_path / "h/.codex/config.toml").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("perms", "shell", "search"),
    [
        (None, None, None),
        (("run_commands", "modify"), None, "disabled"),
        (("read_files", "web"), False, None),
        (("read_files", "modify"), None, "disabled"),
    ],
)
def test_features_that_the_role_lacks_permission_for_are_switched_off(
    perms: tuple[Perm, ...] | None,
    shell: bool | None,
    search: str | None,
    user: Path,
    tmp_path: Path,
) -> None:
    assert user.is_dir()
    found = settings(make_work(tmp_path, tmp_path / "lane", perms=perms), tmp_path / "h")
    features = found["features"]
    assert (features.get("shell_tool"), features.get("unified_exec")) == (shell, shell)
    assert found.get("web_search") == search


@pytest.mark.parametrize(
    ("config", "server"),
    [
        (mcp_config({"TREADLE_TOKEN": "t"}, ("py", "-m", "x")), {"command": "py", "args": ["-m", "x"]}),
        (mcp_config_at("http://127.0.0.1:9/a", "t"), {"url": "http://127.0.0.1:9/a"}),
    ],
)
def test_the_servers_of_the_bundle_must_be_there(
    config: dict[str, Any], server: dict[str, Any], work: Work, user: Path, tmp_path: Path
) -> None:
    assert user.is_dir()
    (work.bundle / "mcp.json").write_text(json.dumps(config))
    found = settings(work, tmp_path / "h")["mcp_servers"]["treadle"]
    assert server.items() <= found.items()
    assert (found["required"], found["default_tools_approval_mode"]) == (True, "approve")
    if "url" in server:
        assert found["bearer_token_env_var"] == "TREADLE_TOKEN"
    else:
        assert found["env"] == {"TREADLE_TOKEN": "t"}


@pytest.mark.parametrize(
    ("own", "address", "provider", "retries"),
    [
        ("", "", None, None),
        ("", "http://there/v1", "http://there/v1", 2),
        (f'model_provider = "mine"\n{PROVIDER}', "http://there/v1", "http://mine/v1", 9),
        (PROVIDER, "", None, None),
        ('openai_base_url = "http://mine"', "http://there/v1", None, None),
    ],
)
def test_the_provider_follows_from_the_users_settings(
    own: str,
    address: str,
    provider: str | None,
    retries: int | None,
    work: Work,
    user: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", address)
    (user / ".codex" / "config.toml").write_text(own)
    found = settings(work, tmp_path / "h")
    named = found["model_providers"].get(found.get("model_provider"), {})
    assert (named.get("base_url"), named.get("request_max_retries")) == (provider, retries)
    assert ("MINE" in Codex().keys) == ("MINE" in own)
    assert ("MINE" in found["shell_environment_policy"]["exclude"]) == ("MINE" in own)


def test_settings_that_cannot_be_read_are_named(work: Work, user: Path, tmp_path: Path) -> None:
    (user / ".codex" / "config.toml").write_text("model = ")
    with refused("agent.settings", "user/.codex/config.toml"):
        Codex().prepare(work, tmp_path / "h")


@pytest.mark.parametrize(
    ("set_", "has_login", "key"),
    [
        ({}, False, None),
        ({"OPENAI_API_KEY": "usual"}, False, "usual"),
        ({"OPENAI_API_KEY": "usual"}, True, None),
        ({"OPENAI_API_KEY": "usual", "CODEX_API_KEY": "its own"}, False, None),
    ],
)
def test_the_usual_api_key_is_lent_only_without_a_login(
    set_: dict[str, str], has_login: bool, key: str | None, work: Work, user: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in set_.items():
        monkeypatch.setenv(name, value)
    if has_login:
        (user / ".codex" / "auth.json").touch()
    assert Codex().env(work, user).get("CODEX_API_KEY") == key
    assert "CODEX_API_KEY" in Codex().keys
    assert "OPENAI_API_KEY" not in Codex().keys


def test_temporary_files_have_a_place_in_its_own_sandbox(work: Work, user: Path) -> None:
    Codex().prepare(work, user)
    folder = Path(Codex().env(work, user)["TMPDIR"])
    assert folder.is_dir()
    assert folder.is_relative_to(work.out)
    assert "TMPDIR" not in Codex(is_enclosed=True).env(work, user)


# the stream


def told(stream: str) -> StreamSummary:
    return read_all(CodexReader(), Path(__file__).with_name("streams").joinpath(f"codex-{stream}.jsonl").read_bytes())


@pytest.mark.parametrize(
    ("stream", "final", "usage"),
    [
        ("hello", "DONE: hello.txt written.", Usage(2600, 100, cached=1000, unpriced=2700)),
        ("file-change", "DONE.", Usage(2000, 100, unpriced=2100)),
        ("mcp", "DONE.", Usage(2000, 100, unpriced=2100)),
        ("mcp-denied", "DONE.", Usage(2000, 100, unpriced=2100)),
        ("reconnected", "Hello.", Usage(1000, 50, unpriced=1050)),
    ],
)
def test_streams_that_end_well(stream: str, final: str, usage: Usage) -> None:
    found = told(stream)
    assert (found.is_over, found.trouble, found.outage) == (True, "", None)
    assert (found.final, found.usage) == (final, usage)
    assert found.session


@pytest.mark.parametrize(
    ("stream", "trouble", "outage"),
    [
        ("error", "unexpected status 401 Unauthorized: scripted 401", "login"),
        ("rate", "exceeded retry limit, last status: 429 Too Many Requests", "rate"),
        ("unreachable", "Connection failed: error sending request", "network"),
    ],
)
def test_streams_that_end_in_trouble(stream: str, trouble: str, outage: Outages) -> None:
    found = told(stream)
    assert not found.is_over
    assert found.trouble.startswith(trouble)
    assert found.outage == outage
    assert found.session, "it can go on when the service does"


def test_each_action_is_a_line_of_progress() -> None:
    reader, heard = CodexReader(), []
    for name in ("hello", "file-change", "mcp", "mcp-denied"):
        for line in Path(__file__).with_name("streams").joinpath(f"codex-{name}.jsonl").read_text().splitlines():
            progress = reader.take(json.loads(line))
            heard += [progress.text] if progress else []
    assert "$ /bin/bash -lc 'echo hello from codex > hello.txt'" in heard
    assert "update /repo/README.md, add /repo/hello.txt" in heard
    assert "exit: emit_exit" in heard
    assert "exit: emit_exit failed: MCP tool call requires approval, but approval policy is never" in heard
    assert any(line.startswith("Model metadata for `fake-1` not found.") for line in heard)
    assert "DONE: hello.txt written." in heard


def test_an_error_is_forgotten_once_the_agent_goes_on() -> None:
    """It reconnected, worked, and was killed: that is no outage."""
    reconnecting = b'{"type":"error","message":"Reconnecting... 1/2 (unexpected status 429 Too Many Requests)"}\n'
    item = b'{"type":"item.started","item":{"type":"command_execution","command":"make"}}\n'
    assert read_all(CodexReader(), reconnecting).outage == "rate"
    assert read_all(CodexReader(), reconnecting + item) == StreamSummary()


# damage


def succeeds(data: bytes) -> bool:
    found = read_all(CodexReader(), data)
    return found.is_over and not found.trouble


LINES = [stream.read_bytes().splitlines(keepends=True) for stream in STREAMS]
GOOD = [lines for lines in LINES if succeeds(b"".join(lines))]
BAD = [lines for lines in LINES if not succeeds(b"".join(lines))]
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
TYPES = st.sampled_from(
    "thread.started turn.started turn.completed turn.failed item.started item.updated item.completed error new".split()
)
ITEMS = st.sampled_from("agent_message command_execution file_change mcp_tool_call web_search error new".split())
NAMES = "type thread_id usage error item message text command changes server tool".split()


def test_there_are_streams_of_both_kinds() -> None:
    assert len(GOOD) >= 5
    assert len(BAD) >= 3


@given(st.data(), st.sampled_from(LINES))
def test_a_flipped_bit_never_makes_a_success(data: st.DataObject, lines: list[bytes]) -> None:
    whole = bytearray(b"".join(lines))
    at = data.draw(st.integers(0, len(whole) - 1))
    whole[at] ^= 1 << data.draw(st.integers(0, 7))
    assert not succeeds(bytes(whole)) or lines in GOOD


@given(st.data(), st.sampled_from(GOOD))
def test_a_stream_without_its_last_event_is_no_success(data: st.DataObject, lines: list[bytes]) -> None:
    whole = b"".join(lines)
    assert not succeeds(whole[: data.draw(st.integers(0, len(whole) - 3))])
    assert not succeeds(b"".join(data.draw(st.permutations(lines[:-1]))))


@given(st.data(), st.sampled_from(BAD), st.sampled_from(GOOD))
def test_a_failure_among_other_events_stays_a_failure(data: st.DataObject, bad: list[bytes], good: list[bytes]) -> None:
    """In any order, some of it doubled, some of it gone, among the events of a good stream."""
    failure = bad[-1]
    kept = data.draw(st.lists(st.sampled_from([*bad, *good]), max_size=12))
    assert not succeeds(b"".join(data.draw(st.permutations([failure, *kept]))))


@given(st.lists(st.sampled_from([line for lines in BAD for line in lines]), max_size=12))
def test_no_part_of_a_failure_is_a_success(lines: list[bytes]) -> None:
    assert not succeeds(b"".join(lines))


@given(st.sampled_from(GOOD), st.permutations(range(8)))
def test_doubled_and_reordered_events_are_counted_once(lines: list[bytes], order: list[int]) -> None:
    mixed = [lines[at] for at in order if at < len(lines)]
    found = read_all(CodexReader(), b"".join([*mixed, *lines]))
    assert found.usage == read_all(CodexReader(), b"".join(lines)).usage
    assert found.final == read_all(CodexReader(), b"".join(lines)).final


@given(st.lists(st.fixed_dictionaries({"type": TYPES | JSON}, optional=dict.fromkeys(NAMES[1:], JSON)), max_size=8))
def test_events_of_any_shape_are_read(events: list[dict[str, Any]]) -> None:
    reader = CodexReader()
    for event in events:
        reader.take(event)
    reader.summary()


@given(st.lists(st.fixed_dictionaries({"type": ITEMS}, optional=dict.fromkeys(NAMES[1:], JSON)), max_size=8))
def test_items_of_any_shape_are_read(items: list[dict[str, Any]]) -> None:
    reader = CodexReader()
    for item in items:
        reader.take({"type": "item.completed", "item": item})
    assert not reader.summary().is_over


WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
VALUES = st.recursive(
    st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(WORDS, VALUES, max_size=6))
def test_toml_text_reads_back(data: dict[str, Any]) -> None:
    assert tomllib.loads(toml_text(data)) == data


@pytest.mark.parametrize(
    ("data", "written"),
    [
        ({"a": None, "b": {"c": None, "d": 1}}, "b = {d = 1}\n"),
        ({"half": "\ud800"}, 'half = "?"\n'),
        ({"a.b": ("x", True)}, '"a.b" = ["x", true]\n'),
    ],
)
def test_values_that_toml_lacks_are_dropped_or_replaced(data: dict[str, Any], written: str) -> None:
    assert toml_text(data) == written
