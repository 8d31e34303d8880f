"""`proves_when`: what it may look at, and that nothing is merged where it does not hold."""

import msgspec
import pytest

from tests.protocol.checks.planted import said
from treadle.protocol.load import load
from treadle.protocol.model import Protocol, Route

DPTR = load("dptr")
GOOD = "data.validation == 'VC' and data.quality == 'QP'"


def when(guard: str, **changes: str) -> Protocol:
    reviewed = msgspec.structs.replace(DPTR.exits["Reviewed"], proves_when=guard, **changes)
    return msgspec.structs.replace(DPTR, exits={**DPTR.exits, "Reviewed": reviewed})


def merged(guard: str) -> Protocol:
    """The final review leads to the merge under another guard."""
    graph = DPTR.graphs["dptr"]
    review = graph.steps["review"]
    routes = {**review.routes, "Reviewed": (Route(to="deliver", when=guard), Route(to="deviations"))}
    steps = {**graph.steps, "review": msgspec.structs.replace(review, routes=routes)}
    return msgspec.structs.replace(DPTR, graphs={**DPTR.graphs, "dptr": msgspec.structs.replace(graph, steps=steps)})


@pytest.mark.parametrize(
    ("protocol", "expected"),
    [
        (when("data.quality =="), "guard `data.quality ==` cannot be read"),
        (when("data.qualities == 'QP'"), "looks at 'data.qualities', which is no routed field of this exit"),
        (when("data.report == 'well'"), "looks at 'data.report', which is no routed field of this exit"),
        (when("last.review == 'Reviewed'"), "looks at 'last.review', which is no routed field of this exit"),
        (when("data.quality == 'QQ'"), "compares 'data.quality' with 'QQ', which it never is (values are QP, QF)"),
        (when(GOOD, proves=""), "has `proves_when`, but proves nothing"),
        (merged("data.quality == 'QP'"), "leads to merge 'deliver' where it proves nothing (merge under the guard"),
    ],
)
def test_a_planted_fault_is_named(protocol: Protocol, expected: str) -> None:
    assert expected in "\n".join(said(protocol))


def test_a_guard_that_is_the_proof_leads_to_the_merge() -> None:
    assert said(merged(GOOD)) == said(DPTR) == []
    assert said(load("riper")) == []
