"""Answers in words of one's own, held against what is open."""

import pytest

from treadle.prompts.clarifications import Clarification
from treadle.talk.clarified import Clarified, clarified, noted
from treadle.talk.intent import Unclear

TIMEOUT = Clarification("How long may the payment gateway take?", "20 seconds")
CARDS = Clarification("Which cards are taken?", "Visa only")
MAIL = Clarification("Is a mail sent afterwards?", "yes")
ONE, MANY = (TIMEOUT,), (TIMEOUT, CARDS, MAIL)


@pytest.mark.parametrize(
    ("text", "answers", "others_ok"),
    [
        ("30 seconds, others OK", {0: "30 seconds"}, True),
        ("30 seconds. The rest is fine.", {0: "30 seconds"}, True),
        ("30 seconds; everything else looks good", {0: "30 seconds"}, True),
        ("30 seconds, but 60 at night, others are ok", {0: "30 seconds, but 60 at night"}, True),
        ("30 seconds, ok", {0: "30 seconds"}, True),
        ("30 seconds", {0: "30 seconds"}, False),
        ("1: 30 seconds, others OK", {0: "30 seconds"}, True),
        ("others OK", {}, True),
        ("the others as suggested", {}, True),
    ],
)
def test_one_question(text: str, answers: dict[int, str], others_ok: bool) -> None:
    assert clarified(text, ONE) == Clarified(answers=answers, others_ok=others_ok)


@pytest.mark.parametrize(
    ("text", "answers", "others_ok"),
    [
        ("1: 30 seconds; 3: no; others OK", {0: "30 seconds", 2: "no"}, True),
        ("1) 30 seconds 2) all of them 3) no", {0: "30 seconds", 1: "all of them", 2: "no"}, False),
        ("#2: Visa, Mastercard, others OK", {1: "Visa, Mastercard"}, True),
        ("the gateway has 30 seconds, no mail, others OK", {0: "the gateway has 30 seconds", 2: "no mail"}, True),
    ],
)
def test_several_questions(text: str, answers: dict[int, str], others_ok: bool) -> None:
    assert clarified(text, MANY) == Clarified(answers=answers, others_ok=others_ok)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("30 seconds, others OK", "which question does '30 seconds' answer?"),
        ("no mail about cards, others OK", "which question does 'no mail about cards' answer?"),
        ("4: never, others OK", "there is no question 4"),
        ("0: never", "there is no question 0"),
    ],
)
def test_what_could_answer_several_is_asked_about(text: str, why: str) -> None:
    found = clarified(text, MANY)
    assert isinstance(found, Unclear), found
    assert why in found.why
    assert found.say[1] == "2. Which cards are taken? (suggested: Visa only)"


def test_the_note_has_every_question_with_its_answer() -> None:
    found = Clarified(answers={0: "30 seconds"}, others_ok=True)
    assert noted(found, (*MANY[:2], Clarification("Why?"))) == (
        "Answers to the open questions:\n"
        "- How long may the payment gateway take? 30 seconds\n"
        "- Which cards are taken? As suggested: Visa only\n"
        "- Why? As you think best."
    )
