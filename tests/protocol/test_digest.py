import json

import msgspec

from tests.protocol.loading import MINIMAL, STEP, protocol
from treadle.protocol.digest import canonical, digest
from treadle.protocol.model import Becomes, Limits, Protocol, Thread


def changed(base: Protocol, **values: object) -> Protocol:
    return msgspec.structs.replace(base, **values)


def test_a_digest_has_its_algorithm_and_is_stable() -> None:
    # A golden value: runs pin it, so a change here strands every pinned run.
    small = protocol(MINIMAL + STEP)
    assert digest(small) == "sha256:564f9b61ed6b1e6f994e3d965093b48fe6717718b657ae60d66c43602689f02d"


def test_the_order_of_keys_does_not_matter() -> None:
    base = protocol(MINIMAL + STEP)
    assert digest(changed(base, pools={"a": 1, "b": 2})) == digest(changed(base, pools={"b": 2, "a": 1}))


def test_a_default_that_was_written_out_does_not_matter() -> None:
    text = (
        "limits: {depth: 4, wall: 0}\nversion: '1'\n" + MINIMAL + STEP.replace("{role", "{thread: new, prio: 2, role")
    )
    assert digest(protocol(text)) == digest(protocol(MINIMAL + STEP))
    base = protocol(MINIMAL + STEP)
    graph = base.graphs["main"]
    step = msgspec.structs.replace(graph.steps["work"], thread=Thread(), becomes=(Becomes(key="!exhausted"),))
    same = msgspec.structs.replace(graph, steps={"work": step})
    assert digest(changed(base, limits=Limits(), graphs={"main": same})) == digest(base)


def test_everything_else_matters() -> None:
    base = protocol(MINIMAL + STEP)
    others = [
        changed(base, version="2"),
        changed(base, templates={"a.jinja": "x"}),
        changed(base, templates={"a.jinja": "y"}),
        changed(base, limits=Limits(depth=5)),
        protocol(MINIMAL + STEP.replace("@end:Done", "@self")),
        protocol(MINIMAL + STEP.replace("'@end:Done'", "{to: '@end:Done', do: [tier]}")),
        protocol(MINIMAL + STEP.replace("'@end:Done'", "{to: '@end:Done', do: [reset_thread]}")),
    ]
    assert len({digest(one) for one in [base, *others]}) == len(others) + 1


def test_canonical_json_has_tags_and_no_defaults() -> None:
    found = json.loads(canonical(protocol(MINIMAL + STEP.replace("'@end:Done'", "{to: work, do: [tier, {tier: 2}]}"))))
    assert found["graphs"]["main"]["steps"]["work"]["routes"]["Fixed"] == [
        {"to": "work", "do": [{"type": "tier"}, {"type": "tier", "by": 2}]}
    ]
    assert "version" in found
    assert "limits" not in found
