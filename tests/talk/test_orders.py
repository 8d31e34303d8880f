"""A sentence becomes the commands that it stands for as a run stands; with two readings it becomes none."""

from typing import Any

import msgspec
import pytest

from treadle.errors import UnclearSentence
from treadle.prompts.question import Choice, Clarification
from treadle.talk.orders import (
    ClarifiedAnswer,
    Commands,
    RunFacts,
    SpokenCommand,
    clarification_note,
    match_clarifications,
    orders_for,
)
from treadle.talk.phrases import parse_sentence
from treadle.views.chronicle import Chronicle
from treadle.views.questions import Asked
from treadle.views.run_status import run_status
from treadle.views.status import Startable, StatusInputs
from treadle.views.tree import ServiceOutage

REVIEWED = ("approve", "reject", "needs_clarification", "constitution_violation", "scope_warning", "abort")
TIMEOUT = Clarification("How long may the gateway take?", "20 seconds")


NEW = run_status(Chronicle(lambda _: pytest.fail("the run has no events")), StatusInputs(run="cart"), 0)
OUT = ServiceOutage(why="quota", code="outage.quota", until="", said="")
OPEN = "some points are open"


def question(place: str, *choices: str, text: str = "?") -> Asked:
    named = tuple(Choice(name=name, help="", needs_note=False) for name in choices)
    inst, _, step = f"root/{place}".rpartition(":")
    return Asked(
        id=f"root/{place}#1.1", instance=inst, step=step, title="T", text=text, choices=named,
        asked="", elapsed=0, by="", why="", default="", default_at="",
    )  # fmt: skip


REVIEW = question("US-006:review", *REVIEWED, text=OPEN)
PLAIN = question("US-006:review", *REVIEWED)
STUCK = question("US-005:stuck@impl", "retry", "skip", "abort")
NEXT = question("US-007:next", "continue", "abort")


def facts(*questions: Asked, unbegun: tuple[str, ...] = (), **now: Any) -> RunFacts:
    names = {"root": "", "root/US-005": "US-005", "root/US-006": "US-006", "root/US-007": "US-007"}
    names |= {f"root/US-006/{name}": f"US-006 {name}" for name in ("api", "page")}
    open_ = {one.id: (TIMEOUT,) for one in questions if one.text == OPEN}
    stands = msgspec.structs.replace(NEW, questions=questions, **now)
    return RunFacts(now=stands, names=names, clarifications=open_, unbegun=unbegun)


def orders(message: str, stands: RunFacts) -> Commands:
    targets = ("cart", "US-005", "US-006", "US-006 api", "US-006 page", "US-007")
    return orders_for(parse_sentence(message, ("cart-app",), targets), stands)


def answer(question: Asked, choice: str, note: str = "") -> Commands:
    return (SpokenCommand(command="answer", ask=question.id, choice=choice, note=note),)


def go(*insts: str, step: str = "bdd") -> Commands:
    return tuple(SpokenCommand(command="go", at=inst, step=step) for inst in insts)


GO = Startable(instance="root/US-006", step="bdd")
OTHER = Startable(instance="root/US-007", step="bdd")
BOTH = ("root/US-006", "root/US-007")
API, PAGE = Startable(instance="root/US-006/api", step="work"), Startable(instance="root/US-006/page", step="work")
TEAM = go("root/US-006/api", "root/US-006/page", step="work")
RESUME, STATUS, PAUSE = (
    (SpokenCommand(command="resume"),),
    (SpokenCommand(command="status"),),
    (SpokenCommand(command="pause"),),
)


