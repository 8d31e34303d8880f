"""Dialogues: the agents of one instance talk in a space of their own; other agents cannot read it.

The orchestrator gives each agent a seat, bound to its token, and posts accepted answers. A dialogue never moves a run:
only answers do.
"""

import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

import msgspec

from treadle.memory.claims import contradiction
from treadle.memory.sources import StatementSource, source_of
from treadle.memory.store import Entity, Memory, Space
from treadle.protocol.agent_lines import Observation, parse_observation, render_observation

# One message of a dialogue: a record, in the spellings of both published protocols.
#
# `R{round}|P{phase}|{agent}|{status}|{content}`, where the round or the phase may be missing, and
# `OBS[S{session},R{round},A:{agent},T:{time}]: {content}`. Any content survives the round trip unchanged.

_BARS: Final = re.compile(
    r"(?:R(?P<round>[0-9]{1,9})\|)?(?:P(?P<phase>[^|\n]*)\|)?(?P<agent>(?!→)[^|\n]+)\|(?P<status>→?[^|\n]*)\|(?P<content>.*)",
    re.DOTALL,
)
_UNSAYABLE: Final = re.compile(r"[|,\[\]\n\r]")


class DialogueRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """A message with its agent, round, phase, status and time; unknown fields are empty."""

    content: str
    round: str = ""
    phase: str = ""
    agent: str = ""
    status: str = ""
    at: int = 0
    """Milliseconds since the epoch."""
    source: StatementSource | None = None
    """The real author of the message; None in a dialogue of an older version."""


def format_bars(record: DialogueRecord) -> str:
    """Format a record as it is stored."""
    round_ = f"R{record.round}|" if record.round else ""
    # An agent whose name could be taken for a phase has one in front of it, if only an empty one.
    phase = f"P{record.phase}|" if record.phase or record.agent.startswith("P") else ""
    return f"{round_}{phase}{record.agent}|{record.status}|{record.content}"


def format_observation(session: str, record: DialogueRecord) -> str:
    """Format a record as an observation, the other spelling."""
    return render_observation(Observation(record.content, session, record.round, record.agent, record.at))


def parse_record(text: str, at: int = 0) -> DialogueRecord:
    """Parse a record; a text in neither spelling is all content."""
    if observation := parse_observation(text):
        return DialogueRecord(observation.content, round=observation.round, agent=observation.agent, at=at)
    bars = _BARS.fullmatch(text)
    if bars and (bars["round"] or bars["status"].startswith("→")):
        parts = bars.groupdict(default="")
        return DialogueRecord(parts["content"], parts["round"], parts["phase"], parts["agent"], parts["status"], at)
    return DialogueRecord(text, at=at)


def is_record(line: str) -> bool:
    """Whether a line would be read as a message of its own."""
    record = parse_record(line)
    return bool(record.agent or record.round or record.status)


def plain_name(name: str) -> str:
    """Replace the separators of records in a name."""
    return _UNSAYABLE.sub("/", name)


ORCHESTRATOR: Final = "MT"
"""The published protocols' name for the orchestrator."""
INIT: Final = "→INIT"
NOTE: Final = "note"
"""The status of messages before the answer."""


