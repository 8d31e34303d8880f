"""The store against a model of lists, which is the public server's code in other words; and with many writers."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from treadle.errors import PortError
from treadle.memory.store import (
    FILE,
    PROJECT,
    AddedObservations,
    Entity,
    KnowledgeGraph,
    Memory,
    NewObservations,
    ObservationDeletion,
    Relation,
    Space,
    UnknownEntity,
    scan_texts,
)


class Model:
    """What the public server does to its file, on lists."""

    def __init__(self) -> None:
        self.entities: list[tuple[str, str, list[str]]] = []
        self.relations: list[Relation] = []

    def create_entities(self, entities: list[Entity]) -> tuple[Entity, ...]:
        known = {name for name, _, _ in self.entities}
        fresh = [entity for entity in entities if entity.name not in known]
        self.entities += [(entity.name, entity.entity_type, [*entity.observations]) for entity in fresh]
        return tuple(fresh)

    def create_relations(self, relations: list[Relation]) -> tuple[Relation, ...]:
        fresh = [relation for relation in relations if relation not in self.relations]
        self.relations += fresh
        return tuple(fresh)

    def add_observations(self, given: list[NewObservations]) -> tuple[AddedObservations, ...] | UnknownEntity:
        for each in given:
            if not self._first(each.entity_name):
                return UnknownEntity(each.entity_name)
        added = []
        for each in given:
            ((_, _, said),) = self._first(each.entity_name)
            fresh = [content for content in each.contents if content not in said]
            said += fresh
            added.append(AddedObservations(each.entity_name, tuple(fresh)))
        return tuple(added)

    def delete_entities(self, names: list[str]) -> None:
        self.entities = [entity for entity in self.entities if entity[0] not in names]
        self.relations = [each for each in self.relations if each.from_ not in names and each.to not in names]

    def delete_observations(self, deletions: list[ObservationDeletion]) -> None:
        for each in deletions:
            for _, _, said in self._first(each.entity_name):
                said[:] = [content for content in said if content not in each.observations]

    def delete_relations(self, relations: list[Relation]) -> None:
        self.relations = [relation for relation in self.relations if relation not in relations]

    def read_graph(self) -> KnowledgeGraph:
        return self._graph(self.entities, self.relations)

    def search_nodes(self, query: str) -> KnowledgeGraph:
        wanted = query.lower()
        return self._around(
            [
                (name, type_, said)
                for name, type_, said in self.entities
                if wanted in name.lower() or wanted in type_.lower() or any(wanted in it.lower() for it in said)
            ]
        )

    def open_nodes(self, names: list[str]) -> KnowledgeGraph:
        return self._around([entity for entity in self.entities if entity[0] in names])

    def _first(self, name: str) -> list[tuple[str, str, list[str]]]:
        return [entity for entity in self.entities if entity[0] == name][:1]

    def _around(self, entities: list[tuple[str, str, list[str]]]) -> KnowledgeGraph:
        names = {name for name, _, _ in entities}
        return self._graph(entities, [each for each in self.relations if each.from_ in names or each.to in names])

    def _graph(self, entities: list[tuple[str, str, list[str]]], relations: list[Relation]) -> KnowledgeGraph:
        return KnowledgeGraph(
            tuple(Entity(name, type_, tuple(said)) for name, type_, said in entities), tuple(relations)
        )


LETTERS = st.sampled_from(
    ["a", "B", "ß", "İ", "Σ", "ς", "ſ", "K", "\0", "\ufffd", "\ufffe", "\uffff", "\n", "|", '"', "→", "😀", "e\u0301"]
)
TEXTS = st.lists(LETTERS, max_size=5).map("".join)
NAMES = st.sampled_from(["a", "A", "ab\0c", "ΑΣΣ", 'q"|\n→', ""])
ENTITIES = st.lists(st.builds(Entity, NAMES, TEXTS, st.lists(TEXTS, max_size=4).map(tuple)), max_size=3)
RELATIONS = st.lists(st.builds(Relation, NAMES, NAMES, st.sampled_from(["knows", "has"])), max_size=3)
CALLS = st.lists(
    st.one_of(
        st.tuples(st.just("create_entities"), ENTITIES),
        st.tuples(st.just("create_relations"), RELATIONS),
        st.tuples(
            st.just("add_observations"),
            st.lists(st.builds(NewObservations, NAMES, st.lists(TEXTS, max_size=4).map(tuple)), max_size=3),
        ),
        st.tuples(st.just("delete_entities"), st.lists(NAMES, max_size=2)),
        st.tuples(
            st.just("delete_observations"),
            st.lists(st.builds(ObservationDeletion, NAMES, st.lists(TEXTS, max_size=4).map(tuple)), max_size=2),
        ),
        st.tuples(st.just("delete_relations"), RELATIONS),
        st.tuples(st.just("search_nodes"), TEXTS),
        st.tuples(st.just("open_nodes"), st.lists(NAMES, max_size=3)),
    ),
    max_size=25,
)


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    with closing(Memory(tmp_path_factory.mktemp("memory") / "memory.db")) as memory:
        yield memory


@pytest.mark.parametrize("name", ["", "PLAN_r1"])
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(calls=CALLS, queries=st.lists(TEXTS, max_size=4))
def test_the_store_behaves_like_its_model(
    memory: Memory, name: str, calls: list[tuple[str, Any]], queries: list[str]
) -> None:
    model, space = Model(), Space(memory, name)
    space.delete_entities([entity.name for entity in space.read_graph().entities])
    space.delete_relations(space.read_graph().relations)
    for call, argument in calls:
        assert getattr(space, call)(argument) == getattr(model, call)(argument), (call, argument)
    assert space.read_graph() == model.read_graph()
    for query in [*queries, "", "aBß", "\0", "σσ", "i\u0307", "a\0b", "a\uffffb"]:
        assert space.search_nodes(query) == model.search_nodes(query), query


def test_spaces_do_not_see_each_other(memory: Memory) -> None:
    one, other = Space(memory, "one"), Space(memory, "other")
    one.create_entities([Entity("e", "t", ("secret word",))])
    one.create_relations([Relation("e", "f", "knows")])
    other.create_entities([Entity("f", "t", ())])
    assert other.search_nodes("secret").entities == Space(memory).search_nodes("secret").entities == ()
    assert other.open_nodes(["e", "f"]) == KnowledgeGraph((Entity("f", "t", ()),))
    other.delete_entities(["e"])
    assert one.read_graph() == KnowledgeGraph((Entity("e", "t", ("secret word",)),), (Relation("e", "f", "knows"),))


def test_the_index_drops_deleted_texts(memory: Memory) -> None:
    space = Space(memory)
    for _ in range(2):  # the same ids again
        space.create_entities([Entity("kept", "t", ("the quick brown fox", "other"))])
        assert [entity.name for entity in space.search_nodes("QUICK B").entities] == ["kept"]
        space.delete_observations([ObservationDeletion("kept", ("the quick brown fox",))])
        assert space.search_nodes("quick").entities == ()
        space.delete_entities(["kept"])
        assert space.search_nodes("kept").entities == space.search_nodes("other").entities == ()


def test_characters_that_sqlite_treats_as_equal_stay_different(tmp_path: Path) -> None:
    """It has one sign for all of these."""
    signs = ["\0", "\ufffd", "\ufffe", "\uffff"]
    with closing(Memory(tmp_path / "memory.db")) as memory:
        space = Space(memory)
        space.create_entities([Entity(f"e{n}", "t", (f"ab{sign}cd",)) for n, sign in enumerate(signs)])
        found = [[it.name for it in space.search_nodes(f"B{sign}C").entities] for sign in signs]
    assert found == [["e0"], ["e1"], ["e2"], ["e3"]]


LONG = """
import sys
from pathlib import Path
from treadle.memory.store import Entity
from treadle.memory.store import FILE
from treadle.memory.store import PROJECT, Memory, Space
memory = Memory(Path(sys.argv[1]))
Space(memory).create_entities([Entity("long", "t", ("q" * 900_000,)), Entity("other", "t", ("q" * 900 + "x",))])
with memory.reading() as db:
    db.execute("PRAGMA hard_heap_limit = 50000000")