@pytest.mark.parametrize(
    ("message", "stands", "commands"),
    [
        ("continue", facts(starts=(GO,)), go("root/US-006")),
        ("continue US-007", facts(starts=(GO, OTHER)), go("root/US-007")),
        ("ok", facts(starts=(GO,)), go("root/US-006")),
        ("continue", facts(starts=(OTHER, GO), unbegun=BOTH), go("root/US-006")),
        ("continue cart", facts(starts=(OTHER, GO), unbegun=BOTH), go("root/US-006")),
        ("continue US-007", facts(starts=(OTHER, GO), unbegun=BOTH), go("root/US-007")),
        ("yes", facts(starts=(GO, OTHER), unbegun=("root/US-006",)), go("root/US-007")),
        ("continue", facts(starts=(API, PAGE)), TEAM),
        ("yes", facts(starts=(API, PAGE)), TEAM),
        ("continue US-006", facts(starts=(API, PAGE, OTHER)), TEAM),
        ("continue US-006 page", facts(starts=(API, PAGE)), go("root/US-006/page", step="work")),
        ("continue page", facts(starts=(API, PAGE)), go("root/US-006/page", step="work")),
        ("continue cart", facts(starts=(API, PAGE), paused=("root",)), (*RESUME, *TEAM)),
        ("continue", facts(NEXT), answer(NEXT, "continue")),
        ("yes", facts(NEXT), answer(NEXT, "continue")),
        ("continue", facts(paused=("root",)), RESUME),
        ("continue", facts(NEXT, paused=("root",)), (*RESUME, *answer(NEXT, "continue"))),
        ("continue", facts(outage=OUT), RESUME),
        ("continue", facts(agents=("a",)), RESUME),
        ("continue", facts(PLAIN), STATUS),
        ("continue", facts(PLAIN, agents=("a",)), RESUME),
        ("status", facts(PLAIN), STATUS),
        ("stop for today", facts(NEXT), STATUS),
        ("stop for today", facts(agents=("a",)), PAUSE),
        ("stop", facts(agents=("a",), paused=("root",)), STATUS),
        ("retry: in UTC", facts(STUCK, PLAIN), answer(STUCK, "retry", "in UTC")),
        ("skip", facts(STUCK), answer(STUCK, "skip")),
        ("approve", facts(PLAIN), answer(PLAIN, "approve")),
        ("approve: mind the cards", facts(PLAIN), answer(PLAIN, "approve", "mind the cards")),
        ("reject: no", facts(PLAIN), answer(PLAIN, "reject", "no")),
        ("no, the third is missing", facts(PLAIN), answer(PLAIN, "reject", "the third is missing")),
        ("reject scope warning: refunds", facts(PLAIN), answer(PLAIN, "scope_warning", "refunds")),
        (
            "reject as needs clarification: when?",
            facts(PLAIN),
            answer(PLAIN, "needs_clarification", "when?"),
        ),
        ("constitution violation: prices", facts(PLAIN), answer(PLAIN, "constitution_violation", "prices")),
        ("abort US-006", facts(PLAIN, STUCK), answer(PLAIN, "abort")),
        ("abort US-007", facts(PLAIN), (SpokenCommand(command="abort", at="root/US-007"),)),
        ("note: in UTC", facts(), (SpokenCommand(command="note", at="root", note="in UTC"),)),
        ("note US-006: in UTC", facts(PLAIN), (SpokenCommand(command="note", at="root/US-006", note="in UTC"),)),
        ("abort everything", facts(PLAIN), (SpokenCommand(command="abort", at="root"),)),
        ("abort", facts(), (SpokenCommand(command="abort", at="root"),)),
    ],
)
def test_a_sentence_means_one_thing(message: str, stands: RunFacts, commands: Commands) -> None:
    assert orders(message, stands) == commands


@pytest.mark.parametrize(
    ("message", "note"),
    [
        ("30 seconds, others OK", "30 seconds"),
        ("approve: 30 seconds", "30 seconds"),
        ("ok, 30 seconds", "30 seconds"),
        ("answer: yes, others OK", "yes"),
        ("approve", "As suggested: 20 seconds"),
        ("ok", "As suggested: 20 seconds"),
        ("others OK", "As suggested: 20 seconds"),
    ],
)
def test_an_approval_settles_the_open_questions(message: str, note: str) -> None:
    settled = f"Answers to the open questions:\n- How long may the gateway take? {note}"
    assert orders(message, facts(REVIEW)) == answer(REVIEW, "approve", settled)


