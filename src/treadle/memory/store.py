"""The memory file: a knowledge graph in SQLite. Every call is one transaction, safe against concurrent writers.

It is a separate file, so that agents that write much never block a run's log.
"""

import json
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from hashlib import blake2b
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Final

import msgspec

from treadle.errors import PortError
from treadle.memory.sources import SOURCES, SourcedStatement, StatementSource, read_sources, write_source
from treadle.store.connection import connect, explain_failure, glance, transaction

# A knowledge graph as data: entities with observations, and relations between names.


class Entity(msgspec.Struct, frozen=True, rename="camel"):
    """Something that is remembered; two of one name can only come from one call, as in the public server."""

    name: str
    entity_type: str
    observations: tuple[str, ...]


class Relation(msgspec.Struct, frozen=True, rename="camel"):
    """A directed link between two names, in active voice; entities of these names need not exist."""

    from_: str = msgspec.field(name="from")
    to: str
    relation_type: str


class KnowledgeGraph(msgspec.Struct, frozen=True):
    """A graph or a part of one, oldest first."""

    entities: tuple[Entity, ...] = ()
    relations: tuple[Relation, ...] = ()


class NewObservations(msgspec.Struct, frozen=True, rename="camel"):
    """Observations to add to an entity."""

    entity_name: str
    contents: tuple[str, ...]


class AddedObservations(msgspec.Struct, frozen=True, rename="camel"):
    """Those of them that were new."""

    entity_name: str
    added_observations: tuple[str, ...]


class ObservationDeletion(msgspec.Struct, frozen=True, rename="camel"):
    """Observations to delete from an entity."""

    entity_name: str
    observations: tuple[str, ...]


class UnknownEntity(msgspec.Struct, frozen=True):
    """The name of an entity that is not there."""

    name: str


# The schema of `memory.db`.

FILE: Final = "memory.db"
APPLICATION: Final = 0x5452454D
"""Marks the file as ours (`TREM`)."""
VERSION: Final = 2

# The index has texts in lower case as Python and JavaScript produce it, which differs from SQLite's: `case_sensitive`
# keeps SQLite from folding them again. It stores no copy of the texts, so a deletion must pass the indexed text
# again. A seat is an agent's place in a dialogue while its activity lasts, keyed by the mark of its token.
_SHAPE: Final = """
    CREATE TABLE entities (id INTEGER PRIMARY KEY, space TEXT NOT NULL, name TEXT NOT NULL, type TEXT NOT NULL);
    CREATE INDEX entity_names ON entities (space, name);
    CREATE TABLE observations (
        id INTEGER PRIMARY KEY,
        entity INTEGER NOT NULL,
        at INTEGER NOT NULL,
        mark BLOB NOT NULL,
        content TEXT NOT NULL
    );
    CREATE INDEX observation_marks ON observations (entity, mark);
    CREATE TABLE relations (
        id INTEGER PRIMARY KEY,
        space TEXT NOT NULL,
        source TEXT NOT NULL,
        target TEXT NOT NULL,
        type TEXT NOT NULL
    );
    CREATE INDEX relation_sources ON relations (space, source, target);
    CREATE INDEX relation_targets ON relations (space, target);
    CREATE VIRTUAL TABLE words USING fts5(
        text, type, content='', columnsize=0, tokenize='trigram case_sensitive 1'
    );
    CREATE VIRTUAL TABLE trigrams USING fts5vocab('words', 'row');
    CREATE TABLE seats (
        mark TEXT PRIMARY KEY,
        run TEXT NOT NULL,
        session TEXT NOT NULL,
        act TEXT NOT NULL,
        step TEXT NOT NULL,
        agent TEXT NOT NULL,
        round TEXT NOT NULL,
        phase TEXT NOT NULL,
        n INTEGER NOT NULL,
        open INTEGER NOT NULL
    );
    CREATE INDEX seats_of ON seats (session, step, n);
    CREATE TABLE heard (session TEXT NOT NULL, key TEXT NOT NULL, PRIMARY KEY (session, key)) WITHOUT ROWID
"""


