"""The store on SQLite: event, commands and timers in one transaction, before anything is done about them."""

import secrets
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import msgspec

from treadle.config.project import Project, make_local
from treadle.errors import PortError, TreadleError
from treadle.kernel.events import Event, RunStarted, Usage
from treadle.kernel.replay import Row, encode_event
from treadle.kernel.state import State, load_state
from treadle.protocol.digest import digest
from treadle.protocol.findings import suggest
from treadle.protocol.model import Protocol
from treadle.store import payloads
from treadle.store.batch import LEASE, LogBatch, write_batch
from treadle.store.connection import (
    VERSION,
    connect,
    explain_failure,
    explaining_failures,
    glance,
    migrate,
    store_version,
    transaction,
)
from treadle.store.gc import Freed, forget_runs
from treadle.store.history import ROW, AuditReport, History, audit_run, newest_snapshot, read_history
from treadle.store.leases import claim_lease, release_lease, renew_lease
from treadle.store.records import InboxItem, Lease, Run, Stray
from treadle.store.writer import Writer


class _EventUsage(msgspec.Struct):
    """The fields of an event that count as usage."""

    ts: int = 0
    usage: Usage = Usage()


_COLUMNS: Final = "run, name, protocol, settings, created, changed, seq, acts, asks, outcome, owner"


