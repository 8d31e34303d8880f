"""Reads the records that checks have left. What is not there, or is not what a check leaves, proves nothing."""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from treadle.errors import PortError
from treadle.kernel.commands import RunEffect
from treadle.kernel.events import CheckResult
from treadle.protocol.catalogue import check_name
from treadle.protocol.items import Json
from treadle.protocol.model import CheckRef
from treadle.views.chronicle import Deed
from treadle.views.evidence import Check, CheckFinding

Find = Callable[[str], Json]
"""The payload behind a reference; a `PortError` if it is missing or damaged."""
_GONE = "there is no record of it"


class Told(NamedTuple):
    """A check's record, and what it says about tests."""

    check: Check
    red: frozenset[str]
    """Tests that were seen failing for the right reason."""
    on_skeleton: frozenset[str]
    criteria: dict[str, dict[str, str]]
    """Criterion → test → how it ended."""
    unnoticed: dict[str, tuple[str, ...]] | None
    """Criterion → wrong implementations that all its tests pass with; None: none was tried."""
    meanwhile: tuple[str, ...] = ()
    """What else was changed while the activity worked."""
    owners: Mapping[str, tuple[str, str]] = MappingProxyType({})
    """Criterion → the spec that it belongs to, and the hash of its text; empty in records of older versions."""


def told(find: Find, deed: Deed) -> tuple[Told, ...]:
    """What the checks of an activity have left, in their order."""
    return tuple(_told(find, result, ref) for result, ref in results(deed))


def results(deed: Deed) -> Iterator[tuple[CheckResult, CheckRef]]:
    """Results come in the order of the checks that were asked for; two of one name differ in their argument."""
    if isinstance(deed.command, RunEffect) and deed.claim:
        yield from ((result, CheckRef(name=result.check)) for result in deed.claim.results)
    results = deed.checked.results if deed.checked else ()
    if [one.check for one in results] == [one.name for one in deed.checks]:
        yield from zip(results, deed.checks, strict=True)
    else:
        yield from ((result, CheckRef(name=result.check)) for result in results)


def _told(find: Find, result: CheckResult, ref: CheckRef) -> Told:
    value = payload(find, result.report_ref)
    name = check_name(ref.name, ref.arg)
    exit_ = value.get("exit")
    check = Check(
        check=name,
        ok=result.ok,
        advisory=ref.advisory,
        skipped=value.get("skipped") is True,
        commit=text(value.get("commit")),
        tree=text(value.get("tree")),
        command=texts(value.get("command")),
        exit=exit_ if isinstance(exit_, int) else None,
        duration=_seconds(value.get("duration")),
        output=text(value.get("output")),
        report=text(value.get("report")) if value else _GONE,
        findings=findings(value),
        isolation=text(value.get("isolation")),
        limits=texts(value.get("limits")),
        plots=tuple(_plots(find, value)),
        ref=result.report_ref,
        gone=not value,
    )
    red, skeleton = (frozenset(texts(value.get(key))) for key in ("red", "red_on_skeleton"))
    return Told(
        check,
        red,
        skeleton,
        _criteria(value.get("criteria")),
        _unnoticed(value),
        texts(value.get("meanwhile")),
        _owners(value.get("of")),
    )


def findings(record: Json) -> tuple[CheckFinding, ...]:
    """What a check has found, by its record; nothing if the record is older than codes."""
    listed = record.get("findings") if isinstance(record, dict) else None
    found: list[CheckFinding] = []
    for one in listed if isinstance(listed, list) else ():
        try:
            found.append(msgspec.convert(one, CheckFinding))
        except msgspec.ValidationError:
            continue
    return tuple(found)


def codes(record: Json) -> tuple[str, ...]:
    """The codes of the problems in a check's record, each once; those of notes are left out."""
    return tuple(dict.fromkeys(one.code for one in findings(record) if one.code and not one.note))


def payload(find: Find, ref: str) -> dict[str, Json]:
    """The fields of a payload; none if it has none, or cannot be read."""
    value = anything(find, ref)
    return value if isinstance(value, dict) else {}


def anything(find: Find, ref: str) -> Json:
    """A payload; None if it cannot be read."""
    try:
        return find(ref) if ref else None
    except PortError:
        return None


def text(value: Json) -> str:
    """A text, or nothing."""
    return value if isinstance(value, str) else ""


def texts(value: Json) -> tuple[str, ...]:
    """The texts of a list."""
    return tuple(one for one in value if isinstance(one, str)) if isinstance(value, list) else ()


def _seconds(value: Json) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0.0


def _criteria(value: Json) -> dict[str, dict[str, str]]:
    listed = value if isinstance(value, dict) else {}
    return {
        name: {id_: text(verdict) for id_, verdict in tests.items()}
        for name, tests in listed.items()
        if isinstance(tests, dict)
    }


def _owners(value: Json) -> dict[str, tuple[str, str]]:
    listed = value if isinstance(value, dict) else {}
    return {
        name: (text(one.get("spec")), text(one.get("text"))) for name, one in listed.items() if isinstance(one, dict)
    }


def _plots(find: Find, value: dict[str, Json]) -> Iterator[str]:
    measured = value.get("scaling")
    for one in measured if isinstance(measured, list) else ():
        picture = payload(find, text(one.get("plot"))) if isinstance(one, dict) else {}
        if svg := text(picture.get("svg")):
            yield svg


def _unnoticed(value: dict[str, Json]) -> dict[str, tuple[str, ...]] | None:
    if "wrong_implementations" not in value:
        return None
    listed = value.get("unnoticed")
    return {name: texts(wrong) for name, wrong in listed.items()} if isinstance(listed, dict) else {}