def open_memory(path: Path) -> sqlite3.Connection:
    """Connect to a memory, and create it if it does not exist."""
    db = connect(path, create=True)
    try:
        if _version(db, path) != VERSION:
            with transaction(db):
                if (seen := _version(db, path)) != VERSION:  # else another process was quicker
                    for statement in (*(_SHAPE.split(";") if not seen else ()), *SOURCES):
                        db.execute(statement)
                    db.execute(f"PRAGMA application_id = {APPLICATION}")
                    db.execute(f"PRAGMA user_version = {VERSION}")
        db.execute("PRAGMA synchronous = NORMAL")  # `Memory` puts it on the disk soon after
    except BaseException:
        db.close()
        raise
    return db


def _version(db: sqlite3.Connection, path: Path) -> int:
    seen = int(db.execute("PRAGMA user_version").fetchone()[0])
    ours = db.execute("PRAGMA application_id").fetchone()[0] == APPLICATION
    if not ours and (seen or db.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]):
        raise PortError(
            f"{path} is an SQLite file that was not made by treadle; move it away, and try again", code="store.foreign"
        )
    if seen > VERSION:
        raise PortError(
            f"{path} has version {seen}, this treadle knows {VERSION} at most; upgrade treadle", code="store.newer"
        )
    return seen


# Explanations of failures of a memory file.

_DAMAGED: Final = (
    "the memory is damaged, and nothing was written to it; copy it, and try `sqlite3 {file} .recover`, or move it away:"
    " then a new one is begun. `treadle memory import` takes an export back"
)
_LOCKED: Final = "the memory cannot be written; make the file and its folder writable, then try again"
_MEANINGS: Final[dict[int, str]] = {
    sqlite3.SQLITE_BUSY: "another process keeps the memory busy; try again when it has ended",
    sqlite3.SQLITE_CANTOPEN: "the memory cannot be opened; is the folder there, and may you write to it?",
    sqlite3.SQLITE_CORRUPT: _DAMAGED,
    sqlite3.SQLITE_NOTADB: _DAMAGED,
    sqlite3.SQLITE_FULL: "the disk is full; nothing of this was remembered. Make room, then try again",
    sqlite3.SQLITE_IOERR: "reading or writing the memory failed; is the disk full, or gone?",
    sqlite3.SQLITE_READONLY: _LOCKED,
    sqlite3.SQLITE_PERM: _LOCKED,
}


# The search: one substring in any case, over names, types and observations, with an index of trigrams in front.

IndexRow = tuple[int, str, str | None]
"""A row of the index: an observation's id and text, or an entity's negated id, name and type."""
_TRIGRAM: Final = 3
"""Characters of a trigram. A shorter query is a prefix of some trigrams: padding follows each indexed text."""
_MOST_TRIGRAMS: Final = 16
"""The maximum of trigrams in a query: beyond it SQLite needs longer than the texts it saves us from reading."""
_NUL: Final = "\0"
_NUL_SUBSTITUTE: Final = "\ufffd"
"""The substitute for NUL in the index: SQLite drops NUL from its trigrams, and would join the characters around it."""
_PADDING: Final = _NUL_SUBSTITUTE * (_TRIGRAM - 1)
_READ_AS_SUBSTITUTE: Final = frozenset("\ufffe\uffff")
"""Characters that SQLite reads as U+FFFD."""
_MOST_TERMS: Final = 50
"""Trigrams that a short query may begin; with more of them, looking at every text is as quick."""
_ADD_TO_INDEX: Final = "INSERT INTO words (rowid, text, type) VALUES (?, ?, ?)"
_REMOVE_FROM_INDEX: Final = "INSERT INTO words (words, rowid, text, type) VALUES ('delete', ?, ?, ?)"
_TERMS: Final = "SELECT term FROM trigrams WHERE term >= ? AND term <= ? LIMIT ?"
_LAST_TERM: Final = "\U0010ffff" * _TRIGRAM
_SEARCH_INDEX: Final = """
    WITH hits AS MATERIALIZED (SELECT rowid AS hit FROM words WHERE words MATCH :trigrams)
    SELECT id, name FROM hits JOIN entities ON id = -hit
    UNION ALL SELECT id, type FROM hits JOIN entities ON id = -hit
    UNION ALL SELECT entity, content FROM hits JOIN observations ON id = hit
"""
_SCAN: Final = """
    SELECT id, name FROM entities WHERE space = :space
    UNION ALL SELECT id, type FROM entities WHERE space = :space
    UNION ALL SELECT entity, content FROM observations WHERE entity IN (SELECT id FROM entities WHERE space = :space)
"""


