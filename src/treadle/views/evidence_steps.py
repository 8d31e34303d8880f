"""The activities of a run as evidence: those whose exits were accepted, and those that came to nothing."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from treadle.kernel.commands import RunAgent, RunEffect
from treadle.prompts.report import for_person
from treadle.protocol.catalogue import RECORDS
from treadle.protocol.items import Json
from treadle.protocol.model import Exit, Protocol, Step, tag_of
from treadle.protocol.proofs import proof_of
from treadle.store.records import Stray
from treadle.views.activity import is_spent, who_of, worker_of
from treadle.views.chronicle import Chronicle, Deed
from treadle.views.evidence import Accepted, Kind, Setback
from treadle.views.evidence_log import Record
from treadle.views.evidence_records import Find, Told, anything, payload, text, told
from treadle.views.moment import moment, seconds
from treadle.views.refusal import words_of_effect

_COMMIT: Final = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?\Z")
_WORDS: Final = 2_000
Agents = Mapping[str, str]
"""Role → its agent, as the run was started."""


class Taken(NamedTuple):
    """An accepted activity, and what its checks say."""

    step: Accepted
    told: tuple[Told, ...]
    ref: str
    """Where the accepted claim lies."""


class Lost(NamedTuple):
    """An activity that came to nothing, and what its checks say."""

    setback: Setback
    told: tuple[Told, ...]
    signals: tuple[str, ...] = ()
    """What came with the signals that it has served."""


def taken(chronicle: Chronicle, record: Record, find: Find, now: int, agents: Mapping[str, str] = {}) -> list[Taken]:
    """What was accepted, in the order in which it was settled."""
    found = [
        _taken(chronicle, record, find, agents, deed, now) for deed in chronicle.deeds.values() if is_accepted(deed)
    ]
    return sorted(found, key=lambda one: one.step.seq)


def lost(chronicle: Chronicle, find: Find, strays: Sequence[Stray], agents: Mapping[str, str] = {}) -> list[Lost]:
    """What did not hold, in the order of its end."""
    found = [one for deed in chronicle.deeds.values() for one in _lost(chronicle.protocol, find, agents, deed)]
    return sorted([*found, *map(_stray, strays)], key=lambda one: one.setback.time)


def workers(chronicle: Chronicle, agents: Agents) -> dict[str, str]:
    """Role → the persons and agents that have worked in it, the first one first."""
    found: dict[str, list[str]] = {}
    for deed in chronicle.deeds.values():
        if isinstance(deed.command, RunAgent) and (by := worker_of(deed, agents)):
            found.setdefault(deed.command.role, []).append(by)
    return {role: ", ".join(dict.fromkeys(names)) for role, names in found.items()}


def is_accepted(deed: Deed) -> bool:
    """Whether what an activity has claimed holds."""
    return bool(deed.ended and deed.left) and not (deed.stopped or deed.left.startswith("!") or is_spent(deed))


def _taken(chronicle: Chronicle, record: Record, find: Find, agents: Agents, deed: Deed, now: int) -> Taken:
    job, records = deed.command, told(find, deed)
    declared, step = _declared(chronicle.protocol, deed)
    said = payload(find, _result(deed))
    return Taken(
        Accepted(
            act=job.id,
            instance=job.inst,
            step=job.step,
            title=step.title if step else "",
            who=who_of(job),
            by=worker_of(deed, agents),
            exit=deed.left,
            proves=proof_of(declared, said) if declared else "",
            effect=job.effect if isinstance(job, RunEffect) else "",
            attempt=job.attempt,
            seq=record.settled.get(job.id, 0),
            time=moment(deed.ended),
            elapsed=seconds(deed.began, deed.ended or now),
            commit=_commit(deed, declared, said, records),
            words=_words(declared, said),
            checks=tuple(one.check for one in records),
        ),
        records,
        _result(deed),
    )


def _declared(protocol: Protocol | None, deed: Deed) -> tuple[Exit | None, Step | None]:
    if protocol is None:
        return None, None
    graph = protocol.graphs.get(deed.command.graph)
    return protocol.exits.get(tag_of(deed.left)), graph.steps.get(deed.command.step) if graph else None


def _result(deed: Deed) -> str:
    """Where the accepted claim lies: with its computed fields, if checks have filled them in."""
    if deed.checked:
        return deed.checked.payload_ref
    return deed.claim.envelope.payload_ref if deed.claim else ""


def _commit(deed: Deed, declared: Exit | None, said: dict[str, Json], records: Sequence[Told]) -> str:
    """The commit that an exit stands for; of an effect, the one that it has looked at before it published it."""
    looked_at = [one.check.commit for one in records if isinstance(deed.command, RunEffect) and one.check.commit]
    names = [name for name, field in declared.fields.items() if field.by == "git"] if declared else []
    named = [value for name in names if _COMMIT.match(value := text(said.get(name)))]
    kept = [one.check.commit for one in records if one.check.check in RECORDS]
    return next(iter([*looked_at, *named, *kept]), "")


def _words(declared: Exit | None, said: dict[str, Json]) -> str:
    """What the agent was asked for and said, field by field."""
    names = [name for name, field in declared.fields.items() if field.by == "agent"] if declared else []
    lines = [f"{name}: {_line(said[name])}" for name in names if said.get(name) not in (None, "", [])]
    return "\n".join(lines)[:_WORDS]


def _line(value: Json) -> str:
    match value:
        case str():
            return value
        case list():
            return "; ".join(map(_line, value))
        case dict():
            return " · ".join(_line(one) for one in value.values() if one not in (None, "", []))
    return json.dumps(value)


def _lost(protocol: Protocol | None, find: Find, agents: Agents, deed: Deed) -> Iterator[Lost]:
    records, by = told(find, deed), worker_of(deed, agents)
    for failure in deed.failures:
        details = anything(find, failure.detail_ref)
        said = (details.get("error") or for_person(details)) if isinstance(details, dict) else details
        why = said if isinstance(said, str) else json.dumps(details, ensure_ascii=False) if details else ""
        yield _setback(deed, by, "failed", failure.why, failure.ts, report=why)
    if deed.stopped and deed.stopped != "answered":
        yield _setback(deed, by, "stopped", deed.stopped, deed.ended)
    elif deed.claim and (deed.left.startswith("!") or is_spent(deed)):
        failed = [one.check.check for one in records if not one.check.ok and not one.check.advisory]
        said = payload(find, _result(deed))
        if failed or deed.left.startswith("!"):
            report = text(said.get("report"))
            yield _setback(deed, by, "refused", deed.claim.envelope.key, deed.ended, failed, report, records)
        else:
            declared = protocol.exits.get(deed.claim.envelope.type) if protocol else None
            key, report = deed.claim.envelope.key, _words(declared, said)
            yield _setback(deed, by, "sent back", key, deed.ended, report=report, records=records)
    elif is_accepted(deed):
        declared, _ = _declared(protocol, deed)
        fields = payload(find, _result(deed))
        if declared and (declared.severity != "INFO" or declared.proves != proof_of(declared, fields)):
            words = (
                words_of_effect(fields)[:_WORDS] if isinstance(deed.command, RunEffect) else _words(declared, fields)
            )
            yield _setback(deed, by, "sent back", deed.left, deed.ended, report=words, records=records)


def _setback(
    deed: Deed,
    by: str,
    kind: Kind,
    what: str,
    at: int,
    why: Sequence[str] = (),
    report: str = "",
    records: tuple[Told, ...] = (),
) -> Lost:
    job = deed.command
    return Lost(
        Setback(
            kind=kind,
            act=job.id,
            instance=job.inst,
            step=job.step,
            who=who_of(job),
            by=by,
            attempt=job.attempt,
            time=moment(at),
            what=what,
            why=tuple(why),
            report=report,
            checks=tuple(one.check for one in records),
        ),
        records,
        job.inputs.get("signals", ()),
    )


def _stray(one: Stray) -> Lost:
    place, _, _ = one.act.partition("#")
    inst, _, step = place.rpartition(":")
    return Lost(
        Setback(
            kind="not obeyed",
            act=one.act,
            instance=inst,
            step=step,
            who="",
            attempt=0,
            time=moment(one.at),
            what=one.what,
            why=(),
            report=one.detail,
            checks=(),
        ),
        (),
    )
