"""The files of a story from end to end: agents find them in their lanes, people in their checkout, git nowhere."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.cast import holds
from tests.end_to_end.ending import End
from tests.end_to_end.waterfall import LABEL, backlog, failing, says
from tests.end_to_end.world import Move, World
from tests.fakes import StillClock
from tests.views.storied import HANDOFF, HISTORY, STATE, waterfall
from treadle.kernel.replay import encode_event
from treadle.protocol.items import Json
from treadle.runtime.world import SystemClock
from treadle.views.chronicle import Chronicle
from treadle.views.stories import RunStories
from treadle.views.work_order import WorkOrder, work_order_of

STORY = {"id": "US-1", "title": "Coupons", "description": "As a customer I want to enter a coupon."}
AT = "root/US-1"
MEMORY = "# Memory\n"
SCENARIOS = """# US-1 Coupons [S]

Feature: coupons

@unit
Scenario: a coupon lowers the total
Given a cart
When a coupon is entered
Then the total MUST be lower

## Tasks
- [ ] The total takes a coupon
"""
WORDS = "## What was done this time\n- One scenario.\n\n## Next session should note\n- Totals are in cents."


def world_of(place: Path) -> World:
    files = {"src/cart.py": "total = 0\n", "PROJECT_MEMORY.md": MEMORY, STATE: '{"committed": "long ago"}\n'}
    return World(place, protocol="waterfall", files=files, spec={"project": "cart-app", "stories": [STORY]})


def has(path: str, text: str) -> list[str]:
    """A command that fails unless a file of the lane says something."""
    return ["grep", "-qF", "-e", text, path]


def test_story_files_are_in_the_lane_and_the_checkout(place: Path) -> None:
    world = world_of(place)
    exit_: dict[str, Any] = {"type": "pass_bdd", "summary": "One.", "handoff": WORDS, "clarifications": [], "risks": []}
    world.agent(
        "bdd",
        AT,
        write={"docs/bdd/US-1.md": SCENARIOS},
        run=[
            has(STATE, '"step": "bdd"'),
            has(STATE, '"status": "running"'),
            ["test", "!", "-e", HANDOFF],
            ["cp", "docs/bdd/US-1.md", STATE],  # what it makes of its work order is nobody's business
        ],
        exit=exit_,
    )
    looked = [has(HANDOFF, "Totals are in cents."), has(HANDOFF, "  - docs/bdd/US-1.md"), has(STATE, "sdd-delta")]
    world.agent("sdd-delta", AT, run=looked, write={"docs/deltas/US-1.md": "half"}, misbehave="crash")
    end = world.run()
    assert end.steps(AT) == ["bdd pass_bdd", "sdd-delta !crash"], end.told
    state = json.loads((end.root / STATE).read_text())
    assert (state["step"], state["status"], state["attempt"]) == ("sdd-delta", "needs_human", 1)
    text = (end.root / HANDOFF).read_text()
    assert text == (end.root / ".ai/handoff/US-1.md").read_text()
    assert "status: failing\n" in text
    assert "This session left no" in text
    assert "\n- changed docs/deltas/US-1.md\n" in text
    assert "files_changed:\n  - docs/deltas/US-1.md\n" in text
    assert "bdd: pass: One." in (end.root / HISTORY).read_text()
    assert (end.root / "PROJECT_MEMORY.md").read_text() == MEMORY
    _git_knows_nothing_of_them(end)


@pytest.mark.soak
def test_files_changed_before_a_timeout_are_handed_on(place: Path) -> None:
    clock, passing = StillClock(SystemClock().now()), list[asyncio.Future[None]]()
    spec = {"project": "cart-app", "stories": [STORY]}
    world = World(place, protocol="waterfall", files={"README.md": "# cart\n"}, spec=spec, clock=clock)
    world.agent("bdd", AT, write={"docs/bdd/US-1.md": "half"}, misbehave="hang")

    def is_written() -> bool:
        return any(path.read_text() == "half" for path in place.rglob("docs/bdd/US-1.md"))

    async def too_long() -> None:
        while not holds(world.cast.state, f"{AT}:stuck"):
            await asyncio.sleep(0.05)
            if is_written():
                await clock.advance(60)

    late = Move((f"{AT}:bdd#1.1",), lambda _: passing.append(asyncio.ensure_future(too_long())))
    end = world.run({}, [late])
    assert end.steps(AT) == ["bdd !timeout"], end.told
    text = (end.root / HANDOFF).read_text()
    assert "files_changed:\n  - docs/bdd/US-1.md\n" in text
    assert "- changed docs/bdd/US-1.md\n" in text
    assert "## Not yet resolved\n- timed out\n" in text


def _git_knows_nothing_of_them(end: End) -> None:
    """What was committed in their place stays as it was, and what the user had is kept."""
    branch = end.git("for-each-ref", "--format=%(refname)", "refs/treadle/*/*/int").splitlines()
    trees = [end.files(ref) for ref in branch]
    assert any("docs/bdd/US-1.md" in tree for tree in trees)
    assert all(tree[STATE].startswith('{"committed"') for tree in trees)
    assert not any(HANDOFF in tree for tree in trees)
    (kept,) = (end.root / ".treadle/local/kept/.ai").iterdir()
    assert kept.read_text() == '{"committed": "long ago"}\n'
    assert any("STATE.json differs from what Treadle wrote" in stray for stray in end.strays)
    assert not any("while it worked" in stray for stray in end.strays), end.strays


@pytest.mark.soak
def test_the_work_order_at_every_moment_of_a_story(place: Path) -> None:
    """Numbers are measured by real checks, whatever is claimed; each prefix of the log has its own truth."""
    world = World(place, **backlog())
    wrong = {LABEL.file: LABEL.code("return noun")}
    world.agent("impl", LABEL.at, write=wrong, exit=failing(summary="Plurals are hard."))
    world.agent("impl", LABEL.at, write=wrong, exit=says("pass", "All is green.", handoff="Believe me."))
    end = world.run({"root/US-1:review": "approve"})
    assert end.outcome == "Done", end.told
    orders = _orders(end)
    seen = [(one.step, one.attempt, one.status) for one in orders]
    expected = ["bdd", "sdd-delta", "contract", "review", "scaffold", "impl", "verify", "update-memory", "done"]
    assert list(dict.fromkeys(step for step, _, _ in seen)) == expected
    assert ("impl", 2, "running") in seen
    assert ("impl", 3, "running") in seen
    assert ("review", 1, "needs_human") in seen
    third = next(one for one in orders if (one.step, one.attempt) == ("impl", 3))
    assert third.tests is not None
    assert (third.tests.passed, third.tests.failed) == (0, 1)
    assert third.failing_tests == ("tests/test_labels.py::test_label",)
    assert third.files_changed == (LABEL.file,)
    last = orders[-1]
    assert (last.step, last.status, last.failing_tests) == ("done", "pass", ())
    assert last.tests is not None
    assert (last.tests.passed, last.tests.failed) == (1, 0)
    assert json.loads((end.root / STATE).read_text())["tests"] == {"pass": 1, "fail": 0, "skip": 0}
    handed = end.works[f"{LABEL.at}:impl#1.3"].lane  # the lane was used again since; its prompt names the file
    assert handed.is_dir()
    assert "- .ai/HANDOFF.md" in end.prompt(f"{LABEL.at}:impl#1.3")


def _orders(end: End) -> list[WorkOrder]:
    """The work order after each event."""

    def get(ref: str) -> Json:
        return end.payloads.get(ref)

    course, found = Chronicle(lambda _: waterfall()), list[WorkOrder]()
    for event in end.events:
        course.take(encode_event(event))
        book = RunStories(waterfall(), course, get)
        found += [work_order_of(book, it) for it in book.listed]
    return found


@pytest.mark.soak
def test_an_answer_in_the_hand_over_counts_and_that_of_an_earlier_session_does_not(place: Path) -> None:
    world = world_of(place)
    exit_ = says("pass_bdd", "One.", handoff=WORDS, clarifications=[], risks=[])
    world.agent("bdd", AT, write={"docs/bdd/US-1.md": SCENARIOS}, exit=exit_, channel="handoff")
    note = ["sh", "-c", f"echo '- and something of mine' >> {HANDOFF}"]
    world.agent("sdd-delta", AT, write={"docs/deltas/US-1.md": "half"}, run=[note])
    end = world.run()
    assert end.steps(AT) == ["bdd pass_bdd", *["sdd-delta !invalid"] * 2, "sdd-delta !exhausted"], end.told
    assert "ignored: .ai/HANDOFF.md is for step 'bdd', not for step 'sdd-delta'" in "\n".join(end.strays)
    told = end.prompt(f"{AT}:sdd-delta#1.2")
    assert "is for step 'bdd', not for step 'sdd-delta'" in told, "the next session learns why nothing was taken"
    text = (end.root / HANDOFF).read_text()
    assert "step: sdd-delta\nattempt: 3\nstatus: failing\n" in text
    assert text.count("- and something of mine") == 1, "its words are not lost, and those of others are not repeated"
    assert text.count("## What the orchestrator") == 1
    assert "# HANDOFF — US-1 sdd-delta attempt:3\n\n- and something of mine\n" in text
