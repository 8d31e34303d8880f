"""What sentences ask for, and which are not acted upon."""

import pytest

from treadle.talk.grammar import LONGEST, Vocabulary, parse
from treadle.talk.intent import PHRASES, Intent, Unclear

KNOWN = Vocabulary(projects=("cart-app", "cards", "Blog"), targets=("US-005", "US-006", "cart"))


def said(message: str) -> tuple[str, str, dict[str, str]]:
    found = parse(message, KNOWN)
    assert isinstance(found, Intent), found
    return found.action, found.project, {name: value for name, value in found.params.items() if name != "said"}


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("continue cart-app", ("continue", "cart-app", {})),
        ("Continue Blog.", ("continue", "Blog", {})),
        ("CONTINUE  BLOG!", ("continue", "Blog", {})),
        ("continue b", ("continue", "Blog", {})),
        ("Hi! Please continue", ("continue", "", {})),
        ("continue, please", ("continue", "", {})),
        ("go on with cart-app US-006", ("continue", "cart-app", {"target": "US-006"})),
        ("continue us-006 of cart-app", ("continue", "cart-app", {"target": "US-006"})),
        ("cart-app: continue", ("continue", "cart-app", {})),
        ("cart-app continue", ("continue", "cart-app", {})),
        ("In Blog: status?", ("status", "Blog", {})),
        ("how is it going?", ("status", "", {})),
        ("What's up", ("status", "", {})),
        ("status of cart-app", ("status", "cart-app", {})),
        ("Stop for today", ("stop", "", {})),
        ("stop cart-app for today.", ("stop", "cart-app", {})),
        ("that's all for today, thank you", ("stop", "", {})),
        ("retry", ("retry", "", {})),
        ("Try again with UTC everywhere", ("retry", "", {"note": "UTC everywhere"})),
        ("retry US-005: use UTC", ("retry", "", {"target": "US-005", "note": "use UTC"})),
        ("skip it", ("skip", "", {})),
        ("abort US-006", ("abort", "", {"target": "US-006"})),
        ("abort everything", ("abort", "", {"target": "everything"})),
        ("OK", ("agree", "", {})),
        ("ok, 30 seconds", ("agree", "", {"note": "30 seconds"})),
        ("looks good!", ("agree", "", {})),
        ("approve US-006", ("approve", "", {"target": "US-006"})),
        ("Approved: but mind the timeouts", ("approve", "", {"note": "but mind the timeouts"})),
        ("reject because the third one is missing", ("reject", "", {"note": "the third one is missing"})),
        ("reject scope warning: refunds", ("reject", "", {"note": "scope warning, refunds"})),
        ("level 1", ("level", "", {"level": "1"})),
        ("cart-app: level 0", ("level", "cart-app", {"level": "0"})),
        ("help", ("help", "", {})),
        ("?", ("help", "", {})),
        ("30 seconds, others OK", ("answer", "", {"text": "30 seconds, others OK"})),
        ("answer: retry after a minute", ("answer", "", {"text": "retry after a minute"})),
        ("ok for cards only and nobody else", ("answer", "", {"text": "ok for cards only and nobody else"})),
    ],
)
def test_a_sentence(message: str, expected: tuple[str, str, dict[str, str]]) -> None:
    assert said(message) == expected


@pytest.mark.parametrize("phrase", [phrase for phrases in PHRASES.values() for phrase in phrases])
def test_every_phrase_stands_for_its_action(phrase: str) -> None:
    action = next(action for action, phrases in PHRASES.items() if phrase in phrases)
    message = f"{phrase} 2" if action == "level" else phrase
    for variant in (message, message.upper(), f"  {message.capitalize()}. "):
        found = parse(variant, KNOWN)
        assert isinstance(found, Intent)
        assert found.action == action


@pytest.mark.parametrize(
    ("message", "why"),
    [
        ("", "nothing was said"),
        ("   ", "nothing was said"),
        ("contniue cart-app", "did you mean 'continue'?"),
        ("aprove", "did you mean 'approve'?"),
        ("continue ca", "'ca' could be cart-app, cards; say which"),
        ("ca: continue", "'ca' could be cart-app, cards; say which"),
        ("continue US-005 US-006", "'US-005 US-006' is too much"),
        ("continue, but faster", "'continue' takes a project and a story, and no note"),
        ("level", "say which level"),
        ("level 3", "say which level"),
        ("x" * (LONGEST + 1), "characters; say it in 4,000 at most"),
    ],
)
def test_what_is_not_clear_is_asked_about(message: str, why: str) -> None:
    found = parse(message, KNOWN)
    assert isinstance(found, Unclear), found
    assert why in str(found)


def test_a_word_that_is_a_project_and_a_part_of_one_is_asked_about() -> None:
    known = Vocabulary(projects=("US-005",), targets=("US-005",))
    assert "'US-005' is a project and part of one" in str(parse("continue US-005", known))
    found = parse("US-005: continue", known)
    assert isinstance(found, Intent)
    assert found.project == "US-005"


def test_a_beginning_of_a_project_s_name_gives_way_to_a_story() -> None:
    known = Vocabulary(projects=("US-0055",), targets=("US-005",))
    found = parse("continue US-005", known)
    assert isinstance(found, Intent)
    assert (found.project, found.param("target")) == ("", "US-005")


@pytest.mark.parametrize("message", ["\x00", "🙂", "continue \x1b[2J", "a" * 3999, "::::", "((((", ": continue", "1:"])
def test_no_text_breaks_it(message: str) -> None:
    assert isinstance(parse(message, KNOWN), Intent | Unclear)