@pytest.mark.parametrize(
    ("message", "stands", "code", "instead"),
    [
        ("continue", facts(starts=(GO, OTHER)), "say.ambiguous", ("continue US-006", "continue US-007")),
        ("continue", facts(NEXT, starts=(GO,)), "say.ambiguous", ("continue US-007", "continue US-006")),
        ("continue", facts(starts=(API, PAGE, OTHER)), "say.ambiguous", ("continue US-006", "continue US-007")),
        ("status US-999", facts(starts=(GO,)), "say.unknown", ()),
        ("continue US-999", facts(starts=(GO,)), "say.unknown", ()),
        ("ok", facts(NEXT, PLAIN), "say.ambiguous", ("ok US-007", "ok US-006")),
        ("yes", facts(REVIEW), "say.ambiguous", ("answer: yes, others OK", "approve", "reject: WHY")),
        ("no", facts(REVIEW), "say.ambiguous", ("answer: no, others OK", "approve", "reject: WHY")),
        ("30 seconds", facts(REVIEW), "say.unclear", ("30 seconds, others OK", "reject: WHY")),
        ("30 seconds, others OK", facts(PLAIN), "answer.unknown", REVIEWED),
        ("answer: 30 seconds", facts(), "answer.no_question", ()),
        (
            "30 seconds, others OK",
            facts(REVIEW, question("US-7:review", *REVIEWED, text=OPEN)),
            "say.ambiguous",
            (),
        ),
        ("reject", facts(PLAIN), "answer.no_note", ("reject: WHY",)),
        ("reject scope warning", facts(PLAIN), "answer.no_note", ("reject: WHY",)),
        ("abort", facts(PLAIN), "say.ambiguous", ("abort US-006", "abort everything")),
        ("retry", facts(PLAIN), "answer.unknown", REVIEWED),
        ("skip", facts(), "answer.no_question", ()),
        ("note", facts(), "say.unclear", ("note: TEXT", "note STORY: TEXT")),
        ("note US-999: in UTC", facts(), "say.unknown", ()),
    ],
)
def test_a_sentence_with_two_readings_or_none_is_refused(
    message: str, stands: RunFacts, code: str, instead: tuple[str, ...]
) -> None:
    with pytest.raises(UnclearSentence) as refused:
        orders(message, stands)
    assert (refused.value.code, refused.value.instead) == (code, instead)


def test_words_without_a_question_are_refused_with_the_phrases() -> None:
    with pytest.raises(UnclearSentence) as refused:
        orders("30 seconds, others OK", facts())
    assert refused.value.code == "say.unclear"
    assert len(refused.value.instead) > 5


# Answers in the person's own words.

GATEWAY = Clarification("How long may the payment gateway take?", "20 seconds")
CARDS = Clarification("Which cards are taken?", "Visa only")
MAIL = Clarification("Is a mail sent afterwards?", "yes")
ONE, MANY = (GATEWAY,), (GATEWAY, CARDS, MAIL)


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
def test_the_only_open_question_takes_the_answer(text: str, answers: dict[int, str], others_ok: bool) -> None:
    assert match_clarifications(text, ONE) == ClarifiedAnswer(answers=answers, others_ok=others_ok)


@pytest.mark.parametrize(
    ("text", "answers", "others_ok"),
    [
        ("1: 30 seconds; 3: no; others OK", {0: "30 seconds", 2: "no"}, True),
        ("1) 30 seconds 2) all of them 3) no", {0: "30 seconds", 1: "all of them", 2: "no"}, False),
        ("#2: Visa, Mastercard, others OK", {1: "Visa, Mastercard"}, True),
        ("the gateway has 30 seconds, no mail, others OK", {0: "the gateway has 30 seconds", 2: "no mail"}, True),
    ],
)
def test_numbers_or_words_match_answers_to_questions(text: str, answers: dict[int, str], others_ok: bool) -> None:
    assert match_clarifications(text, MANY) == ClarifiedAnswer(answers=answers, others_ok=others_ok)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("30 seconds, others OK", "say.ambiguous"),
        ("no mail about cards, others OK", "say.ambiguous"),
        ("4: never, others OK", "answer.no_question"),
        ("0: never", "answer.no_question"),
    ],
)
def test_an_answer_that_fits_several_questions_or_none_is_refused(text: str, code: str) -> None:
    with pytest.raises(UnclearSentence) as refused:
        match_clarifications(text, MANY)
    assert refused.value.code == code
    assert refused.value.instead[1] == "2. Which cards are taken? (suggested: Visa only)"


def test_the_note_has_every_question_with_its_answer() -> None:
    found = ClarifiedAnswer(answers={0: "30 seconds"}, others_ok=True)
    _, *answers = clarification_note(found, (*MANY[:2], Clarification("Why?"))).splitlines()
    assert answers[:2] == [
        "- How long may the payment gateway take? 30 seconds",
        "- Which cards are taken? As suggested: Visa only",
    ]
    assert answers[2:] == ["- Why? As you think best."]
