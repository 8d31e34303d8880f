"""What sentences mean, as a run stands; where two things could be meant, neither is done."""

from typing import Any

import pytest

from treadle.engines.waiting import Go, Waiting
from treadle.prompts.clarifications import Clarification
from treadle.prompts.question import Choice, Question
from treadle.talk.facts import Facts
from treadle.talk.grammar import Vocabulary, parse
from treadle.talk.intent import Intent, Unclear
from treadle.talk.meaning import Abort, Answer, Drive, Let, Look, Resume, Stop, Wave, meaning

REVIEWED = ("approve", "reject", "needs_clarification", "constitution_violation", "scope_warning", "abort")
TIMEOUT = Clarification("How long may the gateway take?", "20 seconds")


def question(place: str, *choices: str, open_: tuple[Clarification, ...] = ()) -> Question:
    named = tuple(Choice(name) for name in choices)
    return Question(id=f"root/{place}#1.1", title="T", text="?", choices=named, clarifications=open_)


REVIEW = question("US-006:review", *REVIEWED, open_=(TIMEOUT,))
PLAIN = question("US-006:review", *REVIEWED)
STUCK = question("US-005:stuck@impl", "retry", "skip", "abort")
NEXT = question("US-007:next", "continue", "abort")


def facts(*questions: Question, unbegun: tuple[str, ...] = (), **waiting: Any) -> Facts:
    names = {"root": "", "root/US-005": "US-005", "root/US-006": "US-006", "root/US-007": "US-007"}
    names |= {f"root/US-006/{name}": f"US-006 {name}" for name in ("api", "page")}
    return Facts(run="cart", waiting=Waiting(questions=questions, **waiting), names=names, unbegun=unbegun)


def means(message: str, stands: Facts) -> Any:
    targets = ("cart", "US-005", "US-006", "US-006 api", "US-006 page", "US-007")
    intent = parse(message, Vocabulary(projects=("cart-app",), targets=targets))
    assert isinstance(intent, Intent), intent
    return meaning(intent, stands)


GO = Go("root/US-006", "bdd")
OTHER = Go("root/US-007", "bdd")
BOTH = ("root/US-006", "root/US-007")
API, PAGE = Go("root/US-006/api", "work"), Go("root/US-006/page", "work")
TEAM = Wave((Let("root/US-006/api", "work"), Let("root/US-006/page", "work")))


@pytest.mark.parametrize(
    ("message", "stands", "deed"),
    [
        ("continue", facts(gos=(GO,)), Let("root/US-006", "bdd")),
        ("continue US-007", facts(gos=(GO, OTHER)), Let("root/US-007", "bdd")),
        ("ok", facts(gos=(GO,)), Let("root/US-006", "bdd")),
        ("continue", facts(gos=(OTHER, GO), unbegun=BOTH), Let("root/US-006", "bdd")),
        ("continue cart", facts(gos=(OTHER, GO), unbegun=BOTH), Let("root/US-006", "bdd")),
        ("continue US-007", facts(gos=(OTHER, GO), unbegun=BOTH), Let("root/US-007", "bdd")),
        ("yes", facts(gos=(GO, OTHER), unbegun=("root/US-006",)), Let("root/US-007", "bdd")),
        ("continue", facts(gos=(API, PAGE)), TEAM),
        ("yes", facts(gos=(API, PAGE)), TEAM),
        ("continue US-006", facts(gos=(API, PAGE, OTHER)), TEAM),
        ("continue US-006 page", facts(gos=(API, PAGE)), Let("root/US-006/page", "work")),
        ("continue page", facts(gos=(API, PAGE)), Let("root/US-006/page", "work")),
        ("continue cart", facts(gos=(API, PAGE), paused=("root",)), Resume(TEAM)),
        ("continue", facts(NEXT), Answer(NEXT.id, "continue")),
        ("yes", facts(NEXT), Answer(NEXT.id, "continue")),
        ("continue", facts(paused=("root",)), Resume()),
        ("continue", facts(NEXT, paused=("root",)), Resume(Answer(NEXT.id, "continue"))),
        ("continue", facts(outage="held up"), Resume()),
        ("continue", facts(agents=("a",)), Drive()),
        ("continue", facts(PLAIN), Look()),
        ("continue", facts(PLAIN, agents=("a",)), Drive()),
        ("status", facts(PLAIN), Look()),
        ("stop for today", facts(NEXT), Stop(pauses=False)),
        ("stop for today", facts(agents=("a",)), Stop(pauses=True)),
        ("stop", facts(agents=("a",), paused=("root",)), Stop(pauses=False)),
        ("retry: in UTC", facts(STUCK, PLAIN), Answer(STUCK.id, "retry", "in UTC")),
        ("skip", facts(STUCK), Answer(STUCK.id, "skip")),
        ("approve", facts(PLAIN), Answer(PLAIN.id, "approve")),
        ("approve: mind the cards", facts(PLAIN), Answer(PLAIN.id, "approve", "mind the cards")),
        ("reject: no", facts(PLAIN), Answer(PLAIN.id, "reject", "no")),
        ("no, the third is missing", facts(PLAIN), Answer(PLAIN.id, "reject", "the third is missing")),
        ("reject scope warning: refunds", facts(PLAIN), Answer(PLAIN.id, "scope_warning", "refunds")),
        ("reject as needs clarification: when?", facts(PLAIN), Answer(PLAIN.id, "needs_clarification", "when?")),
        ("constitution violation: prices", facts(PLAIN), Answer(PLAIN.id, "constitution_violation", "prices")),
        ("abort US-006", facts(PLAIN, STUCK), Answer(PLAIN.id, "abort")),
        ("abort US-007", facts(PLAIN), Abort("root/US-007")),
        ("abort everything", facts(PLAIN), Abort("root")),
        ("abort", facts(), Abort("root")),
    ],
)
def test_a_sentence_means_one_thing(message: str, stands: Facts, deed: object) -> None:
    assert means(message, stands) == deed


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
def test_an_approval_settles_what_was_open(message: str, note: str) -> None:
    settled = f"Answers to the open questions:\n- How long may the gateway take? {note}"
    assert means(message, facts(REVIEW)) == Answer(REVIEW.id, "approve", settled)


