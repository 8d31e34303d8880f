"""Names in a scope that the protocol does not have."""

import pytest

from treadle.protocol.load import load
from treadle.simulate.bounds import misfits
from treadle.simulate.scope import Scope


@pytest.mark.parametrize(
    ("scope", "message"),
    [
        (Scope(graph="nodes"), "v3 has no graph 'nodes' (did you mean 'node'?); there are node"),
        (Scope(menus={"imp": ("TestsPassed",)}), "v3 has no step 'imp' (did you mean 'impl'?)"),
        (Scope(items={"childSpec": (1,)}), "v3 has no field 'childSpec'"),
        (Scope(faults=("!gates",)), "v3 has no system exit '!gates' (did you mean '!gate'?)"),
    ],
)
def test_a_name_that_the_protocol_does_not_have(scope: Scope, message: str) -> None:
    (found,) = misfits(load("v3"), scope)
    assert found.startswith(message)


def test_a_scope_that_fits() -> None:
    scope = Scope(graph="node", menus={"stuck@impl": ("retry",)}, items={"InitWork.childSpecs": (1,)})
    assert list(misfits(load("v3"), scope)) == []
