"""A part of a protocol by itself: one list of its input, or one step of what works through it."""

from typing import Any

import pytest

from treadle.errors import TreadleError
from treadle.protocol.alone import alone
from treadle.protocol.load import load
from treadle.testing.scenario import Scenario, items

WATERFALL = load("waterfall")
BACKLOG: dict[str, Any] = {
    "project": "cart",
    "bootstrap": [{"id": "cart"}],
    "supplements": [{"id": "nfr"}, {"id": "glossary"}],
    "stories": [{"id": "US-1"}, {"id": "US-2"}],
}


def test_a_part_leaves_the_other_lists_empty() -> None:
    found = alone(WATERFALL, "bootstrap")
    assert found.protocol is WATERFALL
    assert found.narrowed(BACKLOG) == {"project": "cart", "bootstrap": [{"id": "cart"}]}
    one = alone(WATERFALL, "glossary:supplements").narrowed(BACKLOG)
    assert one == {"project": "cart", "supplements": [{"id": "glossary"}]}


def test_a_run_without_stories_delivers_its_documents() -> None:
    run = Scenario(WATERFALL, {"bootstrap": items("cart"), "stories": ()})
    run.says("pass", "write").says("MergeComplete", "merge")
    assert run.where() == "deliver"
    assert run.says("MergeComplete").where() == "@Done"


@pytest.mark.parametrize(("step", "exit_"), [("bdd", "pass_bdd"), ("sdd-delta", "pass"), ("contract", "pass")], ids=str)
def test_a_step_is_followed_by_its_merge_and_by_nothing_else(step: str, exit_: str) -> None:
    found = alone(WATERFALL, f"US-1:{step}")
    assert found.narrowed(BACKLOG) == {"project": "cart", "stories": [{"id": "US-1"}]}
    fields: dict[str, Any] = {"complexity": "L", "parallel_tasks": 3} if step == "bdd" else {}
    run = Scenario(found.protocol, {"stories": items("US-1")})
    assert run.where("root/US-1") == step
    run.says("failing.none")
    assert run.where("root/US-1") == step, "its own attempts are there"
    run.says(exit_, **fields)
    assert run.where("root/US-1") == "merge"
    run.says("MergeRejected.ContractViolation")
    assert run.where("root/US-1") == "unmerged"
    run.answers("retry").says("MergeComplete")
    assert run.where("root/US-1") == "@Done"
    assert run.says("MergeComplete").where() == "@Done"


def test_a_step_alone_that_is_stuck_asks_and_leads_nowhere_else() -> None:
    run = Scenario(alone(WATERFALL, "contract").protocol, {"stories": items("US-1")}).says("needs_human")
    assert run.ask().choices == ("retry", "abort")
    assert run.answers("retry").where("root/US-1") == "contract"
    run.says("needs_human").answers("abort")
    assert run.where("root/US-1") == "@Aborted"


@pytest.mark.parametrize(
    ("step", "why"),
    [
        ("impl", "it needs what others leave first (scaffold.pass_red); run the whole story"),
        ("verify", "it needs what others leave first (scaffold.pass_red)"),
        ("update-memory", "it needs what others leave first (verify.pass_verified, archive.Archived)"),
        ("coordinate", "it answers others, who would not be there"),
        ("scaffold", "it leaves tests that fail, which cannot be merged without what makes them pass"),
        ("sdd_delta", "has no part or step 'sdd_delta' to be done alone; did you mean 'sdd-delta'?"),
        ("nonsense", "there are bootstrap, supplements, stories, write, bdd, sdd-delta, contract"),
    ],
)
def test_what_cannot_be_done_alone_is_told(step: str, why: str) -> None:
    with pytest.raises(TreadleError) as caught:
        alone(WATERFALL, step)
    assert why in str(caught.value)


def test_nothing_to_do_is_told() -> None:
    with pytest.raises(TreadleError, match="the input has no 'US-9' among the stories"):
        alone(WATERFALL, "US-9:bdd").narrowed(BACKLOG)
    with pytest.raises(TreadleError, match="the input has no supplements"):
        alone(WATERFALL, "supplements").narrowed({"stories": []})


def test_a_protocol_without_lists_has_no_parts() -> None:
    with pytest.raises(TreadleError, match="it has no parts"):
        alone(load("v3"), "impl")
