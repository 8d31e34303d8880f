"""Beside the published orchestrator of the Agentic Coding Protocol, which is asked itself, where it is installed."""

import sys
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from tests.protocols.orchestrator_core import EARLY, MOST, Move, Theirs, ask, moves, next_of_ours, next_of_theirs, state
from tools.beside_page import beside
from tools.orchestrator_core.install import HERE

pytestmark = pytest.mark.agents
"""With the other programs from elsewhere, which `make test-agents` installs."""
HANDOFF = """---
story: US-1
step: impl
attempt: 1
status: pass
tests_pass: 44
tests_fail: 0
files_changed:
  - /etc/x
---
"""


def handed(text: str, step: str = "impl", attempt: int = 1, **more: Any) -> dict[str, Any]:
    """An executor has ended, and left this."""
    return {
        "state": state(Move(step, attempt, "running"), dispatched_at=EARLY, **more),
        "files": {".ai/HANDOFF.md": text},
        "calls": [["applyHandoff"]],
    }


def dispatched(*calls: Any, move: Move, files: dict[str, str] | None = None, **more: Any) -> dict[str, Any]:
    return {"state": state(move, **more), "files": files or {}, "calls": list(calls)}


PROBES: dict[str, dict[str, Any]] = {
    "numbers_are_believed": handed(HANDOFF),
    "a_failing_scaffold_counts_as_red": dispatched(["dispatch"], move=Move("scaffold", 1, "failing")),
    "changed_files_are_not_checked": handed(HANDOFF),
    "rules_of_a_project_are_not_read": dispatched(
        ["dispatch"],
        move=Move("impl", 1, "pass"),
        files={".ai/step-rules.yaml": "steps: {impl: {next_on_pass: bdd}}\n"},
    ),
    "an_old_attempt_is_accepted": handed(HANDOFF, attempt=2),
    "a_plain_text_is_a_pass": handed("# HANDOFF\n\nNothing works yet.\n"),
    "odd_words_are_corrected": handed(HANDOFF.replace("status: pass", "status: passing")),
    "failing_tests_are_emptied": handed(HANDOFF.replace("tests_fail: 0", "tests_fail: 2"), failing_tests=["test_a"]),
    "blocked_stories_are_dispatched": dispatched(["dispatch"], move=Move("bdd", 1, "pending"), blocked_by=["US-0"]),
    "a_note_is_lost": dispatched(
        ["approveReview", "use cents"], ["dispatch"], move=Move("review", 1, "needs_human")
    ),
    "back_and_forth_has_no_end": dispatched(
        *[["dispatch"], ["=", {"status": "pass"}], ["dispatch"], ["=", {"status": "failing"}]] * 500,
        move=Move("verify", 1, "failing"),
    ),
    "attempts_are_counted": dispatched(["dispatch"], move=Move("impl", MOST["impl"], "failing")),
}  # fmt: skip


@cache
def theirs() -> Theirs:
    """All that it is asked, in one go."""
    every = [{"state": state(move), "calls": [["dispatch"]]} for move in moves()]
    with TemporaryDirectory() as scratch:
        return ask([*every, *PROBES.values()], Path(scratch))


def probed(name: str) -> dict[str, Any]:
    return theirs().answers[len(list(moves())) + list(PROBES).index(name)]


def test_the_same_state_has_the_same_next_step_or_a_reason() -> None:
    told = beside().differences
    used = set()
    for move, answer in zip(moves(), theirs().answers, strict=False):
        found = next_of_theirs(answer["results"][0]), next_of_ours(move)
        listed = [it for it in told if it.tells(move.name)]
        if found[0] == found[1]:
            assert not listed, f"{move.name}: both go on with {found[0]}; it is listed as a difference"
        else:
            assert [it.outcomes(move.step) for it in listed] == [found], f"{move.name}: {found}"
            used.update(listed)
    assert used == set(told), "every difference that is listed is there"


def test_most_next_steps_are_the_same() -> None:
    told = beside().differences
    differing = [move for move in moves() if any(it.tells(move.name) for it in told)]
    assert (len(list(moves())), len(differing)) == (135, 35)


def test_every_row_has_its_probe() -> None:
    assert all(hasattr(sys.modules[__name__], f"test_{it.probe}") for it in beside().enforced)


def test_numbers_are_believed() -> None:
    assert probed("numbers_are_believed")["state"]["tests"] == {"pass": 44, "fail": 0, "skip": 0}
    assert probed("numbers_are_believed")["state"]["status"] == "pass"


def test_a_failing_scaffold_counts_as_red() -> None:
    assert next_of_theirs(probed("a_failing_scaffold_counts_as_red")["results"][0]) == "impl 1"


def test_changed_files_are_not_checked() -> None:
    assert probed("changed_files_are_not_checked")["state"]["files_changed"] == ["/etc/x"]
    assert "/etc/x" not in theirs().rules["impl"]["claude_writes"]


def test_there_is_no_post_check() -> None:
    assert {rule["post_check"] for rule in theirs().rules.values()} == {None}


def test_rules_of_a_project_are_not_read() -> None:
    assert next_of_theirs(probed("rules_of_a_project_are_not_read")["results"][0]) == "verify 1"


def test_an_old_attempt_is_accepted() -> None:
    assert probed("an_old_attempt_is_accepted")["results"][0]["type"] == "applied"


def test_a_plain_text_is_a_pass() -> None:
    assert probed("a_plain_text_is_a_pass")["state"]["status"] == "pass"


def test_odd_words_are_corrected() -> None:
    assert probed("odd_words_are_corrected")["state"]["status"] == "pass"


def test_failing_tests_are_emptied() -> None:
    assert probed("failing_tests_are_emptied")["state"]["failing_tests"] == []


def test_blocked_stories_are_dispatched() -> None:
    assert next_of_theirs(probed("blocked_stories_are_dispatched")["results"][0]) == "bdd 1"


def test_a_note_is_lost() -> None:
    approved, prompt = probed("a_note_is_lost")["results"]
    assert approved["type"] == "ok"
    assert next_of_theirs(prompt) == "scaffold 1"
    assert "use cents" not in prompt["prompt"]


def test_back_and_forth_has_no_end() -> None:
    went = [next_of_theirs(it) for it in probed("back_and_forth_has_no_end")["results"] if it]
    assert went == ["impl 1", "verify 1"] * 500


def test_the_size_of_a_story_is_not_asked() -> None:
    assert theirs().modes == ["single", "single", "team"]
    assert "complexity" not in state(Move("impl", 1, "pending")), "STATE has no place for it"


def test_attempts_are_counted() -> None:
    assert next_of_theirs(probed("attempts_are_counted")["results"][0]) == "ask person"


@pytest.mark.parametrize("step", MOST)
def test_the_published_numbers_are_in_both(step: str) -> None:
    rule = theirs().rules[step]
    assert rule["max_attempts"] == MOST[step]


def test_the_lock_names_no_download_addresses() -> None:
    assert '"resolved"' not in (HERE / "package-lock.json").read_text()