for count in (3, 100, 1_000, 200_000):
    found = Space(memory).search_nodes("Q" * count).entities
    assert [entity.name for entity in found] == ["long", "other"][: 2 if count < 901 else 1], count
"""


def test_a_long_query_in_a_repetitive_text_needs_little_memory(tmp_path: Path) -> None:
    """In a process of its own, whose SQLite may have 50 MB; a phrase of 1,000 trigrams wants hundreds."""
    subprocess.run([sys.executable, "-c", LONG, str(tmp_path / "memory.db")], check=True, timeout=300)


WRITER = """
import sys
from pathlib import Path
from threading import Thread
from treadle.memory.store import Entity
from treadle.memory.store import FILE
from treadle.memory.store import PROJECT, Memory, Space
path, name = sys.argv[1:]
memory = Memory(Path(path))
def write(n): Space(memory).create_entities([Entity(f"{name}-{n}", "t", ("x",))])
threads = [Thread(target=write, args=(n,)) for n in range(40)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""


def test_three_processes_with_forty_writers_each_keep_all_writes(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(path), name]) for name in "abc"]
    assert [writer.wait(timeout=120) for writer in writers] == [0, 0, 0]
    with closing(Memory(path)) as memory:
        found = {entity.name for entity in Space(memory).read_graph().entities}
    assert found == {f"{name}-{n}" for name in "abc" for n in range(40)}


