"""Who answers for a criterion where some design and judge, and others build."""

from treadle.errors import PortError
from treadle.protocol.items import Item, Json
from treadle.protocol.load import load
from treadle.testing.scenario import Scenario, items
from treadle.views.evidence_tree import Tree

WEIGHING: Json = {
    "name": "weighing",
    "criteria": [{"id": "WE-1", "text": "By weight."}, {"id": "WE-2", "text": "Or not."}],
}
CYCLE: dict[str, Json] = {"id": "TDD1", "criteria": ["WE-1"]}
PAYLOADS: dict[str, Json] = {"ref:weighing": WEIGHING, "ref:TDD1": CYCLE, "ref:TDD2": {**CYCLE, "id": "TDD2"}}


def find(ref: str) -> Json:
    if ref not in PAYLOADS:
        raise PortError(ref)
    return PAYLOADS[ref]


def tree(run: Scenario) -> Tree:
    return Tree(run.protocol, run.state, find)


def test_who_builds_answers_and_who_has_judged_the_design_does_for_the_rest() -> None:
    run = Scenario(load("riper"), {"modules": items("weighing")})
    run.signals("go", step="O1P").says("Designed", modules=()).says("ACCEPT").says("ACCEPT", at="root/weighing:audit")
    assert tree(run).answers() == [("root/weighing", "WE-1"), ("root/weighing", "WE-2")]
    run.says("PC").says("PA", cycles=items("TDD1"))
    found = tree(run)
    assert found.answers() == [("root/weighing", "WE-2"), ("root/TDD1", "WE-1")]
    assert found.text(run.inst("root/TDD1"), "WE-1") == "By weight."


def test_a_criterion_that_two_cycles_serve_is_answered_for_by_both_in_their_order() -> None:
    run = Scenario(load("riper"), {"modules": items("weighing")})
    run.signals("go", step="O1P").says("Designed", modules=()).says("ACCEPT").says("ACCEPT", at="root/weighing:audit")
    run.says("PC").says("PA", cycles=items("TDD1", "TDD2"))
    for exit_ in ("RC", "GC", "RTC", "RIC", "RFC", "RFC", "Passed", "Passed", "MergeComplete"):
        run.says(exit_)
    found = tree(run)
    assert found.answers() == [("root/weighing", "WE-2"), ("root/TDD1", "WE-1"), ("root/TDD2", "WE-1")]
    assert {found.origin(run.inst(id_), "WE-1") for id_ in ("root/TDD1", "root/TDD2")} == {"root"}


def test_two_cycles_of_a_module_share_its_criterion() -> None:
    run = to_batches(items("TDD1", "TDD2"), parallel="2")
    found = tree(run)
    both = ["root/weighing/Batch1/TDD1", "root/weighing/Batch1/TDD2"]
    assert found.given_on(run.inst("root/weighing")) == {"WE-1": ", ".join(both)}
    assert found.answers() == [*((one, "WE-1") for one in both), ("root/weighing", "WE-2")]
    assert {found.origin(run.inst(one), "WE-1") for one in both} == {"root/weighing"}


def planning() -> Scenario:
    """A module whose design is accepted."""
    run = Scenario(load("dptr"), {"modules": items("weighing")})
    run.signals("go", step="architecture").says("Architecture", modules=())
    run.signals("go", step="audit").says("ACCEPT")
    run.signals("go", to="root/weighing/design", step="design").says("Designed")
    run.signals("go", to="root/weighing/design", step="critic").says("ACCEPT")
    while run.where("root/weighing") != "plan":
        run.says("Folded")
    return run


def to_batches(cycles: tuple[Item, ...], parallel: str = "1") -> Scenario:
    """The same when its first cycles begin."""
    run = planning().says("PC").says("PA", batches=items("Batch1", parallel=parallel, cycles=cycles))
    while run.where("root/weighing") != "phase0":
        run.says("Folded")
    return run.says("P0C")


def test_a_criterion_is_given_on_through_a_batch_that_knows_of_none() -> None:
    assert tree(planning()).answers() == [("root/weighing", "WE-1"), ("root/weighing", "WE-2")]
    run = to_batches(items("TDD1"))
    assert run.where("root/weighing/Batch1/TDD1") == "red"
    found = tree(run)
    assert found.given_on(run.inst("root/weighing")) == {"WE-1": "root/weighing/Batch1/TDD1"}
    assert found.answers() == [("root/weighing/Batch1/TDD1", "WE-1"), ("root/weighing", "WE-2")]
