"""All tools of a memory together."""

from contextlib import closing
from pathlib import Path

import pytest

from treadle.mcp.offer import ProjectMemory
from treadle.memory.dialogue import Dialogue
from treadle.memory.store import Memory
from treadle.memory.tools import NAMES, call, resolve_tool


@pytest.mark.parametrize(
    ("name", "tool"),
    [
        *((each, each) for each in sorted(NAMES)),
        ("mcp__filesystem__create_entities", "create_entities"),
        ("mcp__treadle__memory_read", "memory_read"),
        ("mcp__filesystem__write_file", ""),
        ("mcp____read_graph", ""),
        ("emit_exit", ""),
        ("", ""),
    ],
)
def test_a_clients_prefix_is_not_part_of_a_name(name: str, tool: str) -> None:
    assert resolve_tool(name) == tool


def test_the_project_serves_only_the_tools_of_the_memory(tmp_path: Path) -> None:
    with closing(Memory(tmp_path / "memory.db")) as memory:
        offer = ProjectMemory(memory)
        assert {tool.name for tool in offer.tools()} == NAMES
        assert offer.call("mcp__filesystem__search_nodes", {"query": ""}).data == {"entities": [], "relations": []}
        assert offer.call("emit_exit", {}).text == "MCP error -32602: Tool emit_exit not found"


def test_a_memory_that_cannot_be_opened_is_an_error_of_the_tool(tmp_path: Path) -> None:
    with closing(Memory(tmp_path / "nowhere" / "memory.db")) as memory:
        said = call(Dialogue(memory), "read_graph", {})
    assert not said.ok
    assert "cannot be opened" in said.text


def test_a_full_disk_is_an_error_of_the_tool_and_adds_no_entity(tmp_path: Path) -> None:
    with closing(Memory(tmp_path / "memory.db")) as memory:
        with memory.writing() as db:
            pages = db.execute("PRAGMA page_count").fetchone()[0]
        with memory.reading() as db:
            held = db.execute("SELECT count(*) FROM entities").fetchone()
        with memory.reading() as db:
            db.execute(f"PRAGMA max_page_count = {pages}")
        entity = {"name": "a", "entityType": "b", "observations": ["x" * 100_000]}
        said = call(Dialogue(memory), "create_entities", {"entities": [entity]})
        assert not said.ok
        assert "disk is full" in said.text
        with memory.reading() as db:
            assert db.execute("SELECT count(*) FROM entities").fetchone() == held
        with memory.reading() as db:
            db.execute("PRAGMA max_page_count = 1000000")
        assert call(Dialogue(memory), "create_entities", {"entities": [entity]}).ok
