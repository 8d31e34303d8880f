"""What somebody said in a dialogue: one record, in the spellings of both published protocols.

`R{round}|P{phase}|{agent}|{status}|{content}`, of which the round or the phase may be missing, and
`OBS[S{session},R{round},A:{agent},T:{time}]: {content}`. Whatever the content is, it comes back as it was.
"""

import re
from typing import Final

import msgspec

from treadle.protocol.lines.observations import Observation
from treadle.protocol.lines.observations import parse as parse_observation
from treadle.protocol.lines.observations import render as render_observation

_BARS: Final = re.compile(
    r"(?:R(?P<round>[0-9]{1,9})\|)?(?:P(?P<phase>[^|\n]*)\|)?(?P<agent>(?!→)[^|\n]+)\|(?P<status>→?[^|\n]*)\|(?P<content>.*)",
    re.DOTALL,
)
_UNSAYABLE: Final = re.compile(r"[|,\[\]\n\r]")


class Record(msgspec.Struct, frozen=True, omit_defaults=True):
    """Who said what, when in the course of the dialogue; what is not known is empty."""

    content: str
    round: str = ""
    phase: str = ""
    agent: str = ""
    status: str = ""
    at: int = 0
    """Milliseconds since the epoch."""


def bars(record: Record) -> str:
    """A record as it is stored."""
    round_ = f"R{record.round}|" if record.round else ""
    # An agent whose name could be taken for a phase has one in front of it, if only an empty one.
    phase = f"P{record.phase}|" if record.phase or record.agent.startswith("P") else ""
    return f"{round_}{phase}{record.agent}|{record.status}|{record.content}"


def obs(session: str, record: Record) -> str:
    """A record in the other spelling."""
    return render_observation(Observation(record.content, session, record.round, record.agent, record.at))


def parse(text: str, at: int = 0) -> Record:
    """The record in a text; one that is in neither spelling is all content."""
    if said := parse_observation(text):
        return Record(said.content, round=said.round, agent=said.agent, at=at)
    found = _BARS.fullmatch(text)
    if found and (found["round"] or found["status"].startswith("→")):
        parts = found.groupdict(default="")
        return Record(parts["content"], parts["round"], parts["phase"], parts["agent"], parts["status"], at)
    return Record(text, at=at)


def plain(name: str) -> str:
    """A name without what stands between the parts of a record."""
    return _UNSAYABLE.sub("/", name)
