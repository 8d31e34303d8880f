"""Stories of the fractal: what arrives while a node is at work, and in which order it is served."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

from tests.end_to_end.ending import RUN, End
from tests.end_to_end.fractal import LABEL, MANY, OFFER, ONE, PASSED, world_of
from tests.end_to_end.world import Move, World
from treadle.kernel.commands import Command, Notify, RunEffect
from treadle.kernel.events import Checked, Event
from treadle.kernel.reduce import reduce
from treadle.kernel.state import State
from treadle.protocol.load import load

pytestmark = pytest.mark.soak

TWO: Final = msgspec.structs.replace(LABEL, at="root/labels", examples=(MANY, ONE))
OFFERS: Final = msgspec.structs.replace(OFFER, children=(TWO, OFFER.children[1]))


def told(end: End) -> Iterator[tuple[State, Event, State, tuple[Command, ...]]]:
    """The story once more, event by event: the state before, what happened, the state after, what follows."""
    protocol, state = load("fractal"), State()
    for event in end.events:
        after, commands = reduce(protocol, state, event)
        yield state, event, after, commands
        state = after


def test_passed_work_is_accepted_then_rebased_and_only_then_the_next_test_is_written(place: Path) -> None:
    """TestPassed arrives after a ContextShift: accept it, rebase at once, queue the next test until that is clean."""
    world = World(place, **world_of(OFFERS))
    body = {TWO.module: TWO.code(MANY.body)}
    world.agent("implementer", "root/labels", after="root/money", write=body, exit=PASSED)
    world.agent("implementer", "root/labels", write={TWO.module: TWO.code(ONE.body)}, exit=PASSED)
    end = world.run()

    passed = next(it for it in told(end) if isinstance(it[1], Checked) and it[1].act == "root/labels:implementer#1.1")
    before, after = passed[0].insts["root/labels"], passed[2].insts["root/labels"]
    assert [message.name for message in before.mailbox] == ["ContextShift"]
    assert after.last["implementer"] == "TestPassed"
    assert [(frame.step, frame.status) for frame in after.frames] == [("test_author", "queued"), ("rebase", "active")]
    assert end.when("root/money:merger#1.1 MergeComplete") < end.when("root/labels:implementer#1.1 TestPassed")
    assert end.steps("root/labels")[2:5] == [
        "implementer TestPassed",
        "rebase RebaseClean",
        "test_author EmitChallenge",
    ]

    merge = end.payload("root/money:merger#1.1")
    assert (merge["author"], merge["impactLevel"]) == ("money", "BREAKING")
    assert [(it["symbol"], it["type"]) for it in merge["changes"]] == [
        ("shop.money.the_money.money", "BEHAVIOR_CHANGE")
    ]
    news = [it.inputs["signals"] for it in passed[3] if isinstance(it, RunEffect)]
    heard: list[Any] = [end.payloads[ref] for refs in news for ref in refs]
    assert [one["changes"] for one in heard] == [merge["changes"]]
    assert end.payload("root/labels:rebase#1.1")["newBase"] == merge["newParentHead"]
    assert end.outcomes == {"root": "Merged", "root/labels": "Merged", "root/money": "Merged"}
    assert end.standings() == {
        "AC-1": "verified by root/labels",
        "AC-2": "verified by root/labels",
        "AC-4": "verified by root/money",
    }
    assert end.suite().startswith("6 passed")


def test_a_person_queries_the_status_and_requests_changes_to_finished_work(place: Path) -> None:
    world = World(place, **world_of(LABEL))
    wanted = {
        "file": LABEL.module,
        "line": 3,
        "issue": "Nobody says where plurals come from.",
        "requiredFix": "Say it.",
    }
    world.agent("critique", exit={"type": "RequestChanges", "critiques": [wanted]})
    commented = LABEL.code(f"# an s will do here\n    {MANY.body}")
    world.agent("fix", write={LABEL.module: commented}, exit={"type": "ChangesMade", "note": "There is a comment now."})
    moves = [
        Move(("root:implementer#1.1",), lambda it: it.send(RUN, "StatusQuery")),
        Move(("root:test_author.ConcludeSuite",), lambda it: it.send(RUN, "SemanticCritique", "Why an s?")),
    ]
    end = world.run(moves=moves)

    asked = next(it for it in told(end) if getattr(it[1], "name", "") == "StatusQuery")
    assert [it.detail for it in asked[3] if isinstance(it, Notify)] == ["implementer active"]
    assert asked[0].insts["root"].frames[0].id == asked[2].insts["root"].frames[0].id, "nobody is disturbed by it"
    assert "Why an s?" in end.prompt("root:critique#1.1")
    assert "Nobody says where plurals come from." in end.prompt("root:fix#1.1")
    steps = [step for step in end.steps() if not step.startswith("person")][3:]
    if steps[2] == "reviewer Approve":
        del steps[2]  # the reviewer may have been quicker than the person: accepted, and criticised all the same
    assert steps == [
        "test_author ConcludeSuite",
        "lock Passed",
        "critique RequestChanges",
        "fix ChangesMade",
        "test_author ConcludeSuite",
        "lock Passed",
        "reviewer Approve",
        "merger MergeComplete",
    ]
    assert "# an s will do here" in end.files()[LABEL.module]
