"""The files of a story from end to end: agents find them in their lanes, people in their checkout, git nowhere."""

import json
from pathlib import Path
from typing import Any

from tests.end_to_end.world import World
from tests.views.storied import HANDOFF, HISTORY, STATE

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
    return ["grep", "-qF", text, path]


def test_they_are_where_agents_and_people_look(place: Path) -> None:
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
    assert "This session left no words of its own" in text
    assert "bdd: pass_bdd: One." in (end.root / HISTORY).read_text()
    assert (end.root / "PROJECT_MEMORY.md").read_text() == MEMORY
    _git_knows_nothing_of_them(end)


def _git_knows_nothing_of_them(end: Any) -> None:
    """What was committed in their place stays as it was, and what the user had is kept."""
    branch = end.git("for-each-ref", "--format=%(refname)", "refs/heads/treadle/").splitlines()
    trees = [end.files(ref) for ref in branch]
    assert any("docs/bdd/US-1.md" in tree for tree in trees)
    assert all(tree[STATE].startswith('{"committed"') for tree in trees)
    assert not any(HANDOFF in tree for tree in trees)
    (kept,) = (end.root / ".treadle/local/kept/.ai").iterdir()
    assert kept.read_text() == '{"committed": "long ago"}\n'
    assert any("STATE.json was changed by somebody" in stray for stray in end.strays)
    assert not any("while it worked" in stray for stray in end.strays), end.strays
