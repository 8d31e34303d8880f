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


def starts() -> list[tuple[str, str]]:
    """The steps that wait for a go."""
    found = treadle("status", "cart-app", "--json").json()
    return [(it["instance"], it["step"]) for it in found["starts"]]


def asks(words: str, story: str, step: str) -> Outcome:
    """Say something, and see that the run then asks at a step of a story."""
    said = say(words)
    ids = [it["id"].partition("#")[0] for it in treadle("status", "cart-app", "--json").json()["questions"]]
    assert (said.code, ids) == (3, [f"root/{story}:{step}"]), said.out + said.err
    return said


def test_the_published_conversation(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # level 0: a person writes the first scenarios
    begun = treadle("run", "backlog.yaml", "-p", "waterfall", "--agent", "scripted:script.yaml", "--level", "0")
    assert begun.code == 3, begun.err
    mine = say("continue")
    assert "  treadle show cart-app 'root/US-005:bdd#1.1' --prompt\n" in mine.out, mine.out + mine.err
    (work,) = treadle("status", "cart-app", "--json").json()["yours"]
    assert treadle("done", *by_hand(Path(work["lane"]), COUPON)).code == 0

    # level 1: every executor waits for "continue"
    assert "cart-app continues at level 1" in say("level 1").out
    say("approve")
    for step in ("sdd-delta", "contract", "scaffold"):
        assert starts() == [("root/US-005", step)]
        say("Continue")
    for _ in range(2):
        assert starts() == [("root/US-005", "impl")]
        refused = say("continue US-005")
        assert "refused by green" in refused.out, refused.out + refused.err

    # level 2: by itself, up to the next story
    assert "continues at level 2" in treadle("level", "2").out
    monkeypatch.chdir(tmp_path / "elsewhere")
    went = say("Continue cart")
    assert went.code == 3, went.out + went.err
    monkeypatch.chdir(project)
    now = treadle("status", "cart-app", "--json").json()
    assert [(it["name"], it["outcome"]) for it in now["instances"][0]["children"]][:1] == [("US-005", "Done")]
    assert [it["id"] for it in now["questions"]] == ["root/US-006:next#1.1"], "it asks before the next story"

    asked = asks("Continue", "US-006", "review")
    assert "- The function gives_up" in asked.out
    assert "- How long may the payment gateway take? Suggested: 20 seconds" in asked.out
    unclear = say("30 seconds")
    assert (unclear.code, unclear.error) == (2, "say.unclear"), "that does not approve anything"
    assert "30 seconds, others OK" in unclear.err

    rest = asks("30 seconds, others OK", "US-007", "next")
    assert rest.out.startswith("Review: approve\n")
    prompts = (project / ".treadle/local/runs").glob("*/acts/*US-006*scaffold*/bundle/prompt.md")
    answered = ["How long may the payment gateway take? 30 seconds" in path.read_text() for path in prompts]
    assert answered == [True], "the answer reaches the agent two steps later"

    stopped = say("Stop for today")
    assert stopped.code == 0
    assert [line for line in ("  US-005: Done", "  US-006: Done") if line not in stopped.out] == []
    assert "cart-app asks: The next story" in stopped.out
    monkeypatch.chdir(tmp_path / "elsewhere")
    tomorrow = say("continue cart-app")
    assert "cart-app asks: Review" in tomorrow.out

    monkeypatch.chdir(project)
    cost = treadle("cost").out
    assert "### Estimated and used" in cost
    assert "| story.impl | 2 | 8,000 – 20,000 | 12,000 | 4,000 – 16,000 | 3,600 | within the estimate |" in cost


def test_at_level_1_stories_come_one_after_the_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "cart-app"
    set_up(root, COUPON, msgspec.structs.replace(CHECKOUT, blocked_by=(), on=()))
    for own in (".treadle/overlays/waterfall.yaml", ".ai/step-rules.yaml"):
        git(root, "rm", "-q", own)
    git(root, "commit", "-q", "-m", "nothing of our own")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(root)
    begun = treadle("run", "backlog.yaml", "-p", "waterfall", "--agent", "scripted:script.yaml", "--level", "1")
    assert begun.code == 3, begun.err
    coupon, checkout = "root/US-005", "root/US-006"
    assert starts() == [(coupon, "bdd"), (checkout, "bdd")]
    say("continue")
    assert starts() == [(coupon, "sdd-delta"), (checkout, "bdd")], "the story that comes first"
    say("yes")
    assert starts() == [(coupon, "contract"), (checkout, "bdd")], "the story that has begun"
    say("continue US-006")
    assert starts() == [(coupon, "contract"), (checkout, "sdd-delta")], "named, it begins meanwhile"
    both = say("continue")
    assert (both.code, both.error) == (2, "say.ambiguous")
    say("abort US-006")
    assert starts() == [(coupon, "contract")]
    assert say("continue US-005").code == 3
    assert starts() == []
