"""Stories of the fractal: each invariant, and an agent that breaks it."""

from pathlib import Path
from typing import Any, Final

import pytest

from tests.end_to_end.ending import End
from tests.end_to_end.fractal import APPROVED, LABEL, MANY, OFFER, PASSED, Leaf, world_of
from tests.end_to_end.world import World

pytestmark = pytest.mark.soak

RIGHT: Final = {LABEL.module: LABEL.code(MANY.body)}


def refused(end: End, act: str) -> set[str]:
    """The checks that have refused an activity."""
    return {name for name, ok in end.checks(act).items() if not ok}


def test_changes_to_interface_tests_and_manifest_are_refused(place: Path) -> None:
    """1, 2 and 6: an immutable interface, immutable tests, a criterion for each test."""
    world = World(place, **world_of(LABEL))
    challenge = {"type": "EmitChallenge", "intent": MANY.text}
    unlisted = {LABEL.test_file(0): LABEL.test(0)}
    invented = LABEL.manifest(0, **{"test_many.py::test_many": "AC-9: what nobody asked for"})
    world.agent("test_author", write=unlisted, exit=challenge)
    world.agent("test_author", write={**unlisted, **invented}, exit=challenge)
    world.agent("test_author", write=LABEL.challenge(0), exit=challenge)
    world.agent("test_author", exit={"type": "ConcludeSuite"})
    easier = {LABEL.test_file(0): "def test_many():\n    assert True\n", LABEL.module: LABEL.code("return ''")}
    wider = {LABEL.interface: "def label(*any: object) -> str:\n    return '3 pens'\n", **RIGHT}
    world.agent("implementer", write=easier, exit=PASSED)
    world.agent("implementer", write={**wider, LABEL.test_file(0): LABEL.test(0)}, exit=PASSED)
    exported = LABEL.skeleton()[LABEL.interface]
    world.agent("implementer", write={**RIGHT, LABEL.interface: exported}, exit=PASSED)
    end = world.run()

    untraceable = [place for place, code in end.findings("root:test_author#1.1") if code == "manifest.untraceable"]
    assert [place.endswith("test_many.py::test_many") for place in untraceable] == [True]
    unknown = end.refusals("root:test_author#1.2")
    assert [text for text in ("'AC-9'", "[manifest.unknown_criterion]") if text not in unknown] == []
    assert {"scope", "tests_unmodified"} <= refused(end, "root:implementer#1.1")
    assert "interface_unmodified" in refused(end, "root:implementer#1.2")
    assert end.outcome == "Merged"
    assert end.files()[LABEL.test_file(0)].strip() == LABEL.test(0).strip()


def test_the_contract_gates_the_review_and_only_the_orchestrator_merges(place: Path) -> None:
    """3 and 5: what passes its own tests alone is repaired before anybody reads it; only the orchestrator merges."""
    world = World(place, **world_of(LABEL))
    known = 'return f"{count} {noun}s" if count < 4 else "many"'
    world.agent("implementer", write={LABEL.module: LABEL.code(known)}, exit=PASSED)
    world.agent("fix", write=RIGHT, exit={"type": "ChangesMade"})
    world.agent("reviewer", exit={"type": "MergeComplete", "mergeCommit": "0" * 40})
    world.agent("reviewer", exit=APPROVED)
    end = world.run()

    steps = end.steps()
    assert [step for step in steps if step.startswith(("lock", "fix"))] == [
        "lock Failed.green",
        "fix ChangesMade",
        "lock Passed",
    ]
    assert not end.checks("root:lock#1.1")["contract"]
    assert "test_contract" in end.prompt("root:fix#1.1")
    assert "reviewer !invalid" in steps
    assert "MergeComplete" in end.refusals("root:reviewer#1.1")
    merge = end.payload("root:merger#1.1")
    assert {"author", "impactLevel", "changes", "mergeCommit", "newParentHead"} <= set(merge)
    assert end.outcome == "Merged"


FALLBACK: Final = (
    'try:\n        return f"{count} {noun}s" + ("?" if money(0) else "")\n'
    '    except NotImplementedError:\n        return f"{count} {noun}s"'
)


def code_with_money(leaf: Any, body: str) -> dict[str, str]:
    return {leaf.module: f"from shop.money import money\n\n\n{leaf.code(body)}"}


def test_a_merged_sibling_is_canon(place: Path) -> None:
    """4: a rebaser may follow the sibling's code in its own files, and may not change the sibling's."""
    labels = OFFER.children[0]
    assert isinstance(labels, Leaf)
    world = World(place, **world_of(OFFER))
    world.agent("implementer", "root/labels", after="root/money", write=code_with_money(labels, FALLBACK), exit=PASSED)
    adapted = {"symbol": "shop.money.money", "change": "no longer asked", "reason": "it answers now"}
    exit_ = {"type": "RebaseAdapted", "adaptations": [adapted]}
    money = OFFER.children[1]
    world.agent("rebaser", "root/labels", write={money.module: money.code("raise NotImplementedError")}, exit=exit_)
    world.agent("rebaser", "root/labels", write={labels.module: labels.code(MANY.body)}, exit=exit_)
    end = world.run()

    assert end.steps("root/labels")[2:6] == [
        "implementer TestPassed",
        "rebase RebaseDrift",
        "rebaser !gate",
        "rebaser RebaseAdapted",
    ]
    assert "tests/shop/labels/test_many.py::test_many" in end.payload("root/labels:rebase#1.1")["changedTests"]
    told = end.prompt("root/labels:rebaser#1.1")
    assert "money merged" in told
    assert "BREAKING: " in told
    assert {"scope", "canon"} <= refused(end, "root/labels:rebaser#1.1")
    assert end.outcomes == {"root": "Merged", "root/labels": "Merged", "root/money": "Merged"}
