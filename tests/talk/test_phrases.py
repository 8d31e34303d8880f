"""The grammar reads a sentence in one way, or refuses it with a code and with sentences to use instead."""

import re
from contextlib import suppress

import pytest

from tests.talk.shop import OVERLAY, RULES
from tools.places import DOCS
from treadle.errors import UnclearSentence
from treadle.talk.phrases import LONGEST, PHRASES, SAYABLE, parse_sentence

PROJECTS, TARGETS = ("cart-app", "cards", "Blog"), ("US-005", "US-006", "cart")
PAGE = (DOCS / "talking.md").read_text(encoding="utf-8")


def parsed(message: str) -> tuple[str, str, dict[str, str | int]]:
    found = parse_sentence(message, PROJECTS, TARGETS)
    fields: dict[str, str | int] = {
        "target": found.target,
        "note": found.note,
        "text": found.text,
        "level": found.level,
    }
    return found.action, found.project, {name: value for name, value in fields.items() if value}


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
        ("level 1", ("level", "", {"level": 1})),
        ("cart-app: level 0", ("level", "cart-app", {})),
        ("help", ("help", "", {})),
        ("?", ("help", "", {})),
        ("30 seconds, others OK", ("answer", "", {"text": "30 seconds, others OK"})),
        ("answer: retry after a minute", ("answer", "", {"text": "retry after a minute"})),
        ("ok for cards only and nobody else", ("answer", "", {"text": "ok for cards only and nobody else"})),
    ],
)
def test_a_sentence_has_one_reading(message: str, expected: tuple[str, str, dict[str, str | int]]) -> None:
    assert parsed(message) == expected


@pytest.mark.parametrize("phrase", [phrase for phrases in PHRASES.values() for phrase in phrases])
def test_every_phrase_stands_for_its_action(phrase: str) -> None:
    action = next(action for action, phrases in PHRASES.items() if phrase in phrases)
    message = f"{phrase} 2" if action == "level" else phrase
    for variant in (message, message.upper(), f"  {message.capitalize()}. "):
        assert parse_sentence(variant, PROJECTS, TARGETS).action == action


@pytest.mark.parametrize(
    ("message", "code", "names"),
    [
        ("", "say.unclear", SAYABLE[0]),
        ("   ", "say.unclear", SAYABLE[0]),
        ("contniue cart-app", "say.unclear", "'continue'"),
        ("aprove", "say.unclear", "'approve'"),
        ("done", "say.unclear", "`treadle done`"),
        ("continue ca", "say.ambiguous", "cart-app, cards"),
        ("ca: continue", "say.ambiguous", "cart-app, cards"),
        ("continue US-005 US-006", "say.unclear", "'US-005 US-006'"),
        ("retry after a minute, others OK", "say.unclear", "`answer:`"),
        ("continue, but faster", "say.unclear", "'continue'"),
        ("level", "say.unclear", "level 2"),
        ("level 3", "say.unclear", "level 2"),
        ("x" * (LONGEST + 1), "say.unclear", "4,000"),
    ],
)
def test_an_unclear_sentence_is_refused_with_alternatives(message: str, code: str, names: str) -> None:
    with pytest.raises(UnclearSentence) as refused:
        parse_sentence(message, PROJECTS, TARGETS)
    assert refused.value.code == code
    assert names in str(refused.value)


def test_a_word_that_is_a_project_and_a_part_of_one_is_refused() -> None:
    with pytest.raises(UnclearSentence) as refused:
        parse_sentence("continue US-005", ("US-005",), ("US-005",))
    assert refused.value.code == "say.ambiguous"
    assert parse_sentence("US-005: continue", ("US-005",), ("US-005",)).project == "US-005"


def test_the_beginning_of_a_project_name_gives_way_to_a_story() -> None:
    found = parse_sentence("continue US-005", ("US-0055",), ("US-005",))
    assert (found.project, found.target) == ("", "US-005")


@pytest.mark.parametrize("message", ["\x00", "🙂", "continue \x1b[2J", "a" * 3999, "::::", "((((", ": continue", "1:"])
def test_no_text_breaks_the_grammar(message: str) -> None:
    with suppress(UnclearSentence):
        parse_sentence(message, PROJECTS, TARGETS)


def test_the_page_shows_the_overlay_and_the_rules_of_the_tested_conversation() -> None:
    assert re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL) == [OVERLAY.lstrip(), RULES.lstrip()]


def test_the_grammar_reads_every_phrase_of_the_page() -> None:
    rows = PAGE.partition("| say | does |")[2].partition("\n\n")[0].splitlines()[2:]
    phrases = [phrase for row in rows for phrase in re.findall(r"`([^`]+)`", row.split("|")[1])]
    assert len(phrases) > 20
    for phrase in phrases:
        parse_sentence(phrase)
