"""A claim as the kernel sees it; what it says in full is put into the payloads."""

from treadle.kernel.events import Envelope
from treadle.ports import Payloads
from treadle.protocol.answers.answer import routed, variant_of
from treadle.protocol.items import Json
from treadle.protocol.model import Protocol


def envelope_of(protocol: Protocol, exit_: str, fields: dict[str, Json], payloads: Payloads) -> Envelope:
    """The envelope of an exit with these fields. Items that children are spawned over become payloads of their own."""
    declared = protocol.exits[exit_]
    return Envelope(
        exit_,
        variant_of(protocol, exit_, fields),
        routed(protocol, exit_, fields, payloads.put),
        payloads.put(fields),
        declared.severity,
        declared.route_hint,
    )