class Store:
    """The runs of a project. Reading is immediate, appending is awaited; one process may drive many runs."""

    def __init__(self, path: Path, *, create: bool = False, reading: bool = False) -> None:
        self.path = path
        with explaining_failures(path):
            self._db = _open(path, create=create, reading=reading)
        self._protocols: dict[str, Protocol] = {}
        self.payloads = payloads.SqlitePayloads(self._db)
        self.writer = Writer(lambda: connect(path), lambda error: explain_failure(path, error))

    def close(self) -> None:
        """Finish writing and close the file."""
        self.writer.close()
        self._db.close()

    def key(self) -> bytes:
        """Return the key that signs this project's files: drawn once, and stored only here."""
        query = "SELECT value FROM keys WHERE name = 'files'"
        with explaining_failures(self.path):
            if self._db.execute(query).fetchone() is None:
                with transaction(self._db):
                    self._db.execute("INSERT OR IGNORE INTO keys VALUES ('files', ?)", (secrets.token_bytes(32),))
            return bytes(self._db.execute(query).fetchone()[0])

    # runs

    def create(self, run: Run, protocol: Protocol, start: RunStarted) -> None:
        """Store a new run with its protocol and its first event, which waits in the inbox for a driver."""
        with explaining_failures(self.path), self._with_payloads():
            if self._db.execute("SELECT 1 FROM runs WHERE run = ?", (run.id,)).fetchone():
                raise TreadleError(f"a run {run.id} already exists; give another --name", code="run.exists")
            pinned = (digest(protocol), msgspec.json.encode(protocol))
            self._db.execute("INSERT OR IGNORE INTO protocols VALUES (?, ?)", pinned)
            values = (run.id, run.name, pinned[0], msgspec.json.encode(run.settings).decode(), run.created, run.created)
            self._db.execute(
                "INSERT INTO runs (run, name, protocol, settings, created, changed) VALUES (?, ?, ?, ?, ?, ?)", values
            )
            self._post(run.id, start)

    def note_settings(self, run: str, settings: dict[str, Any]) -> None:
        """Store a run's settings with the facts found before its first agent started."""
        with explaining_failures(self.path), transaction(self._db):
            text = msgspec.json.encode(settings).decode()
            self._db.execute("UPDATE runs SET settings = ? WHERE run = ?", (text, run))

    def runs(self) -> list[Run]:
        """Return all runs, the latest first."""
        with explaining_failures(self.path):
            rows = self._db.execute(f"SELECT {_COLUMNS} FROM runs ORDER BY created DESC, run DESC").fetchall()
        return [_run(row) for row in rows]

    def run(self, id_: str) -> Run:
        """Return a run; if there is none of that name, raise an error with the names that exist."""
        with explaining_failures(self.path):
            row = self._db.execute(f"SELECT {_COLUMNS} FROM runs WHERE run = ?", (id_,)).fetchone()
        if row is None:
            known = [run.id for run in self.runs()]
            hint = suggest(id_, known) or (f"choose from {', '.join(known[:5])}" if known else "there are none yet")
            raise TreadleError(f"there is no run '{id_}'; {hint}", code="run.unknown")
        return _run(row)

    def protocol(self, digest_: str) -> Protocol:
        """Return a protocol that a run was pinned to; read once, because the digest fixes its contents."""
        if digest_ in self._protocols:
            return self._protocols[digest_]
        with explaining_failures(self.path):
            row = self._db.execute("SELECT body FROM protocols WHERE digest = ?", (digest_,)).fetchone()
        if row is None:
            raise PortError(
                f"the protocol {digest_} is missing from the store; restore a backup of .treadle/local",
                code="store.incomplete",
            )
        with suppress(msgspec.MsgspecError, UnicodeDecodeError):
            protocol = msgspec.json.decode(row[0], type=Protocol)
            if digest(protocol) == digest_:
                self._protocols[digest_] = protocol
                return protocol
        raise PortError(
            f"the protocol {digest_} is damaged in the store; restore a backup of .treadle/local", code="store.damaged"
        )

    # history

    def load(self, run: str) -> History:
        """Return the state of a run: its newest snapshot, and the events since then reduced again."""
        with explaining_failures(self.path), glance(self._db):
            record = self.run(run)
            snapshot = newest_snapshot(self._db, run)
            protocol = self.protocol(snapshot.protocol if snapshot else record.protocol)
            return read_history(self._db, record, protocol, load_state(snapshot.body) if snapshot else State())

    def events(self, run: str) -> Iterable[tuple[int, bytes]]:
        """Yield the log of a run, as it was written."""
        with explaining_failures(self.path):
            yield from self._db.execute("SELECT seq, body FROM events WHERE run = ? ORDER BY seq", (run,))

    def tail(self, run: str, after: int = 0) -> tuple[Run, list[Row]]:
        """Return a run's record and its events after a sequence number, each with the hash of the log up to it."""
        query = f"SELECT {ROW} FROM events WHERE run = ? AND seq > ? ORDER BY seq"
        with explaining_failures(self.path), glance(self._db):
            return self.run(run), self._db.execute(query, (run, after)).fetchall()

    def spent(self, since: int) -> Usage:
        """Return the usage of all runs since a moment (milliseconds since the epoch), from the ends of their logs."""
        total = Usage()
        with explaining_failures(self.path), glance(self._db):
            for (run,) in self._db.execute("SELECT run FROM runs WHERE changed >= ?", (since,)).fetchall():
                query = "SELECT CAST(body AS BLOB) FROM events WHERE run = ? ORDER BY seq DESC"
                for (body,) in self._db.execute(query, (run,)):
                    event = msgspec.json.decode(body, type=_EventUsage)
                    if event.ts < since:
                        break
                    total = total.plus(event.usage)
        return total

    def audit(self, run: str) -> AuditReport:
        """Replay a run from its first event, and compare all stored data with the result."""
        with explaining_failures(self.path), glance(self._db):
            return audit_run(self._db, self.run(run), self.protocol)

    def clean(self, runs: Iterable[str], *, dry: bool = False) -> Freed:
        """Delete ended runs, and the data that only they refer to; the file shrinks."""
        with explaining_failures(self.path):
            return forget_runs(self._db, list(runs), dry=dry)

    def unfinished(self, run: str) -> dict[str, bytes]:
        """Return the commands in the outbox that were not performed yet, by their key."""
        with explaining_failures(self.path):
            return dict(self._db.execute("SELECT id, body FROM outbox WHERE run = ? ORDER BY id", (run,)).fetchall())

    def strays(self, run: str) -> list[Stray]:
        """Return the ignored answers and messages, in order of arrival."""
        with explaining_failures(self.path):
            query = "SELECT at, act, what, detail FROM strays WHERE run = ? ORDER BY n"
            rows = self._db.execute(query, (run,)).fetchall()
        return [Stray(at=at, act=act, what=what, detail=detail) for at, act, what, detail in rows]

    # driving

    async def take_lease(self, run: str, now: int) -> Lease:
        """Return the right to drive a run; raise a `PortError` if a living process has it."""
        return await self.writer.run(lambda db: claim_lease(db, run, now, now + LEASE), durable=False)

    async def release(self, lease: Lease) -> None:
        """Release the run, so that any process can drive it."""
        await self.writer.run(lambda db: release_lease(db, lease), durable=False)

    async def renew(self, lease: Lease, now: int) -> None:
        """Extend the lease, so that other machines see that this process is alive."""
        await self.writer.run(lambda db: renew_lease(db, lease, now + LEASE), durable=False)

    async def append(self, lease: Lease, batch: LogBatch, now: int) -> None:
        """Make a turn durable; raise a `PortError` if another process has taken over the run."""
        with self.payloads.writing() as bodies:
            await self.writer.run(lambda db: write_batch(db, lease, batch, bodies, now))

    def post(self, run: str, event: Event) -> None:
        """Put an event into a run's inbox, with the payloads it refers to; the run's driver picks it up."""
        with explaining_failures(self.path), self._with_payloads():
            self._post(run, event)

    @contextmanager
    def _with_payloads(self) -> Iterator[None]:
        """Run a transaction that also writes the buffered payloads."""
        with self.payloads.writing() as bodies, transaction(self._db):
            payloads.write(self._db, bodies)
            yield

    def _post(self, run: str, event: Event) -> None:
        values = (run, event.id, encode_event(event))
        self._db.execute("INSERT OR IGNORE INTO inbox (run, id, body) VALUES (?, ?, ?)", values)

    def posted(self, run: str = "") -> list[InboxItem]:
        """Return the unprocessed items in the inboxes of all runs, or of one."""
        query = "SELECT n, run, body FROM inbox WHERE ? = '' OR run = ? ORDER BY n"
        with explaining_failures(self.path):
            rows = self._db.execute(query, (run, run)).fetchall()
        return [InboxItem(n=n, run=run, body=body) for n, run, body in rows]


@contextmanager
def opened_store(project: Project, *, create: bool = False) -> Iterator[Store]:
    """Open the project's store; a missing one is created only for a first run."""
    if create:
        make_local(project)
    elif not project.store.exists():
        raise TreadleError(f"{project.root} has no runs yet; `treadle run SPEC` starts one", code="run.none")
    store = Store(project.store, create=create)
    try:
        yield store
    finally:
        store.close()


def _open(path: Path, *, create: bool, reading: bool) -> sqlite3.Connection:
    """Connect to a store and migrate it to the newest schema; never change a file that is no store."""
    version = 0
    if not create or (path.exists() and path.stat().st_size):
        db = connect(path, reading=True)  # a look that touches no byte: it may be a file of another program
        try:
            version = store_version(db)
        except PortError as error:
            raise PortError(f"{path}: {error}", code=error.code) from None
        finally:
            db.close()
    if not (version or create):
        raise PortError(f"{path} is empty; remove it, and start again", code="store.damaged")
    if reading and version == VERSION:
        return connect(path, reading=True)
    db = connect(path, create=create)
    try:
        migrate(db)
    except BaseException:
        db.close()
        raise
    return db


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