_FORGET: Final = (
    "DELETE FROM observations WHERE entity IN (SELECT id FROM entities WHERE space = ?)",
    "DELETE FROM entities WHERE space = ?",
    "DELETE FROM relations WHERE space = ?",
    "DELETE FROM heard WHERE session = ?",
    "DELETE FROM facts WHERE session = ?",
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


class AcceptedAnswer(msgspec.Struct, frozen=True):
    """An accepted answer of this dialogue: posted once, however often it is reported."""

    key: str
    step: str
    status: str
    content: str


class DialogueExcerpt(msgspec.Struct, frozen=True):
    """A dialogue, or a part of it."""

    session: str
    type: str
    records: list[DialogueRecord]


class Dialogues:
    """The dialogues of runs, from the orchestrator's side."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def admit(
        self,
        seat: Seat,
        mark: str,
        kind: str,
        task: str,
        accepted: Sequence[AcceptedAnswer] = (),
        facts: Mapping[str, str] | None = None,
    ) -> None:
        """Give a seat to the agent with this mark of a token; it replaces the activity's earlier seat.

        `facts` are Treadle's present facts; Treadle compares later messages of agents with them.
        """
        with self._memory.writing() as db:
            source = StatementSource(role=ORCHESTRATOR, step="", run=seat.run, how="task")
            space = Space(self._memory, seat.session, lambda _: source)
            if not space.named(db, seat.session):
                begun = format_bars(DialogueRecord(task, "0", "", ORCHESTRATOR, INIT))
                space.insert(db, Entity(seat.session, kind, (begun,)))
            _post_answers(db, self._memory, seat.session, accepted)
            db.execute("DELETE FROM facts WHERE session = ?", (seat.session,))
            db.executemany("INSERT INTO facts VALUES (?, ?, ?)", [(seat.session, *it) for it in (facts or {}).items()])
            db.execute("DELETE FROM seats WHERE act = ? AND session = ?", (seat.act, seat.session))
            db.execute(
                "INSERT OR REPLACE INTO seats SELECT ?, ?, ?, ?, ?, ?, ?, ?, coalesce(max(n), 0) + 1, 1 FROM seats",
                (
                    mark,
                    seat.run,
                    seat.session,
                    seat.act,
                    seat.step,
                    plain_name(seat.agent),
                    plain_name(seat.round),
                    plain_name(seat.phase),
                ),
            )

    def dismiss(self, mark: str) -> None:
        """Close the seat of an ended activity; later messages from it are refused."""
        with self._memory.writing() as db:
            db.execute("UPDATE seats SET open = 0 WHERE mark = ?", (mark,))

    def forget(self, run: str) -> int:
        """Remove the dialogues of a run; how many there were."""
        with self._memory.writing() as db:
            sessions = db.execute("SELECT DISTINCT session FROM seats WHERE run = ?", (run,)).fetchall()
            for statement in _FORGET:
                db.executemany(statement, sessions)
        return len(sessions)

    def tell(self, session: str, accepted: Sequence[AcceptedAnswer]) -> None:
        """Post accepted answers in a dialogue, if it exists."""
        with self._memory.writing() as db:
            _post_answers(db, self._memory, session, accepted)


@contextmanager
def dialogues_in(path: Path) -> Iterator[Dialogues]:
    """The dialogues in a memory, for a moment."""
    with closing(Memory(path)) as memory:
        yield Dialogues(memory)


class Dialogue:
    """One dialogue from the side of an agent's seat, or the project's graph if `seat` is None."""

    def __init__(self, memory: Memory, seat: Seat | None = None) -> None:
        self._memory, self.seat = memory, seat
        self._facts = facts_of(memory, seat.session) if seat else {}
        self.space = Space(memory, seat.session, self._source) if seat else Space(memory)

    def _source(self, text: str) -> StatementSource:
        """Return the source of a message: the agent in this seat, even if the text names another one."""
        assert self.seat is not None
        seat, claim = self.seat, contradiction(parse_record(text).content, self._facts)
        return StatementSource(role=seat.agent, step=seat.step, run=seat.run, act=seat.act, claim=claim)

    def begin(self, session: str, kind: str) -> bool:
        """Whether the dialogue is new."""
        return bool(self.space.create_entities([Entity(session, kind, ())]))

    def say(self, session: str, content: str, status: str = "") -> str | None:
        """Store a message, even a repeated one; return the stored text, None if there is no such dialogue."""
        text = self.signed(content, status)
        with self._memory.writing() as db:
            for entity, _ in self.space.named(db, session)[:1]:
                self.space.say(db, entity, [text])
                return text
        return None

    def signed(self, content: str, status: str = "") -> str:
        """Prefix a message with its agent, round and status, unless the agent has written them already."""
        seat = self.seat
        if seat is None or self._is_signed(content, status):
            return content
        return format_bars(DialogueRecord(content, seat.round, seat.phase, seat.agent, status or NOTE))

    def read(self, session: str) -> DialogueExcerpt | None:
        """Return a dialogue with all its messages, in order; None if there is none of this name."""
        with self._memory.reading() as db:
            for entity, kind in self.space.named(db, session)[:1]:
                rows = db.execute(_RECORDS, (entity,))
                return DialogueExcerpt(session, kind, [_sourced(*row) for row in rows])
        return None

    def names(self) -> list[str]:
        """Return the dialogues that can be read from here."""
        with self._memory.reading() as db:
            rows = db.execute("SELECT name FROM entities WHERE space = ? ORDER BY id LIMIT 100", (self.space.name,))
            return [name for (name,) in rows]

    def _is_signed(self, content: str, status: str) -> bool:
        """Whether a text begins with the speaker's own name and round, and with the status, if there is one."""
        record, seat = parse_record(content), self.seat
        is_own = bool(seat and record.agent and record.agent == seat.agent and record.round in ("", seat.round))
        return is_own and status in ("", record.status)


_RECORDS: Final = (
    "SELECT content, at, role, step, run, act, how, claim FROM observations LEFT JOIN sources"
    " ON sources.kind = 'observations' AND sources.id = observations.id WHERE entity = ? ORDER BY observations.id"
)


def _sourced(content: str, at: int, role: str | None, *more: str) -> DialogueRecord:
    record = parse_record(content, at)
    return record if role is None else msgspec.structs.replace(record, source=source_of((role, *more)))


def facts_of(memory: Memory, session: str) -> dict[str, str]:
    """Return the facts that Treadle knew when it last seated an agent in a dialogue."""
    with memory.reading() as db:
        return dict(db.execute("SELECT key, value FROM facts WHERE session = ?", (session,)).fetchall())


def sessions_in(memory: Memory) -> list[str]:
    """Return the dialogues of runs, the latest last."""
    with memory.reading() as db:
        rows = db.execute("SELECT session FROM seats GROUP BY session ORDER BY min(n)")
        return [session for (session,) in rows]


def seat_of(memory: Memory, mark: str) -> Seat | None:
    """Return the open seat for the mark of a token; None if there is none."""
    with memory.reading() as db:
        row = db.execute(
            "SELECT run, session, act, step, agent, round, phase FROM seats WHERE mark = ? AND open", (mark,)
        ).fetchone()
    if row is None:
        return None
    run, session, act, step, agent, round_, phase = row
    return Seat(run=run, session=session, act=act, step=step, agent=agent, round=round_, phase=phase)


def _post_answers(db: sqlite3.Connection, memory: Memory, session: str, accepted: Sequence[AcceptedAnswer]) -> None:
    last_seat = "SELECT agent, round, phase, run, act FROM seats WHERE session = ? AND step = ? ORDER BY n DESC LIMIT 1"
    for entity, _ in Space(memory, session).named(db, session)[:1]:
        for each in accepted:
            if db.execute("INSERT OR IGNORE INTO heard VALUES (?, ?)", (session, each.key)).rowcount:
                row = db.execute(last_seat, (session, each.step)).fetchone()
                agent, round_, phase, run, act = row or (plain_name(each.step), "", "", "", "")
                record = DialogueRecord(each.content, round_, phase, agent, plain_name(each.status))
                source = StatementSource(role=agent, step=each.step, run=run, act=act, how="accepted")
                space = Space(memory, session, lambda _, source=source: source)  # type: ignore[misc]
                space.say(db, entity, [format_bars(record)])
