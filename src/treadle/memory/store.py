"""What is remembered, in SQLite: every call is one transaction, whoever else writes.

When it returns, no end of any process undoes it; a second later, not even one of the machine.

A space holds a graph of its own and sees no other: the project's is the one without a name, a dialogue's has its name.
"""

import json
import os
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from hashlib import blake2b
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Final

from treadle.memory import words
from treadle.memory.graph import Added, Contents, Deletion, Entity, Graph, Relation, Unknown
from treadle.memory.shape import opened
from treadle.memory.trouble import trouble
from treadle.store.connection import glance, transaction

PROJECT: Final = ""
"""The space of the project's own graph, the only one whose texts are indexed: dialogues are short."""
_AMONG: Final = "(SELECT value FROM json_each(?))"


class Memory:
    """A memory file; threads may share it, and processes may have it open at the same time."""

    def __init__(self, path: Path, settled_after: float = 1.0) -> None:
        self.path, self._settled_after = path, settled_after
        self._lock = threading.Lock()
        self._db: sqlite3.Connection | None = None
        self._settling: threading.Timer | None = None

    def close(self) -> None:
        with self._lock:
            if self._settling:
                self._settling.cancel()
            if self._db:
                self._db.close()  # the last one to leave puts everything on the disk
            self._db = self._settling = None

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """All or nothing, one after the other."""
        with self._spoken() as db:
            with transaction(db):
                yield db
            if self._settling is None:
                self._settling = threading.Timer(self._settled_after, self._settle)
                self._settling.daemon = True
                self._settling.start()

    def _settle(self) -> None:
        """Put what was written since the last time on the disk; writers need not wait for it."""
        with self._lock:
            self._settling = None
        with suppress(OSError):  # without such a file everything is there already
            log = os.open(f"{self.path}-wal", os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.fsync(log)
            finally:
                os.close(log)

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Everything that is read inside was true at one moment."""
        with self._spoken() as db, glance(db):
            yield db

    @contextmanager
    def _spoken(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            try:
                if self._db is None:
                    self._db = opened(self.path)
                yield self._db
            except sqlite3.Error as error:
                raise trouble(self.path, error) from error


class Space:
    """One graph in a memory, with what the public server does to its own."""

    def __init__(self, memory: Memory, name: str = PROJECT) -> None:
        self._memory, self.name = memory, name

    def create_entities(self, entities: Sequence[Entity]) -> tuple[Entity, ...]:
        """Those whose name was not there before the call."""
        with self._memory.writing() as db:
            known = self._known(db, [entity.name for entity in entities])
            fresh = tuple(entity for entity in entities if entity.name not in known)
            for entity in fresh:
                self.insert(db, entity)
        return fresh

    def create_relations(self, relations: Sequence[Relation]) -> tuple[Relation, ...]:
        """Those that were not there before the call."""
        with self._memory.writing() as db:
            fresh = tuple(relation for relation in relations if not self._has(db, relation))
            self._link(db, fresh)
        return fresh

    def add_observations(self, given: Sequence[Contents]) -> tuple[Added, ...] | Unknown:
        """What was new to each entity; if one is not there, nothing is changed."""
        with self._memory.writing() as db:
            names = [each.entity_name for each in given]
            known = self._known(db, names)
            unknown = next((name for name in names if name not in known), None)
            return Unknown(unknown) if unknown is not None else tuple(self._add(db, each) for each in given)

    def delete_entities(self, names: Sequence[str]) -> None:
        """Forget entities and every relation that touches their names, whether they are there or not."""
        with self._memory.writing() as db:
            for name in set(names):
                for id_, type_ in self.named(db, name):
                    self._forget(db, id_, name, type_)
                db.execute("DELETE FROM relations WHERE space = ? AND source = ?", (self.name, name))
                db.execute("DELETE FROM relations WHERE space = ? AND target = ?", (self.name, name))

    def delete_observations(self, deletions: Sequence[Deletion]) -> None:
        """Forget what is there of these; of several entities of one name, the first one's."""
        with self._memory.writing() as db:
            for deletion in deletions:
                for entity, _ in self.named(db, deletion.entity_name)[:1]:
                    for content in set(deletion.observations):
                        self._unsay(db, _same(db, entity, content))

    def delete_relations(self, relations: Sequence[Relation]) -> None:
        """Forget what is there of these."""
        with self._memory.writing() as db:
            for relation in relations:
                db.execute(
                    "DELETE FROM relations WHERE space = ? AND source = ? AND target = ? AND type = ?",
                    (self.name, relation.from_, relation.to, relation.relation_type),
                )

    def read_graph(self) -> Graph:
        """Everything."""
        with self._memory.reading() as db:
            heads = db.execute("SELECT id, name, type FROM entities WHERE space = ? ORDER BY id", (self.name,))
            entities = _filled(heads.fetchall(), self._everything(db))
            rows = db.execute("SELECT source, target, type FROM relations WHERE space = ? ORDER BY id", (self.name,))
            return Graph(entities, tuple(Relation(*row) for row in rows))

    def search_nodes(self, query: str) -> Graph:
        """Entities in which the query occurs as it is, in any case, and the relations that touch them."""
        with self._memory.reading() as db:
            hits = words.found(db, query) if self.name == PROJECT else None
            return self._around(db, words.scanned(db, self.name, query) if hits is None else hits)

    def open_nodes(self, names: Sequence[str]) -> Graph:
        """The entities of these names, and the relations that touch them."""
        with self._memory.reading() as db:
            return self._around(db, [id_ for name in set(names) for id_, _ in self.named(db, name)])

    def insert(self, db: sqlite3.Connection, entity: Entity) -> int:
        """Put an entity there, whatever else is; its id."""
        row = (self.name, entity.name, entity.entity_type)
        id_ = db.execute("INSERT INTO entities (space, name, type) VALUES (?, ?, ?)", row).lastrowid or 0
        if self.name == PROJECT:
            words.add_entity(db, id_, entity.name, entity.entity_type)
        self.say(db, id_, entity.observations)
        return id_

    def named(self, db: sqlite3.Connection, name: str) -> list[tuple[int, str]]:
        """Id and type of the entities of a name."""
        statement = "SELECT id, type FROM entities WHERE space = ? AND name = ? ORDER BY id"
        return db.execute(statement, (self.name, name)).fetchall()

    def say(self, db: sqlite3.Connection, entity: int, contents: Iterable[str]) -> None:
        """Add observations to an entity, whether they are new or not."""
        statement, now = "INSERT INTO observations (entity, at, mark, content) VALUES (?, ?, ?, ?)", _now()
        rows = [(db.execute(statement, (entity, now, _mark(text), text)).lastrowid or 0, text) for text in contents]
        if self.name == PROJECT:
            words.add_observations(db, rows)

    def merge(self, graph: Graph) -> Graph:
        """Take in what another graph has and this one does not, all or nothing; what was taken in."""
        with self._memory.writing() as db:
            known = self._known(db, [entity.name for entity in graph.entities])
            entities = tuple(entity for entity in graph.entities if entity.name not in known)
            for entity in entities:
                self.insert(db, entity)
            relations = tuple(relation for relation in graph.relations if not self._has(db, relation))
            self._link(db, relations)
        return Graph(entities, relations)

    def _known(self, db: sqlite3.Connection, names: Iterable[str]) -> set[str]:
        return {name for name in set(names) if self.named(db, name)}

    def _has(self, db: sqlite3.Connection, relation: Relation) -> bool:
        statement = "SELECT 1 FROM relations WHERE space = ? AND source = ? AND target = ? AND type = ?"
        return bool(db.execute(statement, (self.name, relation.from_, relation.to, relation.relation_type)).fetchone())

    def _link(self, db: sqlite3.Connection, relations: Iterable[Relation]) -> None:
        rows = [(self.name, relation.from_, relation.to, relation.relation_type) for relation in relations]
        db.executemany("INSERT INTO relations (space, source, target, type) VALUES (?, ?, ?, ?)", rows)

    def _add(self, db: sqlite3.Connection, given: Contents) -> Added:
        entity = self.named(db, given.entity_name)[0][0]
        fresh = tuple(content for content in given.contents if not _same(db, entity, content))
        self.say(db, entity, fresh)
        return Added(given.entity_name, fresh)

    def _unsay(self, db: sqlite3.Connection, rows: list[tuple[int, str]]) -> None:
        db.executemany("DELETE FROM observations WHERE id = ?", [(id_,) for id_, _ in rows])
        if self.name == PROJECT:
            words.forget_observations(db, rows)

    def _forget(self, db: sqlite3.Connection, entity: int, name: str, type_: str) -> None:
        self._unsay(db, db.execute("SELECT id, content FROM observations WHERE entity = ?", (entity,)).fetchall())
        db.execute("DELETE FROM entities WHERE id = ?", (entity,))
        if self.name == PROJECT:
            words.forget_entity(db, entity, name, type_)

    def _everything(self, db: sqlite3.Connection) -> Iterator[tuple[int, str]]:
        return db.execute(
            "SELECT entity, content FROM observations WHERE entity IN (SELECT id FROM entities WHERE space = ?)"
            " ORDER BY entity, id",
            (self.name,),
        )

    def _around(self, db: sqlite3.Connection, ids: Iterable[int]) -> Graph:
        """Entities, and the relations that touch their names."""
        wanted = json.dumps(list(ids))
        heads = db.execute(
            f"SELECT id, name, type FROM entities WHERE id IN {_AMONG} ORDER BY id", (wanted,)
        ).fetchall()
        said = f"SELECT entity, content FROM observations WHERE entity IN {_AMONG} ORDER BY entity, id"
        touching = " UNION ".join(
            f"SELECT id, source, target, type FROM relations WHERE space = ? AND {end} IN"
            f" (SELECT name FROM entities WHERE id IN {_AMONG})"
            for end in ("source", "target")
        )
        rows = db.execute(f"{touching} ORDER BY id", (self.name, wanted, self.name, wanted))
        return Graph(_filled(heads, db.execute(said, (wanted,))), tuple(Relation(*row[1:]) for row in rows))


def _filled(heads: list[tuple[int, str, str]], said: Iterable[tuple[int, str]]) -> tuple[Entity, ...]:
    contents = {id_: tuple(text for _, text in rows) for id_, rows in groupby(said, key=itemgetter(0))}
    return tuple(Entity(name, type_, contents.get(id_, ())) for id_, name, type_ in heads)


def _same(db: sqlite3.Connection, entity: int, content: str) -> list[tuple[int, str]]:
    """The observations of an entity that say exactly this; the mark finds them, the text decides."""
    statement = "SELECT id, content FROM observations WHERE entity = ? AND mark = ? AND content = ?"
    return db.execute(statement, (entity, _mark(content), content)).fetchall()


def _now() -> int:
    return time.time_ns() // 1_000_000


def _mark(content: str) -> bytes:
    return blake2b(content.encode(), digest_size=8).digest()
