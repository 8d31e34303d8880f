"""What a claim says of itself, and what its checks will say."""

from tests.kernel.protocols import agent, graph, protocol, to
from treadle.protocol.items import Routed
from treadle.protocol.model import Exit, Field
from treadle.simulate.claims import derivation, envelope

STUCK = Exit(
    route_on="variant",
    fields={
        "variant": Field(type="Skill | Loop", route="value"),
        "passed": Field(type="int", route="value", by="tests"),
        "note": Field(type="text"),
    },
)
TABLE = protocol(graph({"work": agent({"Stuck": to("@end:Done")})}), exits={"Stuck": STUCK})


def seven(_name: str, _field: Field) -> Routed:
    return 7


def test_the_field_that_refines_the_key_says_the_same_as_the_key() -> None:
    claim = envelope(TABLE, "Stuck.Loop", seven, derived=True)
    assert (claim.key, claim.fields) == ("Stuck.Loop", {"variant": "Loop"})


def test_what_checks_compute_is_said_by_them_or_by_an_effect() -> None:
    assert derivation(TABLE, "Stuck.Loop", seven) == {"passed": 7}
    assert envelope(TABLE, "Stuck.Loop", seven, derived=False).fields == {"variant": "Loop", "passed": 7}
