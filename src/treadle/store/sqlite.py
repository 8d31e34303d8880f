"""The store on SQLite: event, commands and timers in one transaction, before anything is done about them."""

import secrets
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import msgspec

from treadle.errors import PortError, TreadleError
from treadle.kernel.events import Event, RunStarted, Usage
from treadle.kernel.replay import Row, encode_event
from treadle.kernel.state import State, load_state
from treadle.protocol.digest import digest
from treadle.protocol.findings import suggest
from treadle.protocol.model import Protocol
from treadle.store import payloads
from treadle.store.audit import Audit, audit
from treadle.store.batch import LEASE, Batch, write
from treadle.store.cleaning import Freed, clean
from treadle.store.connection import connect, explained, glance, spoken, transaction
from treadle.store.history import ROW, History, read
from treadle.store.leases import claim, release, renew
from treadle.store.migrations import VERSION, migrate, version
from treadle.store.records import Lease, Posted, Run, Stray, decode_protocol, encode_protocol
from treadle.store.snapshots import newest
from treadle.store.spending import spent_since
from treadle.store.writer import Writer

_COLUMNS: Final = "run, name, protocol, settings, created, changed, seq, acts, asks, outcome, owner"


class Store:
    """The runs of a project. Reading is immediate, appending is awaited; one process may drive many runs."""

    def __init__(self, path: Path, *, create: bool = False, reading: bool = False) -> None:
        self.path = path
        with spoken(path):
            self._db = _opened(path, create=create, reading=reading)
        self._protocols: dict[str, Protocol] = {}
        self.payloads = payloads.SqlitePayloads(self._db)
        self.writer = Writer(lambda: connect(path), lambda error: explained(path, error))

    def close(self) -> None:
        """Finishes writing and lets go of the file."""
        self.writer.close()
        self._db.close()

    def key(self) -> bytes:
        """What this project signs its own files with: drawn once, and written down nowhere else."""
        query = "SELECT value FROM keys WHERE name = 'files'"
        with spoken(self.path):
            if self._db.execute(query).fetchone() is None:
                with transaction(self._db):
                    self._db.execute("INSERT OR IGNORE INTO keys VALUES ('files', ?)", (secrets.token_bytes(32),))
            return bytes(self._db.execute(query).fetchone()[0])

    # runs

    def create(self, run: Run, protocol: Protocol, start: RunStarted) -> None:
        """A new run with its protocol and its first event, which waits in the inbox for a driver."""
        with spoken(self.path), self._with_payloads():
            if self._db.execute("SELECT 1 FROM runs WHERE run = ?", (run.id,)).fetchone():
                raise TreadleError(f"there is a run {run.id} already; give another --name", code="run.exists")
            pinned = (digest(protocol), encode_protocol(protocol))
            self._db.execute("INSERT OR IGNORE INTO protocols VALUES (?, ?)", pinned)
            values = (run.id, run.name, pinned[0], msgspec.json.encode(run.settings).decode(), run.created, run.created)
            self._db.execute(
                "INSERT INTO runs (run, name, protocol, settings, created, changed) VALUES (?, ?, ?, ?, ?, ?)", values
            )
            self._post(run.id, start)

    def note_settings(self, run: str, settings: dict[str, Any]) -> None:
        """Keep what was found out about a run before its first agent started, beside how it was started."""
        with spoken(self.path), transaction(self._db):
            text = msgspec.json.encode(settings).decode()
            self._db.execute("UPDATE runs SET settings = ? WHERE run = ?", (text, run))

    def runs(self) -> list[Run]:
        """All runs, the latest first."""
        with spoken(self.path):
            rows = self._db.execute(f"SELECT {_COLUMNS} FROM runs ORDER BY created DESC, run DESC").fetchall()
        return [_run(row) for row in rows]

    def run(self, id_: str) -> Run:
        """One run; a helpful error if there is none of that name."""
        with spoken(self.path):
            row = self._db.execute(f"SELECT {_COLUMNS} FROM runs WHERE run = ?", (id_,)).fetchone()
        if row is None:
            known = [run.id for run in self.runs()]
            hint = suggest(id_, known) or (f"there are {', '.join(known[:5])}" if known else "there are none yet")
            raise TreadleError(f"there is no run '{id_}'; {hint}", code="run.unknown")
        return _run(row)

    def protocol(self, digest_: str) -> Protocol:
        """A protocol that a run was pinned to; read once, for one of this digest cannot become another."""
        if digest_ not in self._protocols:
            self._protocols[digest_] = self._read_protocol(digest_)
        return self._protocols[digest_]

    def _read_protocol(self, digest_: str) -> Protocol:
        with spoken(self.path):
            row = self._db.execute("SELECT body FROM protocols WHERE digest = ?", (digest_,)).fetchone()
        if row is None:
            raise PortError(
                f"the protocol {digest_} is missing from the store; restore a backup of .treadle/local",
                code="store.incomplete",
            )
        with suppress(msgspec.MsgspecError, UnicodeDecodeError):
            protocol = decode_protocol(row[0])
            if digest(protocol) == digest_:
                return protocol
        raise PortError(
            f"the protocol {digest_} is damaged in the store; restore a backup of .treadle/local", code="store.damaged"
        )

    # history

    def load(self, run: str) -> History:
        """Where a run stands, worked out from its log."""
        with spoken(self.path), glance(self._db):
            record = self.run(run)
            snapshot = newest(self._db, run)
            protocol = self.protocol(snapshot.protocol if snapshot else record.protocol)
            return read(self._db, record, protocol, load_state(snapshot.body) if snapshot else State())

    def events(self, run: str, after: int = 0) -> Iterable[tuple[int, bytes]]:
        """The log of a run, as it was written."""
        with spoken(self.path):
            query = "SELECT seq, body FROM events WHERE run = ? AND seq > ? ORDER BY seq"
            yield from self._db.execute(query, (run, after))

    def tail(self, run: str, after: int = 0) -> tuple[Run, list[Row]]:
        """A run as it is now, and its events from somewhere on, each with the hash of the log that ends with it."""
        query = f"SELECT {ROW} FROM events WHERE run = ? AND seq > ? ORDER BY seq"
        with spoken(self.path), glance(self._db):
            return self.run(run), self._db.execute(query, (run, after)).fetchall()

    def spent(self, since: int) -> Usage:
        """What all runs have used since a moment."""
        with spoken(self.path), glance(self._db):
            return spent_since(self._db, since)

    def audit(self, run: str) -> Audit:
        """Work a run out again from its beginning, and hold everything that is stored against it."""
        with spoken(self.path), glance(self._db):
            return audit(self._db, self.run(run), self.protocol)

    def clean(self, runs: Iterable[str], *, dry: bool = False) -> Freed:
        """Forget runs that have ended, and what only they refer to; the file shrinks."""
        with spoken(self.path):
            return clean(self._db, list(runs), dry=dry)

    def unfinished(self, run: str) -> dict[str, bytes]:
        """Commands in the outbox, by address."""
        with spoken(self.path):
            return dict(self._db.execute("SELECT id, body FROM outbox WHERE run = ? ORDER BY id", (run,)).fetchall())

    def timers(self, run: str = "") -> list[tuple[str, int]]:
        """Timers (of one run) and when they are due, the next first."""
        with spoken(self.path):
            query = "SELECT id, due FROM timers WHERE ? = '' OR run = ? ORDER BY due, id"
            return self._db.execute(query, (run, run)).fetchall()

    def strays(self, run: str) -> list[Stray]:
        """What was not obeyed, in order of arrival."""
        with spoken(self.path):
            query = "SELECT at, act, what, detail FROM strays WHERE run = ? ORDER BY n"
            rows = self._db.execute(query, (run,)).fetchall()
        return [Stray(at=at, act=act, what=what, detail=detail) for at, act, what, detail in rows]

    # driving

    async def claim(self, run: str, now: int) -> Lease:
        """The right to drive a run; a `PortError` if a living process has it."""
        return await self.writer.run(lambda db: claim(db, run, now, now + LEASE), durable=False)

    async def release(self, lease: Lease) -> None:
        """Gives the run back, for anybody to drive."""
        await self.writer.run(lambda db: release(db, lease), durable=False)

    async def renew(self, lease: Lease, now: int) -> None:
        """Tells those on other machines that this process goes on."""
        await self.writer.run(lambda db: renew(db, lease, now + LEASE), durable=False)

    async def append(self, lease: Lease, batch: Batch, now: int) -> None:
        """Make a turn durable; a `PortError` if another process has taken the run over."""
        bodies = self.payloads.take()
        try:
            await self.writer.run(lambda db: write(db, lease, batch, bodies, now))
        except BaseException:
            self.payloads.give_back(bodies)
            raise
        self.payloads.written(bodies)

    def post(self, run: str, event: Event) -> None:
        """Put an event into a run's inbox, with the payloads it refers to; whoever drives the run takes it up."""
        with spoken(self.path), self._with_payloads():
            self._post(run, event)

    @contextmanager
    def _with_payloads(self) -> Iterator[None]:
        """A transaction that takes along what was put; if it fails, the next one does."""
        bodies = self.payloads.take()
        try:
            with transaction(self._db):
                payloads.write(self._db, bodies)
                yield
        except BaseException:
            self.payloads.give_back(bodies)
            raise
        self.payloads.written(bodies)

    def _post(self, run: str, event: Event) -> None:
        values = (run, event.id, encode_event(event))
        self._db.execute("INSERT OR IGNORE INTO inbox (run, id, body) VALUES (?, ?, ?)", values)

    def posted(self, run: str = "") -> list[Posted]:
        """What lies in the inboxes (of one run) and is not dealt with yet."""
        query = "SELECT n, run, body FROM inbox WHERE ? = '' OR run = ? ORDER BY n"
        with spoken(self.path):
            rows = self._db.execute(query, (run, run)).fetchall()
        return [Posted(n=n, run=run, body=body) for n, run, body in rows]


