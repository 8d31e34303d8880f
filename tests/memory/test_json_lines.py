"""The public server's file, there and back."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.errors import TreadleError
from treadle.memory.graph import Entity, Graph, Relation
from treadle.memory.json_lines import dumped, loaded

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6) | st.sampled_from(["\n", "\u2028", "\0", '"|→'])
GRAPHS = st.builds(
    Graph,
    st.lists(st.builds(Entity, TEXTS, TEXTS, st.lists(TEXTS, max_size=3).map(tuple)), max_size=4).map(tuple),
    st.lists(st.builds(Relation, TEXTS, TEXTS, TEXTS), max_size=3).map(tuple),
)


@given(graph=GRAPHS)
def test_a_graph_comes_back(graph: Graph, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / "graph.jsonl"
    path.write_bytes(dumped(graph).encode())
    assert loaded(path) == graph


def test_bytes() -> None:
    graph = Graph((Entity("é", "t", ("a\nb",)),), (Relation("a", "b", "c"),))
    assert dumped(graph) == (
        '{"type":"entity","name":"é","entityType":"t","observations":["a\\nb"]}\n'
        '{"type":"relation","from":"a","to":"b","relationType":"c"}'
    )
    assert dumped(Graph()) == ""


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
def test_what_cannot_be_taken(data: bytes, words: str, tmp_path: Path) -> None:
    path = tmp_path / "graph.jsonl"
    path.write_bytes(data)
    with pytest.raises(TreadleError, match=words):
        loaded(path)


def test_what_is_something_else_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "graph.jsonl"
    others = '{"type":"other"}\n[]\n5\n \n{"type":["entity"]}\n'
    path.write_text(others + '{"type":"entity","name":"a","entityType":"t","observations":[]}')
    assert loaded(path) == Graph((Entity("a", "t", ()),))
    for nothing in ("", "\n \n"):
        path.write_text(nothing)
        assert loaded(path) == Graph()
    for other in (others, '{"entities":[{"name":"a","entityType":"t","observations":[]}],"relations":[]}'):
        path.write_text(other)
        with pytest.raises(TreadleError, match="has no entity and no relation"):
            loaded(path)
    with pytest.raises(TreadleError, match="cannot be read: no such file"):
        loaded(tmp_path / "none")
