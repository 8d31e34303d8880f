"""Dialogues: the agents of one instance talk in a space of their own, which nobody else reads.

The orchestrator seats an agent when it sends it out and says there what was accepted meanwhile; the token shows whose
seat it is. Nothing that is said here moves a run: answers do.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

import msgspec

from treadle.memory.graph import Entity
from treadle.memory.record import Record, bars, parse, plain
from treadle.memory.store import Memory, Space

ORCHESTRATOR: Final = "MT"
"""What the published protocols call the one who dispatches."""
INIT: Final = "→INIT"
NOTE: Final = "note"
"""The status of what is said before the answer."""


_FORGET: Final = (
    "DELETE FROM observations WHERE entity IN (SELECT id FROM entities WHERE space = ?)",
    "DELETE FROM entities WHERE space = ?",
    "DELETE FROM relations WHERE space = ?",
    "DELETE FROM heard WHERE session = ?",
    "DELETE FROM seats WHERE session = ?",
)


class Seat(msgspec.Struct, frozen=True, kw_only=True):
    """An agent's place in a dialogue, for as long as its activity lasts."""

    run: str
    session: str
    act: str
    step: str
    agent: str
    round: str = ""
    phase: str = ""


class Accepted(msgspec.Struct, frozen=True):
    """An answer that was accepted in this dialogue: told once, however often it is reported."""

    key: str
    step: str
    status: str
    content: str


class Read(msgspec.Struct, frozen=True):
    """A dialogue, or a part of it."""

    session: str
    type: str
    records: list[Record]


class Dialogues:
    """The dialogues of runs, from the orchestrator's side."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def admit(self, seat: Seat, mark: str, kind: str, task: str, accepted: Sequence[Accepted] = ()) -> None:
        """Seat an agent whose token has this mark, in place of whoever had the activity before it."""
        with self._memory.writing() as db:
            space = Space(self._memory, seat.session)
            if not space.named(db, seat.session):
                begun = bars(Record(task, "0", "", ORCHESTRATOR, INIT))
                space.insert(db, Entity(seat.session, kind, (begun,)))
            _tell(db, space, accepted)
            db.execute("DELETE FROM seats WHERE act = ? AND session = ?", (seat.act, seat.session))
            db.execute(
                "INSERT OR REPLACE INTO seats SELECT ?, ?, ?, ?, ?, ?, ?, ?, coalesce(max(n), 0) + 1, 1 FROM seats",
                (
                    mark,
                    seat.run,
                    seat.session,
                    seat.act,
                    seat.step,
                    plain(seat.agent),
                    plain(seat.round),
                    plain(seat.phase),
                ),
            )

    def dismiss(self, mark: str) -> None:
        """The activity has ended: nothing is heard from this seat any more."""
        with self._memory.writing() as db:
            db.execute("UPDATE seats SET open = 0 WHERE mark = ?", (mark,))

    def forget(self, run: str) -> int:
        """Remove the dialogues of a run; how many there were."""
        with self._memory.writing() as db:
            sessions = db.execute("SELECT DISTINCT session FROM seats WHERE run = ?", (run,)).fetchall()
            for statement in _FORGET:
                db.executemany(statement, sessions)
        return len(sessions)

    def tell(self, session: str, accepted: Sequence[Accepted]) -> None:
        """Say in a dialogue, if there is one, what was accepted."""
        with self._memory.writing() as db:
            _tell(db, Space(self._memory, session), accepted)


@contextmanager
def dialogues_in(path: Path) -> Iterator[Dialogues]:
    """The dialogues in a memory, for a moment."""
    with closing(Memory(path)) as memory:
        yield Dialogues(memory)


class Dialogue:
    """One dialogue, from the side of whoever has a seat in it, or the project's graph if `seat` is None."""

    def __init__(self, memory: Memory, seat: Seat | None = None) -> None:
        self._memory, self.seat = memory, seat
        self.space = Space(memory, seat.session if seat else "")

    def begin(self, session: str, kind: str) -> bool:
        """Whether the dialogue is new."""
        return bool(self.space.create_entities([Entity(session, kind, ())]))

    def say(self, session: str, content: str, status: str = "") -> str | None:
        """Store what is said, also if it was said before; what was stored, None if there is no such dialogue."""
        text = self.signed(content, status)
        with self._memory.writing() as db:
            for entity, _ in self.space.named(db, session)[:1]:
                self.space.say(db, entity, [text])
                return text
        return None

    def signed(self, content: str, status: str = "") -> str:
        """What is said, with who says it when, unless the speaker has written that already."""
        seat = self.seat
        if seat is None or self._is_signed(content, status):
            return content
        return bars(Record(content, seat.round, seat.phase, seat.agent, status or NOTE))

    def read(self, session: str) -> Read | None:
        """A dialogue and everything that was said, in order; None if there is none of this name."""
        with self._memory.reading() as db:
            found = self.space.named(db, session)
            return Read(session, found[0][1], [parse(*said) for said in _said(db, found[0][0])]) if found else None

    def names(self) -> list[str]:
        """The dialogues that can be read from here."""
        with self._memory.reading() as db:
            rows = db.execute("SELECT name FROM entities WHERE space = ? ORDER BY id LIMIT 100", (self.space.name,))
            return [name for (name,) in rows]

    def _is_signed(self, content: str, status: str) -> bool:
        """Whether a text begins with the speaker's own name and round, and with the status, if there is one."""
        record, seat = parse(content), self.seat
        is_own = bool(seat and record.agent and record.agent == seat.agent and record.round in ("", seat.round))
        return is_own and status in ("", record.status)


def sessions_in(memory: Memory) -> list[str]:
    """The dialogues of runs, the latest last."""
    with memory.reading() as db:
        rows = db.execute("SELECT session FROM seats GROUP BY session ORDER BY min(n)")
        return [session for (session,) in rows]


def seat_of(memory: Memory, mark: str) -> Seat | None:
    """Whose seat a token has; None if it has none, or not any more."""
    with memory.reading() as db:
        row = db.execute(
            "SELECT run, session, act, step, agent, round, phase FROM seats WHERE mark = ? AND open", (mark,)
        ).fetchone()
    if row is None:
        return None
    run, session, act, step, agent, round_, phase = row
    return Seat(run=run, session=session, act=act, step=step, agent=agent, round=round_, phase=phase)


def _tell(db: sqlite3.Connection, space: Space, accepted: Sequence[Accepted]) -> None:
    for entity, _ in space.named(db, space.name)[:1]:
        for each in accepted:
            if db.execute("INSERT OR IGNORE INTO heard VALUES (?, ?)", (space.name, each.key)).rowcount:
                space.say(db, entity, [bars(_record(db, space.name, each))])


def _record(db: sqlite3.Connection, session: str, each: Accepted) -> Record:
    where = "SELECT agent, round, phase FROM seats WHERE session = ? AND step = ? ORDER BY n DESC LIMIT 1"
    agent, round_, phase = db.execute(where, (session, each.step)).fetchone() or (plain(each.step), "", "")
    return Record(each.content, round_, phase, agent, plain(each.status))


def _said(db: sqlite3.Connection, entity: int) -> list[tuple[str, int]]:
    return db.execute("SELECT content, at FROM observations WHERE entity = ? ORDER BY id", (entity,)).fetchall()
