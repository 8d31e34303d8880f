"""The published conversation, held with a real project: real git, real tests, scripted executors."""

from pathlib import Path

import msgspec
import pytest

from tests.cli.treadle import Outcome, treadle
from tests.git.place import git
from tests.talk.shop import CHECKOUT, COUPON, HISTORY, by_hand, set_up

pytestmark = pytest.mark.soak


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "cart-app"
    set_up(root, COUPON, CHECKOUT, HISTORY)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(root)
    assert treadle("projects", "add").code == 0
    return root


def say(words: str) -> Outcome:
    return treadle("say", words)


def test_the_published_conversation(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # level 0: a person writes the first scenarios
    begun = treadle("run", "backlog.yaml", "-p", "waterfall", "--agent", "scripted:script.yaml", "--level", "0")
    assert begun.code == 3, begun.err
    mine = say("continue")
    assert "US-005 bdd is yours: `treadle show cart-app 'root/US-005:bdd#1.1' --prompt`" in mine.out, (
        mine.out + mine.err
    )
    lane = Path(mine.out.partition("work in ")[2].partition(",")[0])
    assert treadle("done", *by_hand(lane, COUPON)).code == 0

    # level 1: every executor waits for "continue"
    assert "Received: level 1." in say("level 1").out
    assert "Next is US-005 About coupons: sdd-delta (SDD delta), continue?" in say("approve").out
    for step, then in (("sdd-delta", "contract"), ("contract", "scaffold"), ("scaffold", "impl")):
        went = say("Continue")
        assert f"US-005 {step} complete ✓" in went.out, went.out + went.err
        assert f"Next is US-005 About coupons: {then} (" in went.out
    for _ in range(2):
        failed = say("continue US-005")
        assert "US-005 impl is not accepted: refused by green" in failed.out, failed.out + failed.err

    # level 2: by itself, up to the next story
    assert "goes on at level 2" in treadle("level", "2").out
    monkeypatch.chdir(tmp_path / "elsewhere")
    went = say("Continue cart")
    assert (went.code, went.out.splitlines()[:2]) == (
        3, ["Received.", "cart-app: US-005 impl (attempt 3 of 5) is at work"],
    )  # fmt: skip
    assert "US-005 impl complete ✓ All tests pass (1/1). Next: verify." in went.out
    assert "US-005 verify complete ✓ All tests pass (1/1)." in went.out
    assert "US-005 update-memory complete ✓" in went.out
    assert went.out.splitlines()[-2:] == ["US-005 all complete ✓", "Next is US-006 About checkout, continue?"]

    asked = say("Continue")
    assert "cart-app: US-006 bdd is at work\nUS-006 bdd complete ✓\n" in asked.out
    assert "US-006 needs you: Review" in asked.out
    assert "- The function gives_up" in asked.out
    assert "- How long may the payment gateway take? Suggested: 20 seconds" in asked.out
    assert "  ANSWER, others OK\n" in asked.out
    unclear = say("30 seconds")
    assert (unclear.code, "30 seconds, others OK" in unclear.err) == (2, True), "that does not approve anything"

    rest = say("30 seconds, others OK")
    assert rest.out.startswith("Received: US-006 review: approve.\n")
    assert "US-006 impl complete ✓ All tests pass (2/2). Next: verify." in rest.out, rest.out + rest.err
    assert rest.out.splitlines()[-2:] == ["US-006 all complete ✓", "Next is US-007 About orders, continue?"]
    prompts = (project / ".treadle/local/runs").glob("*/acts/*US-006*scaffold*/bundle/prompt.md")
    told = [path.read_text() for path in prompts]
    assert ["How long may the payment gateway take? 30 seconds" in text for text in told] == [True], (
        "also who is sent out two steps later"
    )

    stopped = say("Stop for today")
    assert (stopped.code, stopped.out.splitlines()) == (
        0,
        [
            "OK. cart-app progress:",
            "✅ US-005, US-006",
            "⏭ Next US-007 About orders",
            'Say "continue cart-app" to resume.',
        ],
    )
    tomorrow = say("continue cart-app")
    assert "US-007 needs you: Review" in tomorrow.out

    monkeypatch.chdir(project)
    cost = treadle("cost").out
    assert "### Estimated and used" in cost
    assert "| story.impl | 2 | 8,000 – 20,000 | 12,000 | 4,000 – 16,000 | 3,600 | within the estimate |" in cost


def test_at_level_1_stories_come_one_after_the_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "shop"
    set_up(root, COUPON, msgspec.structs.replace(CHECKOUT, blocked_by=(), on=()))
    for own in (".treadle/overlays/waterfall.yaml", ".ai/step-rules.yaml"):
        git(root, "rm", "-q", own)
    git(root, "commit", "-q", "-m", "nothing of our own")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(root)
    begun = treadle("run", "backlog.yaml", "-p", "waterfall", "--agent", "scripted:script.yaml", "--level", "1")
    assert begun.code == 3, begun.err
    assert "Next is US-005 About coupons, continue?\n" in say("status").out
    first = say("continue")
    assert "US-005 bdd complete ✓" in first.out, first.out + first.err
    assert first.out.splitlines()[-1] == "Next is US-005 About coupons: sdd-delta (SDD delta), continue?"
    assert "US-005 sdd-delta complete ✓" in say("yes").out
    assert "US-006 bdd complete ✓" in say("continue US-006").out, "who names it has it begin meanwhile"
    assert say("continue").code == 2, "two have begun"
    say("abort US-006")
    done = say("continue US-005")
    assert "US-005 contract complete ✓" in done.out, done.out + done.err
