"""The nine tools, and graphs as lines of JSON; tests/mcp/test_public_server.py has the public server beside them."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.memory.script import SCRIPT, entity
from tests.refusals import refused
from treadle.errors import TreadleError
from treadle.memory.knowledge_tools import LARGEST, TOOLS, UNREADABLE, call, dump_graph, load_graph
from treadle.memory.store import Entity, KnowledgeGraph, Memory, Relation, Space
from treadle.results.tools import ToolReply

NAMES = [tool.name for tool in TOOLS]
GIVES = {tool.name: tool.gives for tool in TOOLS}
INVALID = "MCP error -32602: Input validation error: Invalid arguments for tool "


@pytest.fixture
def space(tmp_path: Path) -> Iterator[Space]:
    with closing(Memory(tmp_path / "memory.db")) as memory:
        yield Space(memory)


def test_every_answer_of_the_script_has_its_shape_twice(space: Space) -> None:
    refused = 0
    for name, arguments in SCRIPT:
        if name not in NAMES:
            continue
        said = call(space, name, arguments)
        refused += not said.ok
        assert said.ok == (said.data is not None)
        if said.ok:
            jsonschema.validate(said.data, GIVES[name] or {})
            inner = {"create_entities": "entities", "create_relations": "relations", "add_observations": "results"}
            plain = said.data[inner[name]] if name in inner else said.data
            assert said.text == plain.get("message") if "delete" in name else json.loads(said.text) == plain
    assert refused == 15


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        (
            "create_entities",
            {"entities": [entity("a", "t", "é")]},
            '[\n  {\n    "name": "a",\n    "entityType": "t",\n    "observations": [\n      "é"\n    ]\n  }\n]',
        ),
        ("create_entities", {"entities": []}, "[]"),
        ("delete_entities", {"entityNames": ["a"]}, "Entities deleted successfully"),
        ("delete_observations", {"deletions": []}, "Observations deleted successfully"),
        ("delete_relations", {"relations": []}, "Relations deleted successfully"),
        ("read_graph", {}, '{\n  "entities": [],\n  "relations": []\n}'),
    ],
)
def test_each_tool_answers_in_the_published_words(
    space: Space, name: str, arguments: dict[str, Any], said: str
) -> None:
    found = call(space, name, arguments)
    assert (found.ok, found.text) == (True, said)


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        (
            "add_observations",
            {"observations": [{"entityName": "a\nb", "contents": []}]},
            "Entity with name a\nb not found",
        ),
        ("search_nodes", {}, f"{INVALID}search_nodes: Invalid input: expected string, received undefined at query"),
        (
            "create_entities",
            {"entities": [{"name": True, "observations": [None]}]},
            (
                f"{INVALID}create_entities: Invalid input: expected string, received boolean at entities[0].name\n"
                "Invalid input: expected string, received undefined at entities[0].entityType\n"
                "Invalid input: expected string, received null at entities[0].observations[0]"
            ),
        ),
        (
            "create_entities",
            {"entities": [entity("a", "t", "x" * 10_000_000)]},
            (
                f"entities[0].observations[0] has 10000000 bytes, the limit is {LARGEST};"
                " split it, or keep it in a file and remember where"
            ),
        ),
        (
            "create_entities",
            {"entities": [entity("half \ud83d", "t")]},
            (
                "entities[0].name cannot be kept as it is: it has bytes that are not UTF-8, or half of a character;"
                " nothing was changed"
            ),
        ),
        (
            "open_nodes",
            {"names": [f"caf{UNREADABLE}"]},
            (
                "names[0] cannot be kept as it is: it has bytes that are not UTF-8, or half of a character;"
                " nothing was changed"
            ),
        ),
    ],
)
def test_a_refused_call_does_not_change_the_graph(
    space: Space, name: str, arguments: dict[str, Any], words: str
) -> None:
    assert call(space, name, arguments) == ToolReply(words, ok=False)
    assert space.read_graph().entities == ()


def test_a_text_at_the_size_limit_is_stored_and_searched(space: Space) -> None:
    text = "é→|\n\0😀" * (LARGEST // 12)
    assert call(space, "create_entities", {"entities": [entity("large", "t", text)]}).ok
    assert space.open_nodes(["large"]).entities[0].observations == (text,)
    assert space.search_nodes("|\n\0😀é→").entities[0].name == "large"


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6) | st.sampled_from(["\n", "\u2028", "\0", '"|→'])
GRAPHS = st.builds(
    KnowledgeGraph,
    st.lists(st.builds(Entity, TEXTS, TEXTS, st.lists(TEXTS, max_size=3).map(tuple)), max_size=4).map(tuple),
    st.lists(st.builds(Relation, TEXTS, TEXTS, TEXTS), max_size=3).map(tuple),
)


@given(graph=GRAPHS)
def test_a_graph_comes_back(graph: KnowledgeGraph, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / "graph.jsonl"
    path.write_bytes(dump_graph(graph).encode())
    assert load_graph(path) == graph


def test_a_graph_is_dumped_as_lines_of_json() -> None:
    graph = KnowledgeGraph((Entity("é", "t", ("a\nb",)),), (Relation("a", "b", "c"),))
    assert dump_graph(graph) == (
        '{"type":"entity","name":"é","entityType":"t","observations":["a\\nb"]}\n'
        '{"type":"relation","from":"a","to":"b","relationType":"c"}'
    )
    assert dump_graph(KnowledgeGraph()) == ""


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b'\n{"type":"entity"}', ":2: Invalid input: expected string, received undefined at name; nothing"),
        (b"{", ":1 is not JSON"),
        (b"[" * 100_000, ":1 is not JSON"),
        (b'{"type":"entity","name":"\\ud800","entityType":"","observations":[]}', ":1: name cannot be kept as it is"),
        (b"\xff", r"is not UTF-8 \(byte 0\); nothing was imported"),
    ],
)
def test_a_malformed_graph_file_is_refused(data: bytes, words: str, tmp_path: Path) -> None:
    path = tmp_path / "graph.jsonl"
    path.write_bytes(data)
    with pytest.raises(TreadleError, match=words):
        load_graph(path)


def test_lines_of_other_types_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "graph.jsonl"
    others = '{"type":"other"}\n[]\n5\n \n{"type":["entity"]}\n'
    path.write_text(others + '{"type":"entity","name":"a","entityType":"t","observations":[]}')
    assert load_graph(path) == KnowledgeGraph((Entity("a", "t", ()),))
    for nothing in ("", "\n \n"):
        path.write_text(nothing)
        assert load_graph(path) == KnowledgeGraph()
    for other in (others, '{"entities":[{"name":"a","entityType":"t","observations":[]}],"relations":[]}'):
        path.write_text(other)
        with refused("memory.import"):
            load_graph(path)
    with refused("file.unreadable", "none"):
        load_graph(tmp_path / "none")