@pytest.mark.parametrize(
    ("message", "stands", "why"),
    [
        (
            "continue",
            facts(gos=(GO, OTHER)),
            "several things wait for that; say which:\n  continue US-006\n  continue US-007",
        ),
        ("continue", facts(NEXT, gos=(GO,)), "several things wait for that"),
        ("continue", facts(gos=(API, PAGE, OTHER)), "say which:\n  continue US-006\n  continue US-007"),
        ("done", facts(), "what you have done yourself is handed in with `treadle done`"),
        ("status US-999", facts(gos=(GO,)), "there is no project, story or run 'US-999' here"),
        ("continue US-999", facts(gos=(GO,)), "there is no project, story or run 'US-999' here; there are US-005"),
        ("ok", facts(NEXT, PLAIN), "several things wait for that"),
        ("yes", facts(REVIEW), "'yes' could be meant for the review, or for 'How long may the gateway take?'"),
        ("no", facts(REVIEW), "'no' could be meant for the review"),
        ("30 seconds", facts(REVIEW), "does not say whether the rest may go on:\n  30 seconds, others OK"),
        ("30 seconds, others OK", facts(PLAIN), "'30 seconds, others OK' answers nothing that is open"),
        ("30 seconds, others OK", facts(), "was not understood; what can be said"),
        ("answer: 30 seconds", facts(), "nothing is asked that '30 seconds' could answer"),
        (
            "30 seconds, others OK",
            facts(REVIEW, question("US-7:review", *REVIEWED, open_=(TIMEOUT,))),
            "several reviews",
        ),
        ("reject", facts(PLAIN), "say why"),
        ("reject scope warning", facts(PLAIN), "say why"),
        ("abort", facts(PLAIN), "what is to be given up? Say which:\n  abort US-006\n  abort everything"),
        ("retry", facts(PLAIN), "nothing that is open can be answered with 'retry'; these can be said:\n  approve"),
        ("retry after a minute, others OK", facts(REVIEW), "begin an answer with `answer:`"),
        ("skip", facts(), "nothing waits for 'skip' at the moment"),
    ],
)
def test_what_could_mean_two_things_or_none_is_not_done(message: str, stands: Facts, why: str) -> None:
    intent = parse(message)
    found = intent if isinstance(intent, Unclear) else meaning(intent, stands)
    assert isinstance(found, Unclear), found
    assert why in str(found)
