"""The evidence of a run as lines for a terminal; each has its indent, so that it can be wrapped to any width."""

import shlex
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from treadle.views.baseline import counts
from treadle.views.evidence import Accepted, Check, Evidence, Part, Proved, Verdict
from treadle.views.evidence_words import (
    WHOSE_WORD,
    agents,
    consumed,
    ended,
    held,
    history,
    how_it_stands,
    left_open,
    mark,
    road,
    score,
    setbacks_of,
    standing,
    where,
)
from treadle.views.moment import duration, plain

_TESTS = 8
"""Tests of a criterion that are named; `--json` has all of them."""
_NOTES = 8
_WRONG = 4
_OWN_WORD = "○"
_SIGNS = {"verified": "✓", "partial": "✗", "none": "✗"}


class Row(NamedTuple):
    """A line: how far it is indented, and how far what does not fit on it is."""

    indent: int
    hang: int
    text: str


def rows(found: Evidence) -> Iterator[Row]:
    """The run, its criteria, its instances, and everything that did not hold."""
    steps = {one.act: one for one in found.accepted}
    yield from _head(found)
    yield from _section("Criteria", (row for one in found.criteria for row in _criterion(found, steps, one)))
    yield from _section("Instances", (row for one in found.instances for row in _instance(found, one)))
    yield from _section("Before the run", _before(found))
    yield from _section("Refused, failed and sent back", _setbacks(found))
    yield from _section("Decided by people", _decisions(found))
    yield from _section("Advice that refused nothing", _waivers(found))
    yield from _section("What the tests leave open", _left_open(found))
    run = shlex.quote(found.run)
    yield Row(0, 0, "")
    yield Row(0, 2, f"treadle show {run} ACTIVITY has the raw records; treadle evidence {run} --html FILE a page")


def _section(title: str, lines: Iterable[Row]) -> Iterator[Row]:
    listed = list(lines)
    if listed:
        yield from (Row(0, 0, ""), Row(0, 0, f"── {title} ──"), *listed)


def _head(found: Evidence) -> Iterator[Row]:
    protocol = f"{found.protocol.name} {found.protocol.version}" if found.protocol else "no protocol yet"
    yield Row(0, 2, f"{found.run} · {protocol} · {how_it_stands(found)} · {score(found)}")
    if found.about:
        yield Row(2, 2, found.about)
    yield Row(2, 2, f"began {plain(found.began)}, {duration(found.elapsed)}, {found.events} events")
    if found.protocol:
        yield Row(2, 2, f"protocol {found.protocol.digest}")
    facts = ((held(found), where(found)), ("agents", "; ".join(agents(found))), ("used", consumed(found)))
    yield from (Row(2, 4, f"{name} {said}") for name, said in facts if said)


def _criterion(found: Evidence, steps: dict[str, Accepted], one: Proved) -> Iterator[Row]:
    yield Row(
        0, 2, f"{_OWN_WORD if one.own_word else _SIGNS[one.standing]} {one.id} · {one.instance} · {standing(one)}"
    )
    if one.text:
        yield Row(4, 4, one.text)
    if one.own_word:
        yield Row(4, 11, f"whose  {WHOSE_WORD}")
    yield from (Row(4, 6, f"missing: {why}") for why in one.missing)
    yield from (Row(4, 11, f"test   {test.id}") for test in one.tests[:_TESTS])
    if len(one.tests) > _TESTS:
        yield Row(11, 11, f"and {len(one.tests) - _TESTS} more")
    if one.unnoticed:
        more = f"; and {len(one.unnoticed) - _WRONG} more" if len(one.unnoticed) > _WRONG else ""
        yield Row(4, 11, f"open   all of these pass if {'; '.join(one.unnoticed[:_WRONG])}{more}")
    for colour, act in (("red", one.red), ("green", one.green)):
        if act in steps:
            yield Row(4, 11, f"{colour:6} {_run(steps[act], colour)}")
    for it in road(steps, one):
        if isinstance(it, Verdict):
            yield Row(4, 11, f"review {it.exit}{'' if it.good else ' ✗'} by {it.who}{f' ({it.act})' if it.act else ''}")
        else:
            yield Row(4, 11, f"merge  {it.act} {it.commit[:12]}")
    if said := history(setbacks_of(found, one)):
        yield Row(4, 11, f"before {said}")


def _run(step: Accepted, colour: str) -> str:
    check = next((it for it in step.checks if it.check.partition(":")[0].startswith(colour)), None)
    seen = f", {ended(check)}" if check else ""
    commit = step.commit or (check.commit if check else "")
    return " ".join(filter(None, (step.act, commit[:12]))) + seen


def _instance(found: Evidence, one: Part) -> Iterator[Row]:
    depth = one.id.count("/") * 2
    counted = f" · {one.verified} of {len(one.criteria)} criteria verified" if one.criteria else ""
    given = f" · given on: {', '.join(f'{id_} to {to}' for id_, to in one.given_on.items())}" if one.given_on else ""
    yield Row(depth, depth + 2, f"{one.id} · {one.outcome or 'goes on'} · {duration(one.elapsed)}{counted}{given}")
    for step in found.accepted:
        if step.instance == one.id:
            proves = f" (proves {step.proves})" if step.proves else ""
            by = f" by {step.by}" if step.by else ""
            said = f"{step.act} {step.exit}{by}{proves} {step.commit[:12]} {_checks(step.checks)}"
            yield Row(depth + 2, depth + 4, said)


def _checks(checks: Iterable[Check]) -> str:
    return ", ".join(it.check if mark(it) == "passed" else f"{it.check} {mark(it)}" for it in checks)


def _before(found: Evidence) -> Iterator[Row]:
    if found.baseline is not None:
        yield Row(0, 2, f"{counts(found.baseline)} on {found.baseline.commit[:12]}")
        yield from (Row(2, 4, f"{one.test} [{one.code}]") for one in found.baseline.tests)


def _setbacks(found: Evidence) -> Iterator[Row]:
    for one in found.setbacks:
        name = f" ({one.by})" if one.by else ""
        who = f" by {one.who}{name}" if one.who else ""
        why = f" ({', '.join(one.why)} failed)" if one.why else ""
        yield Row(0, 2, f"{plain(one.time)} {one.act} {one.kind}: {one.what}{why}{who}")
        yield from (Row(4, 6, line) for line in one.report.splitlines()[:6] if line.strip())


def _decisions(found: Evidence) -> Iterator[Row]:
    for one in found.decisions:
        place = ":".join(part for part in (one.instance, one.step) if part)
        yield Row(0, 2, f"{plain(one.time)} {one.who} to {place or 'the run'}: {one.choice}")
        if one.note:
            yield Row(4, 4, one.note)


def _waivers(found: Evidence) -> Iterator[Row]:
    for one in found.waivers:
        yield Row(0, 2, f"{one.act}: {one.check}")
        yield from (Row(4, 6, line) for line in one.report.splitlines()[:6])


def _left_open(found: Evidence) -> Iterator[Row]:
    """What was noted of new tests when they were accepted."""
    for act, notes in left_open(found).items():
        yield Row(0, 2, act)
        yield from (Row(4, 6, line) for line in notes[:_NOTES])
        if len(notes) > _NOTES:
            yield Row(4, 6, f"and {len(notes) - _NOTES} more: treadle show {shlex.quote(found.run)} {act}")