def _opened(path: Path, *, create: bool, reading: bool) -> sqlite3.Connection:
    """A connection to a store of the newest shape; whatever else the file is, not a byte of it is changed."""
    is_new = create and not (path.exists() and path.stat().st_size)
    seen = 0 if is_new else _seen(path)
    if not (seen or create):
        raise PortError(f"{path} is empty; remove it, and start again", code="store.damaged")
    if reading and seen == VERSION:
        return connect(path, reading=True)
    db = connect(path, create=create)
    try:
        migrate(db)
    except BaseException:
        db.close()
        raise
    return db


def _seen(path: Path) -> int:
    """The version of a store, looked up without touching it."""
    db = connect(path, reading=True)
    try:
        return version(db)
    except PortError as error:
        raise PortError(f"{path}: {error}", code=error.code) from None
    finally:
        db.close()


def _run(row: tuple[str, str, str, str, int, int, int, int, int, str, str]) -> Run:
    id_, name, protocol, text, created, changed, seq, acts, asks, outcome, owner = row
    try:
        settings = msgspec.json.decode(text, type=dict[str, Any])
    except msgspec.MsgspecError:
        raise PortError(
            f"the settings of run {id_} are damaged in the store; restore a backup of .treadle/local",
            code="store.damaged",
        ) from None
    return Run(
        id=id_, name=name, protocol=protocol, settings=settings, created=created, changed=changed,
        seq=seq, acts=acts, asks=asks, outcome=outcome, owner=owner,
    )  # fmt: skip