def _search_index(db: sqlite3.Connection, query: str) -> set[int] | None:
    """Return the indexed entities that match a query; None if the index cannot answer."""
    folded = _folded(query)
    if len(folded) >= _TRIGRAM:
        # Some trigrams from all parts of the query; each match must contain all of them. Never as a phrase: SQLite
        # would put together the places of all its trigrams, which for a long query in a long text that repeats itself
        # takes minutes, and gigabytes.
        every = list(dict.fromkeys(folded[n : n + _TRIGRAM] for n in range(len(folded) - _TRIGRAM + 1)))
        return _search_terms(db, " AND ", every[:: -(-len(every) // _MOST_TRIGRAMS)], query)
    # Each occurrence of a query that is shorter than a trigram begins one.
    if not folded or not _READ_AS_SUBSTITUTE.isdisjoint(folded):
        return None
    terms = [term for (term,) in db.execute(_TERMS, (folded, folded + _LAST_TERM, _MOST_TERMS + 1))]
    if len(terms) > _MOST_TERMS:
        return None
    return _search_terms(db, " OR ", terms, query) if terms else set()


def scan_texts(db: sqlite3.Connection, space: str, query: str) -> set[int]:
    """Return the entities of a space that a query finds, by looking at every text."""
    return _entities_containing(db.execute(_SCAN, {"space": space}), query)


def _search_terms(db: sqlite3.Connection, joint: str, trigrams: Iterable[str], query: str) -> set[int]:
    asked = joint.join('"' + trigram.replace('"', '""') + '"' for trigram in trigrams)
    return _entities_containing(db.execute(_SEARCH_INDEX, {"trigrams": asked}), query)


def _entities_containing(texts: Iterable[tuple[int, str]], query: str) -> set[int]:
    """Return the entities that contain the query in one of their texts."""
    wanted = query.lower()
    hits: set[int] = set()
    for entity, text in texts:
        if entity not in hits and wanted in text.lower():
            hits.add(entity)
    return hits


def _padded(text: str) -> str:
    return _folded(text) + _PADDING


def _folded(text: str) -> str:
    return text.lower().replace(_NUL, _NUL_SUBSTITUTE)


PROJECT: Final = ""
"""The space of the project's own graph. Only its texts are indexed: dialogues are short."""
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
        with self._connected() as db:
            with transaction(db):
                yield db
            if self._settling is None:
                self._settling = threading.Timer(self._settled_after, self._settle)
                self._settling.daemon = True
                self._settling.start()

    def _settle(self) -> None:
        """Sync recent writes to disk in the background; writers need not wait for it."""
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
        """Read inside of this context from one snapshot."""
        with self._connected() as db, glance(db):
            yield db

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            try:
                if self._db is None:
                    self._db = open_memory(self.path)
                yield self._db
            except sqlite3.Error as error:
                raise explain_failure(self.path, error, _MEANINGS, "memory") from error


class Space:
    """One graph in a memory, with the operations of the public server."""

    def __init__(
        self, memory: Memory, name: str = PROJECT, source: Callable[[str], StatementSource] | None = None
    ) -> None:
        self._memory, self.name = memory, name
        self._source = source
        """Returns the author of a new statement by its text; None: a program of the user, unknown to Treadle."""

    def create_entities(self, entities: Sequence[Entity]) -> tuple[Entity, ...]:
        """Create the entities with new names, and return them."""
        with self._memory.writing() as db:
            return self._create_entities(db, entities)

    def create_relations(self, relations: Sequence[Relation]) -> tuple[Relation, ...]:
        """Create the relations that do not exist yet, and return them."""
        with self._memory.writing() as db:
            return self._create_relations(db, relations)

    def add_observations(self, additions: Sequence[NewObservations]) -> tuple[AddedObservations, ...] | UnknownEntity:
        """Add observations, and return the new ones of each entity; if an entity is missing, change nothing."""
        with self._memory.writing() as db:
            names = [each.entity_name for each in additions]
            known = self._known(db, names)
            unknown = next((name for name in names if name not in known), None)
            if unknown is not None:
                return UnknownEntity(unknown)
            added = []
            for each in additions:
                entity = self.named(db, each.entity_name)[0][0]
                fresh = tuple(content for content in each.contents if not _equal_observations(db, entity, content))
                self.say(db, entity, fresh)
                added.append(AddedObservations(each.entity_name, fresh))
            return tuple(added)

    def delete_entities(self, names: Sequence[str]) -> None:
        """Delete entities, and every relation of their names, even if no entity of the name exists."""
        with self._memory.writing() as db:
            for name in set(names):
                for id_, type_ in self.named(db, name):
                    observations = db.execute(
                        "SELECT id, content FROM observations WHERE entity = ?", (id_,)
                    ).fetchall()
                    self._delete_observations(db, observations)
                    db.execute("DELETE FROM entities WHERE id = ?", (id_,))
                    self._update_index(db, _REMOVE_FROM_INDEX, [(-id_, name, type_)])
                db.execute("DELETE FROM relations WHERE space = ? AND source = ?", (self.name, name))
                db.execute("DELETE FROM relations WHERE space = ? AND target = ?", (self.name, name))

    def delete_observations(self, deletions: Sequence[ObservationDeletion]) -> None:
        """Delete these observations if they exist; of several entities of one name, only the first one's."""
        with self._memory.writing() as db:
            for deletion in deletions:
                for entity, _ in self.named(db, deletion.entity_name)[:1]:
                    for content in set(deletion.observations):
                        self._delete_observations(db, _equal_observations(db, entity, content))

    def delete_relations(self, relations: Sequence[Relation]) -> None:
        """Delete these relations if they exist."""
        with self._memory.writing() as db:
            for relation in relations:
                db.execute(
                    "DELETE FROM relations WHERE space = ? AND source = ? AND target = ? AND type = ?",
                    (self.name, relation.from_, relation.to, relation.relation_type),
                )

    def read_graph(self) -> KnowledgeGraph:
        """Everything."""
        with self._memory.reading() as db:
            heads = db.execute("SELECT id, name, type FROM entities WHERE space = ? ORDER BY id", (self.name,))
            observations = db.execute(
                "SELECT entity, content FROM observations WHERE entity IN (SELECT id FROM entities WHERE space = ?)"
                " ORDER BY entity, id",
                (self.name,),
            )
            entities = _join_observations(heads.fetchall(), observations)
            rows = db.execute("SELECT source, target, type FROM relations WHERE space = ? ORDER BY id", (self.name,))
            return KnowledgeGraph(entities, tuple(Relation(*row) for row in rows))

    def search_nodes(self, query: str) -> KnowledgeGraph:
        """Return entities in which the query occurs as it is, in any case, and the relations that touch them."""
        with self._memory.reading() as db:
            hits = _search_index(db, query) if self.name == PROJECT else None
            return self._around(db, scan_texts(db, self.name, query) if hits is None else hits)

    def open_nodes(self, names: Sequence[str]) -> KnowledgeGraph:
        """Return the entities of these names, and the relations that touch them."""
        with self._memory.reading() as db:
            return self._around(db, [id_ for name in set(names) for id_, _ in self.named(db, name)])

    def insert(self, db: sqlite3.Connection, entity: Entity) -> int:
        """Insert an entity without checking for others of its name; return its id."""
        row = (self.name, entity.name, entity.entity_type)
        id_ = db.execute("INSERT INTO entities (space, name, type) VALUES (?, ?, ?)", row).lastrowid or 0
        self._sign(db, "entities", id_, f"{entity.name} is a {entity.entity_type}")
        self._update_index(db, _ADD_TO_INDEX, [(-id_, entity.name, entity.entity_type)])
        self.say(db, id_, entity.observations)
        return id_

    def named(self, db: sqlite3.Connection, name: str) -> list[tuple[int, str]]:
        """Return id and type of the entities of a name."""
        statement = "SELECT id, type FROM entities WHERE space = ? AND name = ? ORDER BY id"
        return db.execute(statement, (self.name, name)).fetchall()

    def sources(self, graph: KnowledgeGraph) -> list[SourcedStatement]:
        """Return the statements of a part of this graph with their sources; those without one are left out."""
        with self._memory.reading() as db:
            return read_sources(db, self.name, [one.name for one in graph.entities])

    def _sign(self, db: sqlite3.Connection, kind: str, id_: int, text: str) -> None:
        if self._source is not None:
            write_source(db, kind, id_, self._source(text))

    def say(self, db: sqlite3.Connection, entity: int, contents: Iterable[str]) -> None:
        """Add observations to an entity, whether they are new or not."""
        statement, now = (
            "INSERT INTO observations (entity, at, mark, content) VALUES (?, ?, ?, ?)",
            time.time_ns() // 1_000_000,
        )
        rows = [
            (db.execute(statement, (entity, now, _mark(text), text)).lastrowid or 0, text, None) for text in contents
        ]
        for id_, text, _ in rows:
            self._sign(db, "observations", id_, text)
        self._update_index(db, _ADD_TO_INDEX, rows)

    def merge(self, graph: KnowledgeGraph) -> KnowledgeGraph:
        """Add the entities and relations of another graph that this one lacks, all or nothing; return the added
        ones.
        """
        with self._memory.writing() as db:
            entities = self._create_entities(db, graph.entities)
            return KnowledgeGraph(entities, self._create_relations(db, graph.relations))

    def _create_entities(self, db: sqlite3.Connection, entities: Sequence[Entity]) -> tuple[Entity, ...]:
        # The names are looked up before any is inserted: two new entities of one call may share a name.
        known = self._known(db, [entity.name for entity in entities])
        fresh = tuple(entity for entity in entities if entity.name not in known)
        for entity in fresh:
            self.insert(db, entity)
        return fresh

    def _create_relations(self, db: sqlite3.Connection, relations: Sequence[Relation]) -> tuple[Relation, ...]:
        known = "SELECT 1 FROM relations WHERE space = ? AND source = ? AND target = ? AND type = ?"
        rows = {each: (self.name, each.from_, each.to, each.relation_type) for each in relations}
        fresh = tuple(each for each in relations if not db.execute(known, rows[each]).fetchone())
        insert = "INSERT INTO relations (space, source, target, type) VALUES (?, ?, ?, ?)"
        for each in fresh:
            id_ = db.execute(insert, rows[each]).lastrowid or 0
            self._sign(db, "relations", id_, f"{each.from_} {each.relation_type} {each.to}")
        return fresh

    def _known(self, db: sqlite3.Connection, names: Iterable[str]) -> set[str]:
        return {name for name in set(names) if self.named(db, name)}

    def _delete_observations(self, db: sqlite3.Connection, rows: list[tuple[int, str]]) -> None:
        db.executemany("DELETE FROM observations WHERE id = ?", [(id_,) for id_, _ in rows])
        self._update_index(db, _REMOVE_FROM_INDEX, [(id_, text, None) for id_, text in rows])

    def _update_index(self, db: sqlite3.Connection, statement: str, rows: Iterable[IndexRow]) -> None:
        """Add texts to the index, or remove the same texts again."""
        if self.name == PROJECT:
            padded = ((id_, _padded(text), None if type_ is None else _padded(type_)) for id_, text, type_ in rows)
            db.executemany(statement, padded)

    def _around(self, db: sqlite3.Connection, ids: Iterable[int]) -> KnowledgeGraph:
        """Entities, and the relations that touch their names."""
        listed = json.dumps(list(ids))
        heads = db.execute(
            f"SELECT id, name, type FROM entities WHERE id IN {_AMONG} ORDER BY id", (listed,)
        ).fetchall()
        observations = f"SELECT entity, content FROM observations WHERE entity IN {_AMONG} ORDER BY entity, id"
        touching = " UNION ".join(
            f"SELECT id, source, target, type FROM relations WHERE space = ? AND {end} IN"
            f" (SELECT name FROM entities WHERE id IN {_AMONG})"
            for end in ("source", "target")
        )
        rows = db.execute(f"{touching} ORDER BY id", (self.name, listed, self.name, listed))
        return KnowledgeGraph(
            _join_observations(heads, db.execute(observations, (listed,))), tuple(Relation(*row[1:]) for row in rows)
        )


def _join_observations(
    heads: list[tuple[int, str, str]], observations: Iterable[tuple[int, str]]
) -> tuple[Entity, ...]:
    contents = {id_: tuple(text for _, text in rows) for id_, rows in groupby(observations, key=itemgetter(0))}
    return tuple(Entity(name, type_, contents.get(id_, ())) for id_, name, type_ in heads)


def _equal_observations(db: sqlite3.Connection, entity: int, content: str) -> list[tuple[int, str]]:
    """Return the observations of an entity with exactly this text; the mark (a hash) finds them, the text decides."""
    statement = "SELECT id, content FROM observations WHERE entity = ? AND mark = ? AND content = ?"
    return db.execute(statement, (entity, _mark(content), content)).fetchall()


def _mark(content: str) -> bytes:
    return blake2b(content.encode(), digest_size=8).digest()
