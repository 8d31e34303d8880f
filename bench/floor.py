"""SQLite alone: the bytes that a run writes, committed by one connection that does nothing else."""

import sqlite3
from pathlib import Path

from bench.meter import Meter
from bench.ring import first_event, ring
from treadle.kernel.commands import RunAgent
from treadle.kernel.events import Envelope, Exited
from treadle.kernel.reduce import reduce
from treadle.kernel.replay import GENESIS
from treadle.kernel.state import State
from treadle.store.batch import LogEntry, make_entry


def floor(folder: Path, runs: int, length: int) -> Meter:
    """One commit for each transition of a run; the transitions that many runs make at once share theirs."""
    entries = transitions(length)
    db = sqlite3.connect(folder / "floor.db", isolation_level=None)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = FULL")
    db.execute("PRAGMA wal_autocheckpoint = 4000")
    for columns in ("events (run, seq, id, body, chain)", "outbox (run, id, body)", "timers (run, id, due)"):
        db.execute(f"CREATE TABLE {columns}")
    names = [f"r{number}" for number in range(runs)]
    with Meter() as meter:
        for made in entries:
            db.execute("BEGIN IMMEDIATE")
            for run in names:
                _insert(db, run, made)
            db.execute("COMMIT")
    db.close()
    return meter


def transitions(length: int) -> list[LogEntry]:
    """What the store is given for each transition of one run."""
    protocol, state, last = ring(length), State(), GENESIS
    state, commands = reduce(protocol, state, first_event("run", 1))
    found: list[LogEntry] = []
    while jobs := [command for command in commands if isinstance(command, RunAgent)]:
        event = Exited(id=f"{jobs[0].id}:exited", ts=state.now, act=jobs[0].id, envelope=Envelope("Next"))
        state, commands = reduce(protocol, state, event)
        found.append(make_entry(last, state, event, commands))
        last = found[-1].chain
    return found


def _insert(db: sqlite3.Connection, run: str, made: LogEntry) -> None:
    db.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?)", (run, made.seq, made.id, made.body, made.chain))
    for id_, body in made.opened:
        db.execute("INSERT INTO outbox VALUES (?, ?, ?)", (run, id_, body))
    for id_, due in made.set:
        db.execute("INSERT INTO timers VALUES (?, ?, ?)", (run, id_, due))
