"""The adapter of the published protocol, over a real project: what it reads is measured, and nobody forges it."""

import json
from pathlib import Path

import msgspec
import pytest

from tests.cli.chores import Chores
from tests.cli.treadle import treadle
from tests.talk.shop import COUPON, set_up
from treadle.errors import TreadleError
from treadle.talk.adapter import OrchestratorAdapter
from treadle.talk.dispatched import Blocked, Dispatched, Done, NeedsHuman


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    found = tmp_path / "cart-app"
    set_up(found, COUPON)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(found)
    assert treadle("projects", "add").code == 0
    assert treadle("run", "backlog.yaml", "-p", "waterfall", "--agent", "scripted:script.yaml").code == 3
    return found


@pytest.mark.soak
def test_a_program_brings_a_story_to_its_end(root: Path) -> None:
    adapter = OrchestratorAdapter(actor="alice")
    intent = adapter.parse_intent("Continue cart", root)
    assert (intent.action, intent.project) == ("continue", "cart-app")
    with pytest.raises(TreadleError, match="did you mean 'continue'"):
        adapter.parse_intent("contniue", root)

    assert adapter.dispatch(root) == Dispatched("bdd", 1, "US-005")
    asked = adapter.invoke_executor(root, "Prices are in cents.").wait()
    assert isinstance(asked, NeedsHuman)
    assert "- The function discounted" in asked.message

    state = adapter.read_state(root)
    assert state.human_note == "Prices are in cents.", "the next session will hear of it"
    assert (state.project, state.story, state.step, state.status) == ("cart-app", "US-005", "review", "needs_human")
    assert adapter.format_report(state, "status") == "US-005 review needs you."
    assert adapter.read_state(str(root)) == state
    held = json.loads((root / ".ai" / "STATE.json").read_text())
    assert adapter.format_report(held, "status") == "US-005 review needs you."
    adapter.write_state(str(root), held)
    for forged in ({"status": "pass"}, {"step": "done", "status": "pass"}, {"attempt": 2}, {"lint_pass": True}):
        with pytest.raises(TreadleError, match=r"cannot be written: STATE\.json shows what the log"):
            adapter.write_state(root, msgspec.structs.replace(state, **forged))
    assert adapter.read_state(root) == state
    adapter.write_state(root, state)
    adapter.write_state(root, msgspec.structs.replace(state, human_note="Round down."))
    assert adapter.read_state(root, "us-005").human_note == "Round down."
    with pytest.raises(TreadleError, match="has no story 'US-9'"):
        adapter.read_state(root, "US-9")

    assert isinstance(adapter.dispatch(root), NeedsHuman), "a review is answered, not continued"
    assert treadle("answer", "approve").code == 0
    assert treadle("pause").code == 0
    assert adapter.standing(root) == Blocked('cart-app is paused; say "continue cart-app"')
    assert adapter.dispatch(root) == Dispatched("sdd-delta", 1, "US-005")
    end = adapter.invoke_executor(root).wait()
    assert isinstance(end, Done), end
    assert "✅ US-005" in end.summary
    assert "treadle deliver" in end.summary
    prompts = [path.read_text() for path in (root / ".treadle/local/runs").glob("*/acts/*/bundle/prompt.md")]
    assert any("Round down." in text for text in prompts)
    state = adapter.read_state(root)
    assert (state.step, state.status) == ("done", "pass")
    assert adapter.format_report(state, "continue") == "Received. US-005 all complete ✓ All tests pass (1/1)."
    with pytest.raises(TreadleError, match="there is nothing to execute any more"):
        adapter.invoke_executor(root)
    assert isinstance(adapter.dispatch(root), Done)


def test_a_project_without_runs_or_stories_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    (tmp_path / ".git").mkdir()
    adapter = OrchestratorAdapter()
    with pytest.raises(TreadleError, match="has no runs yet"):
        adapter.read_state(tmp_path)
    with pytest.raises(TreadleError, match="has no runs yet"):
        adapter.dispatch(tmp_path)


@pytest.fixture
def chores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return Chores(tmp_path).root


def test_words_of_ones_own_are_an_answer_only_where_something_takes_them(chores: Path) -> None:
    adapter = OrchestratorAdapter()
    with pytest.raises(TreadleError, match="'blah blah' was not understood; what can be said:"):
        adapter.parse_intent("blah blah", chores)
    with pytest.raises(TreadleError, match="this is no project, and none is registered"):
        adapter.parse_intent("blah blah")
    treadle("run", "chore.yaml", "-p", "ask", "--agent", "scripted:did.yaml")
    with pytest.raises(TreadleError, match="'blah blah' answers nothing that is open; these can be said:\n  accept"):
        adapter.parse_intent("blah blah", chores)
    assert adapter.parse_intent("answer: accept", chores).action == "answer"
    assert adapter.parse_intent("Accept!", chores).action == "approve"
    treadle("say", "accept")
    with pytest.raises(TreadleError, match="nothing is asked that 'accept' could answer"):
        adapter.parse_intent("answer: accept", chores)


def test_one_story_is_dispatched_by_its_name(chores: Path) -> None:
    treadle("run", "chores.yaml", "-p", "fan", "--agent", "scripted:did.yaml", "--level", "1")
    adapter = OrchestratorAdapter()
    assert adapter.dispatch(chores, "dishes") == Dispatched("work", 1, "dishes")
    with pytest.raises(TreadleError, match="there is no project, story or run 'flor' here; did you mean 'floor'"):
        adapter.dispatch(chores, "flor")
    with pytest.raises(TreadleError, match="there is no project, story or run 'floor: abort' here"):
        adapter.dispatch(chores, "floor: abort")
    assert adapter.dispatch(chores, "floor") == Dispatched("work", 1, "dishes"), "both are to be done"
    assert isinstance(adapter.invoke_executor(chores).wait(), NeedsHuman)


def test_what_is_no_work_order_is_told() -> None:
    with pytest.raises(TreadleError, match=r"that is no work order as STATE\.json has it"):
        OrchestratorAdapter({}).format_report({"story": 5}, "status")