@pytest.mark.parametrize(
    ("contents", "words"),
    [(b"not a database, but long enough to look at" * 100, "damaged"), (b"SQLite format 3\0" + b"\0" * 84, "damaged")],
)
def test_a_file_that_is_no_memory(tmp_path: Path, contents: bytes, words: str) -> None:
    (tmp_path / "memory.db").write_bytes(contents)
    with closing(Memory(tmp_path / "memory.db")) as memory, pytest.raises(PortError, match=words):
        Space(memory).read_graph()


def test_the_store_of_runs_is_no_memory(tmp_path: Path) -> None:
    from treadle.store.sqlite import Store  # noqa: PLC0415 - only here

    Store(tmp_path / "memory.db", create=True).close()
    with closing(Memory(tmp_path / "memory.db")) as memory, pytest.raises(PortError, match="was not made"):
        Space(memory).read_graph()


@pytest.mark.parametrize(
    "query", ["q", "qb", "qB", "b", "\0", "a\0", "\ufffe", "\ufffd", "x\ufffd", "İ", "ς", "zz", "", "e"]
)
def test_a_short_query_matches_like_a_full_scan(query: str, tmp_path: Path) -> None:
    texts = [
        "qb",
        "aqb",
        "xqB.",
        "b",
        "",
        "a\0",
        "\ufffd",
        "\ufffe",
        "x",
        "İS",
        "ΟΔΟΣ",
        *(f"e{chr(n)}" for n in range(300, 380)),
    ]
    memory = Memory(tmp_path / FILE)
    with closing(memory):
        space = Space(memory)
        space.create_entities([Entity(f"n{n}", "t", (text,)) for n, text in enumerate(texts)])
        space.create_entities([Entity("qb", "b", ())])
        found = {entity.name for entity in space.search_nodes(query).entities}
        with memory.reading() as db:
            looked = scan_texts(db, PROJECT, query)
            names = {name for id_, name in db.execute("SELECT id, name FROM entities") if id_ in looked}
        assert found == names


def test_an_answered_write_survives_a_kill(tmp_path: Path) -> None:
    code = (
        "import sys, time; from pathlib import Path; from treadle.memory.store import Memory, Space;"
        "from treadle.memory.store import Entity;"
        "space = Space(Memory(Path(sys.argv[1]), settled_after=3600));"
        "space.create_entities([Entity('kept', 't', ('said',))]); print('answered', flush=True); time.sleep(60)"
    )
    command = [sys.executable, "-c", code, str(tmp_path / FILE)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout
        assert writer.stdout.readline() == "answered\n"
        writer.send_signal(signal.SIGKILL)
    with closing(Memory(tmp_path / FILE)) as memory:
        assert Space(memory).read_graph().entities == (Entity("kept", "t", ("said",)),)


def test_writes_are_on_the_disk_soon_all_of_them_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settled, forced = threading.Event(), list[str]()
    plain = os.fsync

    def fsync(file: int) -> None:
        plain(file)
        path = Path(f"/proc/self/fd/{file}").readlink()
        # A memory that another test left open settles in its own thread, at any moment.
        if path.is_relative_to(tmp_path):
            forced.append(str(path))
            settled.set()

    monkeypatch.setattr(os, "fsync", fsync)
    with closing(Memory(tmp_path / FILE, settled_after=0.2)) as memory:
        for n in range(3):
            Space(memory).create_entities([Entity(f"n{n}", "t", ())])
        assert settled.wait(60)
        settled.clear()
        Space(memory).create_entities([Entity("later", "t", ())])
        assert settled.wait(60)
    assert set(forced) == {str(tmp_path / f"{FILE}-wal")}


def test_closing_a_memory_ends_its_timers(tmp_path: Path) -> None:
    # A timer of a memory that another test left open may start or end in between.
    others = set(threading.enumerate())
    with closing(Memory(tmp_path / FILE, settled_after=3600)) as memory:
        Space(memory).create_entities([Entity("one", "t", ())])
        timers = [each for each in threading.enumerate() if isinstance(each, threading.Timer) and each not in others]
        assert any(timer.interval == 3600 for timer in timers)
    for timer in timers:
        timer.join(60)
        assert not timer.is_alive()
    assert not (tmp_path / f"{FILE}-wal").exists()
