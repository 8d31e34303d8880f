"""What an accepted exit proves: always the same, or only with some values of its fields (`proves_when`)."""

from collections.abc import Mapping

from treadle.protocol.guards import holds
from treadle.protocol.items import Json
from treadle.protocol.model import Exit, Proof


def proof_of(exit_: Exit, fields: Mapping[str, Json]) -> Proof:
    """What an exit proves that was accepted with these fields; empty: nothing."""

    def lookup(root: str, name: str) -> Json:
        return fields.get(name) if root == "data" else None

    return exit_.proves if holds(exit_.proves_when, lookup) else ""
