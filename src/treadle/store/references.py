"""Which payloads a run needs."""

import re
from collections.abc import Iterator
from typing import Final

from treadle.kernel.events import Checked, Event, Exited, Failed, Replied, RunStarted, Signalled, TimerFired
from treadle.protocol.items import Item, Routed

_REF: Final = re.compile(rb"sha256:[0-9a-f]{64}")
_OURS: Final = "sha256:"


def mentioned(body: bytes) -> set[str]:
    """Everything in some bytes that could be a reference: for those who may keep too much, and never too little."""
    return {found.decode() for found in _REF.findall(body)}


def needed(event: Event) -> Iterator[str]:
    """The payloads that must be there for an event to be read in full."""
    return (ref for ref in _refs(event) if ref.startswith(_OURS))


def _refs(event: Event) -> Iterator[str]:
    match event:
        case RunStarted(input=item):
            yield from _within((item,))
        case Exited(envelope=envelope):
            yield envelope.payload_ref
            yield from (result.report_ref for result in event.results)
            yield from _fields(envelope.fields)
        case Checked():
            yield event.payload_ref
            yield from (result.report_ref for result in event.results)
            yield from _fields(event.derived)
        case Failed(detail_ref=ref) | TimerFired(detail_ref=ref) | Replied(note_ref=ref) | Signalled(data_ref=ref):
            yield ref
        case _:
            pass


def _fields(fields: dict[str, Routed]) -> Iterator[str]:
    for value in fields.values():
        if isinstance(value, tuple):
            yield from _within(value)


def _within(parts: tuple[Item | str, ...]) -> Iterator[str]:
    for part in parts:
        if isinstance(part, Item):
            yield part.ref
            yield from _fields(part.fields)
