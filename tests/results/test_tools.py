"""The tools that agents are offered: to answer, to fetch payloads, and to read files."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.prompts.stage import TOOLCHAIN, scene
from tests.results.desk import desk
from treadle.kernel.commands import RunAgent
from treadle.prompts.bundle import contents
from treadle.protocol.answers.schema import schema, tool_schemas
from treadle.protocol.items import Json, canonical, content_ref
from treadle.protocol.load import load
from treadle.results.assignment import RECEIVED, assignment
from treadle.results.tools import (
    FILES_TOOLS,
    LIST,
    MOST_FILES,
    MOST_LINES,
    PIECE,
    READ,
    SEARCH,
    ToolReply,
    answer_tools,
    call_answer_tool,
    call_files_tool,
    call_payload_tool,
    has_payloads,
    is_files_tool,
    may_read_files,
    mcp_config,
    mcp_config_at,
)

# The tools of an activity, without a server around them.


RED = "dptr/cycle/red"


def test_the_configuration_carries_only_the_activity() -> None:
    config = mcp_config({"TREADLE_ACT": "act-7", "HOME": "/root", "API_KEY": "secret"})
    (server,) = config["mcpServers"].values()
    assert server["env"] == {"TREADLE_ACT": "act-7"}
    assert [server["command"], *server["args"]] == [sys.executable, "-P", "-m", "treadle", "mcp"]


def test_the_configuration_of_tools_that_are_served_already() -> None:
    (server,) = mcp_config_at("http://127.0.0.1:1/a", "t").values()
    headers = {"Authorization": "Bearer t"}
    assert server == {"treadle": {"type": "http", "url": "http://127.0.0.1:1/a", "headers": headers}}


def test_tools_have_the_schemas_of_the_step(tmp_path: Path) -> None:
    it = desk(tmp_path, RED)
    takes = {tool.name: tool.takes for tool in answer_tools(assignment(it.env))}
    assert takes["emit_exit"] == schema(it.step_exits.protocol, it.step_exits.exits)
    assert {name: takes[name] for name in ("exit_RC", "exit_BL")} == tool_schemas(
        it.step_exits.protocol, it.step_exits.exits
    )
    assert list(takes) == ["emit_exit", "exit_RC", "exit_BL", "status", "handoff"]


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("emit_exit", {"exit": {"type": "RC"}}, ToolReply(f"RC: {RECEIVED}")),
        ("emit_exit", {"type": "RC"}, ToolReply(f"RC: {RECEIVED}")),
        ("exit_RC", {"message": "three"}, ToolReply(f"RC: {RECEIVED}")),
        ("handoff", {"text": "beware"}, ToolReply("kept")),
        ("handoff", {"text": " "}, ToolReply("not kept: give the notes as `text`", ok=False)),
        ("handoff", {}, ToolReply("not kept: give the notes as `text`", ok=False)),
        (
            "exit",
            {},
            ToolReply("there is no tool 'exit'; the tools are emit_exit, exit_RC, exit_BL, status, handoff", ok=False),
        ),
    ],
)
def test_each_tool_call_gets_its_reply(name: str, arguments: dict[str, Any], said: ToolReply, tmp_path: Path) -> None:
    it = desk(tmp_path, RED)
    assert call_answer_tool(assignment(it.env), it.env, name, arguments) == said


def test_a_refusal_lists_everything(tmp_path: Path) -> None:
    it = desk(tmp_path, "v3/node/tests")
    said = call_answer_tool(assignment(it.env), it.env, "exit_InvalidScaffold", {"commit": "abc"})
    assert not said.ok
    assert [line[:2] for line in said.text.splitlines()] == ["no", "- ", "- ", "- ", "Co"]
    assert list(it.work.out.iterdir()) == []


def test_status_shows_the_step_its_exits_and_the_answer(tmp_path: Path) -> None:
    it = desk(tmp_path, RED)
    task = assignment(it.env)
    before = call_answer_tool(task, it.env, "status", {})
    place, exits, state = before.text.splitlines()
    assert (before.ok, place) == (True, "step red attempt 2")
    assert exits.endswith(" RC or BL")
    assert "handed in: " not in state
    call_answer_tool(task, it.env, "exit_RC", {})
    assert call_answer_tool(task, it.env, "status", {}).text.endswith("handed in: RC")


# Payloads by address, as an agent may fetch them from its bundle.


LONG = "→é😀" * 40_000


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    values: dict[str, Json] = {"one": {"b": 1, "a": [None, "é"]}, "long": LONG}
    (tmp_path / "inputs").mkdir()
    for name, value in values.items():
        (tmp_path / "inputs" / f"{name}.json").write_text(json.dumps(value))
    (tmp_path / "inputs" / "some.json").write_text(json.dumps(["x", "y"]))
    places: list[dict[str, Any]] = [
        {"ref": content_ref(value), "input": name, "file": f"inputs/{name}.json", "at": None}
        for name, value in values.items()
    ]
    places += [
        {"ref": content_ref(value), "input": "some", "file": "inputs/some.json", "at": n}
        for n, value in enumerate(["x", "y"])
    ]
    places += [{"ref": "text:too late", "input": "gate_report", "file": "inputs/gate_report.json", "at": None}]
    (tmp_path / "payloads.json").write_text(json.dumps(places))
    return tmp_path


def test_a_payload_by_address_or_input(bundle: Path) -> None:
    ref = content_ref({"a": [None, "é"], "b": 1})
    for asked in (ref, "one"):
        found = call_payload_tool(bundle, {"ref": asked})
        assert found.data == {"ref": ref, "total": 22, "offset": 0, "text": '{"a":[null,"é"],"b":1}'}
        assert json.loads(found.text) == found.data
    assert call_payload_tool(bundle, {"ref": content_ref("y")}).data["text"] == '"y"'
    assert call_payload_tool(bundle, {"ref": "gate_report"}).data["text"] == "too late"
    assert [each["input"] for each in call_payload_tool(bundle, {}).data["payloads"]] == [
        "one",
        "long",
        "some",
        "some",
        "gate_report",
    ]


def test_a_long_payload_comes_in_pieces(bundle: Path) -> None:
    parts: list[str] = []
    while (at := sum(map(len, parts))) < len(LONG) + 2:
        found = call_payload_tool(bundle, {"ref": "long", "offset": at}).data
        parts.append(found["text"])
        assert found.get("next_offset", len(LONG) + 2) == sum(map(len, parts))
    assert len(parts) == 3
    assert max(map(len, parts)) == PIECE
    assert "".join(parts).encode() == canonical(LONG)
    assert call_payload_tool(bundle, {"ref": "long", "offset": 1, "limit": 2}).data["text"] == LONG[:2]
    assert call_payload_tool(bundle, {"ref": "long", "offset": 10**9}).data["text"] == ""


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"ref": "sha256:" + "0" * 64}, "is not an input of this step"),
        ({"ref": "lomg"}, "did you mean 'long'?"),
        ({"ref": "some"}, "there are several of 'some': sha256:"),
        ({"ref": 5}, "`ref` is a text"),
        ({"offset": -1}, "`offset` a whole number"),
        ({"limit": True}, "`limit` one from 1"),
        ({"ref": "../../etc/passwd"}, "is not an input"),
    ],
)
def test_a_malformed_payload_request_is_refused(bundle: Path, given: dict[str, Any], words: str) -> None:
    found = call_payload_tool(bundle, given)
    assert not found.ok
    assert words in found.text


def test_payloads_that_were_changed_in_the_bundle_are_refused(bundle: Path, tmp_path: Path) -> None:
    (bundle / "inputs" / "one.json").write_text('{"b": 2}')
    (bundle / "inputs" / "long.json").unlink()
    (bundle / "inputs" / "long.json").symlink_to("/etc/passwd")
    (bundle / "inputs" / "some.json").write_text("[")
    for ref in ("one", "long", content_ref("x")):
        reply = call_payload_tool(bundle, {"ref": ref})
        assert (reply.ok, reply.data, "inputs/" in reply.text) == (False, None, True), "nothing of it is handed out"
    (bundle / "payloads.json").write_text('{"not": "a list"}')
    assert call_payload_tool(bundle, {}) == ToolReply('{\n  "payloads": []\n}', data={"payloads": []})
    assert has_payloads(bundle)
    assert not has_payloads(tmp_path / "elsewhere")


def test_every_input_of_a_step_can_be_fetched(tmp_path: Path) -> None:
    protocol = load("v3")
    there = scene(protocol, "node", "impl")
    assert isinstance(there.command, RunAgent)
    for name, body in contents(protocol, there.state, there.command, there.payloads, TOOLCHAIN).items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body)
    refs = {ref for refs in there.command.inputs.values() for ref in refs if ref}
    assert {each["ref"] for each in call_payload_tool(tmp_path, {}).data["payloads"]} == refs
    for ref in refs:
        text = call_payload_tool(tmp_path, {"ref": ref}).data["text"]
        assert (
            text == ref.removeprefix("text:")
            if ref.startswith("text:")
            else json.loads(text) == there.payloads.get(ref)
        )


# Tools to read by, for agents who have no shell.


@pytest.fixture
def place(tmp_path: Path) -> Path:
    lane, bundle = tmp_path / "lane", tmp_path / "bundle"
    for path, text in {
        lane / "src/a.py": "def one():\n    return 1\n",
        lane / "src/deep/b.py": "ONE = 1\n",
        lane / ".git/config": "[secret]\n",
        bundle / "files/memory-bank/progress.md": "# Progress\none\n",
        tmp_path / "outside.txt": "one, and a secret\n",
    }.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (lane / "link.txt").symlink_to(tmp_path / "outside.txt")
    (lane / "folder").symlink_to(tmp_path)
    return tmp_path


def data(place: Path, name: str, **given: Any) -> dict[str, Any]:
    said = call_files_tool(place / "lane", place / "bundle", name, given)
    assert said.ok, said.text
    assert json.loads(said.text) == said.data
    found: dict[str, Any] = said.data
    return found


def test_files_of_the_lane_and_the_bundle_are_listed(place: Path) -> None:
    assert data(place, LIST) == {"files": ["src/a.py", "src/deep/b.py"]}
    assert data(place, LIST, glob="src/*.py") == {"files": ["src/a.py"]}
    own = "$TREADLE_BUNDLE/files/memory-bank/progress.md"
    for glob in ("$TREADLE_BUNDLE/**", f"{place}/bundle/**"):
        assert data(place, LIST, glob=glob) == {"files": [own]}
    assert data(place, LIST, glob="../**") == {"files": []}


def test_a_file_is_read(place: Path) -> None:
    whole = {"path": "src/a.py", "lines": 2, "line": 1, "text": "def one():\n    return 1"}
    assert data(place, READ, path="src/a.py") == whole
    assert data(place, READ, path=f"{place}/lane/./src//a.py")["text"] == whole["text"]
    assert data(place, READ, path="src/a.py", line=2)["text"] == "    return 1"
    assert data(place, READ, path="src/a.py", line=9) == {"path": "src/a.py", "lines": 2, "line": 9, "text": ""}
    assert data(place, READ, path="$TREADLE_BUNDLE/files/memory-bank/progress.md")["lines"] == 2


def test_a_long_file_comes_in_pieces(place: Path) -> None:
    lines = [f"{number} {'é' * 90}" for number in range(2_000)]
    (place / "lane" / "long").write_text("\n".join(lines))
    parts, at = [], 1
    while at:
        found = data(place, READ, path="long", line=at)
        assert len(found["text"]) <= PIECE
        parts += found["text"].split("\n")
        at = found.get("next_line", 0)
    assert parts == lines
    (place / "lane" / "wide").write_text("x" * (PIECE + 7) + "\nlast\n")
    found = data(place, READ, path="wide")
    assert found["text"].endswith("x[cut: 7 more characters]")
    assert data(place, READ, path="wide", line=found["next_line"])["text"] == "last"


def test_matching_lines_are_listed(place: Path) -> None:
    assert data(place, SEARCH, text="one") == {"lines": ["src/a.py:1: def one():", "src/deep/b.py:1: ONE = 1"]}
    assert data(place, SEARCH, text="one", glob="$TREADLE_BUNDLE/**")["lines"] == [
        "$TREADLE_BUNDLE/files/memory-bank/progress.md:2: one"
    ]
    assert data(place, SEARCH, text="secret") == {"lines": []}


def test_too_many_results_are_cut_with_a_hint(place: Path) -> None:
    for number in range(MOST_FILES + 3):
        (place / "lane" / "src" / f"{number}").write_text("many\n")
    assert data(place, LIST)["left_out"] == 5
    found = data(place, SEARCH, text="MANY")
    assert len(found["lines"]) == MOST_LINES
    assert "narrower" in found["more"]


@pytest.mark.parametrize(
    ("name", "given", "words"),
    [
        (READ, {"path": "src/c.py"}, "there is no file 'src/c.py'; did you mean 'src/a.py'?"),
        (READ, {"path": "../outside.txt"}, "there is no file '../outside.txt'"),
        (READ, {"path": "/etc/passwd"}, "there is no file '/etc/passwd'"),
        (READ, {"path": "$TREADLE_BUNDLE/../outside.txt"}, "there is no file"),
        (READ, {"path": ".git/config"}, "there is no file '.git/config'"),
        (READ, {"path": "link.txt"}, "a symbolic link"),
        (READ, {"path": "folder/outside.txt"}, "there is no file"),
        (READ, {"path": "src"}, "a folder"),
        (READ, {"path": "a\0b"}, ""),
        (READ, {}, "`path` is a text"),
        (READ, {"path": "src/a.py", "line": 0}, "`line` a whole number"),
        (SEARCH, {"text": ""}, "`text` must be the text to search for"),
        (SEARCH, {"text": "a", "glob": 7}, "`glob` is a text"),
        (LIST, {"glob": ""}, "`glob` is a text"),
    ],
)
def test_a_refused_call_explains_itself(place: Path, name: str, given: dict[str, Any], words: str) -> None:
    said = call_files_tool(place / "lane", place / "bundle", name, given)
    assert not said.ok
    assert words in said.text
    assert "secret" not in said.text


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from([tool.name for tool in FILES_TOOLS]), st.text(max_size=30) | st.integers() | st.none())
def test_no_argument_leads_outside_or_crashes(place: Path, name: str, value: object) -> None:
    said = call_files_tool(
        place / "lane", place / "bundle", name, dict.fromkeys(("path", "glob", "text", "line"), value)
    )
    assert "secret" not in said.text


@pytest.mark.parametrize(
    ("context", "offered"),
    [
        ('{"permissions": {"may": ["read_files", "modify"]}}', True),
        ('{"permissions": {"may": ["read_files", "run_commands"]}}', False),
        ('{"permissions": {}}', False),
        ("[]", False),
        ("no JSON", False),
    ],
)
def test_file_tools_are_offered_only_without_the_permission_to_run_commands(
    tmp_path: Path, context: str, offered: bool
) -> None:
    (tmp_path / "context.json").write_text(context)
    assert may_read_files(tmp_path) == offered


def test_without_a_context_no_file_tool_is_offered(tmp_path: Path) -> None:
    assert not may_read_files(tmp_path)
    assert is_files_tool(READ)
    assert not is_files_tool("emit_exit")
