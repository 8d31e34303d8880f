"""`payload_get`: payloads by their address, in pieces; only those that the activity was given.

Which these are, `payloads.json` of the bundle says; what is in its files is believed only if it has that address.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from treadle.protocol.answers.schema import Schema
from treadle.protocol.findings import suggest
from treadle.protocol.items import canonical, content_ref
from treadle.results.faulty import Faulty
from treadle.results.files import look
from treadle.results.offered import Offered, Said

NAME: Final = "payload_get"
FILE: Final = "payloads.json"
PIECE: Final = 50_000
"""Characters of a payload that are given at once, if nothing else is asked for."""
_TEXT: Final = "text:"
_TAKES: Final[Schema] = {
    "type": "object",
    "properties": {
        "ref": {"type": "string", "description": "sha256:…, or the name of an input. Without it, all are listed."},
        "offset": {"type": "integer", "minimum": 0, "description": "The first character that is wanted."},
        "limit": {"type": "integer", "minimum": 1, "description": f"How many characters, at most {PIECE}."},
    },
}
TOOL: Final = Offered(
    NAME,
    "What this step was given, by address, as canonical JSON; long ones in pieces.",
    _TAKES,
    hints={"readOnlyHint": True},
)


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where a payload is in the bundle."""

    ref: str
    input: str
    file: str
    at: int | None
    """Its place in the file's list; None: it is the whole file."""


def is_offered(bundle: Path) -> bool:
    """Whether an activity's bundle says what its payloads are."""
    return (bundle / FILE).is_file()


def call(bundle: Path, given: Mapping[str, Any]) -> Said:
    """A piece of a payload, or the list of all."""
    ref, offset, limit = given.get("ref", ""), given.get("offset", 0), given.get("limit", PIECE)
    if not isinstance(ref, str) or not _is_count(offset, 0) or not _is_count(limit, 1):
        return Said("`ref` is a text, `offset` a whole number from 0, `limit` one from 1", ok=False)
    places = _places(bundle)
    if not ref:
        return _said({"payloads": [{"ref": place.ref, "input": place.input} for place in places]})
    found = [place for place in places if ref in (place.ref, place.input)]
    if not found:
        near = suggest(ref, [name for place in places for name in (place.ref, place.input)])
        return Said(
            f"{ref[:80]!r} is not among what this step was given; {near or 'without `ref`, it is listed'}", ok=False
        )
    if len({place.ref for place in found}) > 1:
        return Said(f"there are several of {ref[:80]!r}: {', '.join(sorted({place.ref for place in found}))}", ok=False)
    return _piece(bundle, found[0], offset, min(limit, PIECE))


def _piece(bundle: Path, place: Place, offset: int, limit: int) -> Said:
    text = _text(bundle, place)
    if text is None:
        return Said(f"{place.file} of the bundle is not what was put there; it cannot be given", ok=False)
    end = offset + limit
    rest = {"next_offset": end} if end < len(text) else {}
    return _said({"ref": place.ref, "total": len(text), "offset": offset, "text": text[offset:end], **rest})


def _text(bundle: Path, place: Place) -> str | None:
    """A payload as canonical JSON, or a text of the kernel's own; None if it is not there any more."""
    if place.ref.startswith(_TEXT):
        return place.ref.removeprefix(_TEXT)
    value = _json(bundle, place.file)
    if place.at is not None:
        value = value[place.at] if isinstance(value, list) and place.at < len(value) else None
    return canonical(value).decode(errors="replace") if content_ref(value) == place.ref else None


def _places(bundle: Path) -> list[Place]:
    try:
        return msgspec.convert(_json(bundle, FILE), list[Place])
    except msgspec.ValidationError:
        return []


def _json(bundle: Path, name: str) -> Any:
    data = look(bundle, name)
    try:
        return None if data is None or isinstance(data, Faulty) else json.loads(data)
    except (ValueError, RecursionError):
        return None


def _is_count(value: object, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _said(data: dict[str, Any]) -> Said:
    return Said(json.dumps(data, indent=2, ensure_ascii=False), data=data)
