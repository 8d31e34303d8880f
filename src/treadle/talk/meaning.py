"""What is to be done about a sentence, as a run stands. Where two things could be meant, neither is done."""

import re
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from treadle.kernel.lifecycle import ROOT
from treadle.prompts.question import Question
from treadle.protocol.findings import suggest
from treadle.protocol.model import base_of
from treadle.protocol.rules.table import REASONS
from treadle.talk.clarified import Clarified, clarified, noted
from treadle.talk.facts import Facts, story_of
from treadle.talk.intent import SAYABLE, Action, Intent, Unclear


class Answer(msgspec.Struct, frozen=True):
    """Answer a question."""

    ask: str
    choice: str
    note: str = ""


class Let(msgspec.Struct, frozen=True):
    """Let a step start that waits for a person's go."""

    inst: str
    step: str


class Wave(msgspec.Struct, frozen=True):
    """Let the tasks start that a team has before it, all of them."""

    lets: tuple[Let, ...]


class Resume(msgspec.Struct, frozen=True):
    """Take a pause back, and go on with the one thing that waits for it, if only one does."""

    then: Answer | Let | Wave | None = None


class Stop(msgspec.Struct, frozen=True):
    """Nothing new starts; without `pauses`, nothing would in any case."""

    pauses: bool


class Abort(msgspec.Struct, frozen=True):
    """Give an instance up."""

    inst: str


class Level(msgspec.Struct, frozen=True):
    """From now on, another level."""

    level: int


class Drive(msgspec.Struct, frozen=True):
    """Go on with what agents are to do."""


class Look(msgspec.Struct, frozen=True):
    """Say how things stand, and do nothing."""


Deed = Answer | Let | Wave | Resume | Stop | Abort | Level | Drive | Look

_CHOICES: Final[dict[Action, tuple[str, ...]]] = {
    "continue": ("continue",),
    "retry": ("retry", "again"),
    "skip": ("skip",),
    "approve": ("approve", "accept"),
    "agree": ("approve", "accept", "continue"),
}
_YES_OR_NO: Final = frozenset(("yes", "no"))
_REASON: Final = re.compile(
    rf"(?:as\s+|for\s+)?({'|'.join(reason.replace('_', '[ _-]') for reason in REASONS)})\b[\s:,.–—-]*(.*)",
    re.IGNORECASE | re.DOTALL,
)
_WHOLE: Final = frozenset(("everything", "all", "run"))


def meaning(intent: Intent, facts: Facts) -> Deed | Unclear:
    """What a sentence about a run means."""
    match intent.action:
        case "status" | "help":
            target = intent.param("target")
            return _unknown(target, facts) if target and not _matching(facts, target) else Look()
        case "level":
            return Level(int(intent.param("level")))
        case "stop":
            return Stop(pauses=_could_move(facts))
        case "continue":
            return _continue(intent, facts)
        case "abort":
            return _abort(intent, facts)
        case "reject":
            return _reject(intent, facts)
        case "answer":
            return _own_words(intent, facts)
        case _:
            return _chosen(intent, facts)


def _could_move(facts: Facts) -> bool:
    """Whether anything could start by itself."""
    waiting = facts.waiting
    return bool(waiting.agents or waiting.outage or waiting.due) and not waiting.paused


def _continue(intent: Intent, facts: Facts) -> Deed | Unclear:
    waiting, target = facts.waiting, intent.param("target")
    ways: list[Answer | Let | Wave] = [*_offering(facts, ("continue",), target), *_gos(facts, target)]
    if waiting.paused or (waiting.outage and not waiting.questions):
        return Resume(ways[0] if len(ways) == 1 else None)
    if len(ways) == 1:
        return ways[0]
    if ways:
        return Unclear(
            "several things wait for that; say which:",
            tuple(f"continue {_place(it, facts)}" for it in ways),
            code="say.ambiguous",
        )
    if target and not _matching(facts, target):
        return _unknown(target, facts)
    return Look() if (waiting.questions or waiting.works) and not waiting.agents else Drive()


def _gos(facts: Facts, target: str) -> list[Let | Wave]:
    """What waits for a go; unless one is named, a story that has not begun waits for those that have, and its turn."""
    found = [Let(go.inst, go.step) for go in facts.waiting.gos if _is_at(facts, go.inst, go.step, target)]
    if target and target != facts.run:
        return _waves(found)
    begun = [it for it in found if it.inst not in facts.unbegun]
    return _waves(begun or sorted(found, key=lambda it: facts.unbegun.index(it.inst))[:1])


def _waves(found: Sequence[Let]) -> list[Let | Wave]:
    """The same, with the tasks of one team as one."""
    teams: dict[str, list[Let]] = {}
    for it in found:
        teams.setdefault(story_of(it.inst) if story_of(it.inst) != it.inst else f"{it.inst}:{it.step}", []).append(it)
    return [Wave(tuple(lets)) if len(lets) > 1 else lets[0] for lets in teams.values()]


def _offering(facts: Facts, choices: Iterable[str], target: str, note: str = "") -> list[Answer]:
    """The questions that one of the choices answers, each with the first that it offers."""
    found = []
    for one in facts.waiting.questions:
        offered = [choice for choice in choices if choice in _names(one)]
        if offered and _is_at(facts, *_where(one), target):
            found.append(Answer(one.id, offered[0], note))
    return found


def _chosen(intent: Intent, facts: Facts) -> Deed | Unclear:
    """retry, skip, approve, and plain agreement."""
    target, note = intent.param("target"), intent.param("note")
    found: list[Answer | Let | Wave] = [*_offering(facts, _CHOICES[intent.action], target, note)]
    if intent.action == "agree" and not note:
        found += _gos(facts, target)
    one = _only(found, intent, facts)
    if not isinstance(one, Answer) or one.choice not in _CHOICES["approve"]:
        return one
    question = _question(facts, one.ask)
    if question.clarifications and intent.param("said") in _YES_OR_NO and not note:
        return _which_of_two(intent.param("said"), question)
    return _approved(one, question, note)


def _approved(answer: Answer, question: Question, note: str) -> Answer | Unclear:
    """An approval settles what a review has left open: by the note, or as suggested."""
    if not question.clarifications:
        return answer
    found = clarified(note, question.clarifications) if note else Clarified()
    if isinstance(found, Unclear) and len(question.clarifications) > 1:
        found, more = Clarified(), note  # a remark about everything
    else:
        more = ""
    if isinstance(found, Unclear):
        return found
    return Answer(answer.ask, answer.choice, noted(found, question.clarifications, more))


def _reject(intent: Intent, facts: Facts) -> Deed | Unclear:
    note = intent.param("note")
    reason, why = _reason(note)
    target = intent.param("target")
    one = _only(_offering(facts, (reason, "reject"), target), intent, facts)
    if not isinstance(one, Answer):
        return one
    question = _question(facts, one.ask)
    if intent.param("said") in _YES_OR_NO and question.clarifications:
        return _which_of_two(intent.param("said"), question)
    said = why if one.choice == reason else note
    if not said:
        return Unclear("say why, for that is all the next agent will know:", ("reject: WHY",), code="answer.no_note")
    return Answer(one.ask, one.choice, said)


def _reason(note: str) -> tuple[str, str]:
    """`scope warning: it touches refunds` as a reason and the rest."""
    match = _REASON.match(note)
    return (re.sub("[ -]", "_", match[1].lower()), match[2].strip()) if match else ("", note)


def _abort(intent: Intent, facts: Facts) -> Deed | Unclear:
    target = intent.param("target")
    if target.lower() in _WHOLE or target == facts.run:
        return Abort(ROOT)
    asked = _offering(facts, ("abort",), target, intent.param("note"))
    if not target and asked:
        ways = [*(f"abort {_place(it, facts)}" for it in asked), "abort everything"]
        return Unclear("what is to be given up? Say which:", tuple(dict.fromkeys(ways)), code="say.ambiguous")
    if not target:
        return Abort(ROOT)
    if asked:
        return asked[0] if len(asked) == 1 else _several(intent, asked, facts)
    found = [inst for inst, name in facts.names.items() if target.lower() in (name.lower(), inst.lower())]
    return Abort(found[0]) if len(found) == 1 else _unknown(target, facts)


def _own_words(intent: Intent, facts: Facts) -> Deed | Unclear:
    """An answer that is no action: a choice by its name, or what a review has left open."""
    text = intent.param("text")
    by_name = [(one, choice) for one in facts.waiting.questions for choice in _names(one) if _begins(text, choice)]
    if len(by_name) == 1:
        one, choice = by_name[0]
        return Answer(one.id, choice, text[len(choice) :].strip(" :,.-–—"))
    if by_name:
        return _several(intent, [Answer(one.id, choice) for one, choice in by_name], facts)
    reviews = [one for one in facts.waiting.questions if one.clarifications and "approve" in _names(one)]
    if len(reviews) != 1:
        return _unanswered(intent, facts, several=bool(reviews))
    found = clarified(text, reviews[0].clarifications)
    if isinstance(found, Unclear):
        return found
    if not found.others_ok:
        return Unclear(
            "that answers what is open, but does not say whether the rest may go on:",
            (f"{text.rstrip('. ')}, others OK", "reject: WHY"),
            code="say.unclear",
        )
    return Answer(reviews[0].id, "approve", noted(found, reviews[0].clarifications))


def _unanswered(intent: Intent, facts: Facts, *, several: bool) -> Unclear:
    if several:
        return Unclear(
            "several reviews are open; answer each by its story: approve STORY: YOUR ANSWERS", code="say.ambiguous"
        )
    asked = [line for one in facts.waiting.questions for line in ways_to_answer(one, facts)]
    if asked:
        return Unclear(
            f"'{intent.param('text')[:80]}' answers nothing that is open; these can be said:",
            tuple(asked),
            code="answer.unknown",
        )
    return not_understood(intent)


def not_understood(intent: Intent) -> Unclear:
    """That words of one's own answer nothing, because nothing is asked."""
    text = intent.param("text")[:80]
    if intent.param("said"):
        return Unclear(
            f"nothing is asked that '{text}' could answer; `status` says how things stand", code="answer.no_question"
        )
    return Unclear(f"'{text}' was not understood; what can be said:", SAYABLE, code="say.unclear")


def ways_to_answer(question: Question, facts: Facts) -> list[str]:
    """What can be said to a question."""
    alone = len(facts.waiting.questions) == 1
    place = "" if alone else f" {_place(Answer(question.id, ''), facts)}"
    lines = [f"{it.name}{place}{': NOTE' if it.needs_note else ''}  {it.help}".rstrip() for it in question.choices]
    return [*(["ANSWER, others OK"] if question.clarifications and alone else []), *lines]


def _which_of_two(said: str, question: Question) -> Unclear:
    first = question.clarifications[0].question
    return Unclear(
        f"'{said}' could be meant for the review, or for '{first}'; say which:",
        (f"answer: {said}, others OK", "approve", "reject: WHY"),
        code="say.ambiguous",
    )


def _only(found: Sequence[Answer | Let | Wave], intent: Intent, facts: Facts) -> Answer | Let | Wave | Unclear:
    if len(found) == 1:
        return found[0]
    if found:
        return _several(intent, found, facts)
    target = intent.param("target")
    if target and not _matching(facts, target):
        return _unknown(target, facts)
    asked = [line for one in facts.waiting.questions for line in ways_to_answer(one, facts)]
    if asked:
        return Unclear(
            f"nothing that is open can be answered with '{intent.action}'; these can be said:",
            tuple(asked),
            code="answer.unknown",
        )
    return Unclear(
        f"nothing waits for '{intent.action}' at the moment; `status` says how things stand", code="answer.no_question"
    )


def _several(intent: Intent, found: Iterable[Answer | Let | Wave], facts: Facts) -> Unclear:
    said = intent.param("said") or intent.action
    return Unclear(
        "several things wait for that; say which:",
        tuple(f"{said} {_place(it, facts)}" for it in found),
        code="say.ambiguous",
    )


def _unknown(target: str, facts: Facts) -> Unclear:
    known = sorted({name for name in facts.names.values() if name} | {facts.run})
    hint = suggest(target, known) or (f"there are {', '.join(known[:8])}" if known else "")
    return Unclear(f"there is no project, story or run '{target[:60]}' here; {hint}".rstrip("; "), code="say.unknown")


def _place(deed: Answer | Let | Wave, facts: Facts) -> str:
    """How a person says where something waits."""
    if isinstance(deed, Wave):
        return facts.names.get(story_of(deed.lets[0].inst), "")
    inst, step = (deed.inst, deed.step) if isinstance(deed, Let) else _where_of(deed.ask)
    return facts.names.get(inst, "") or base_of(step)


def _is_at(facts: Facts, inst: str, step: str, target: str) -> bool:
    if not target or target == facts.run:
        return True
    name, wanted = facts.names.get(inst, "").lower(), target.lower()
    names = (name, name.rpartition(" ")[2], inst, step, base_of(step), f"{inst}:{step}")
    return name.startswith(f"{wanted} ") or wanted in [name.lower() for name in names if name]


def _matching(facts: Facts, target: str) -> bool:
    """Whether anything at all is called so."""
    known = (facts.run, *facts.names.values(), *facts.names, *(one.rpartition(" ")[2] for one in facts.names.values()))
    return target.lower() in [name.lower() for name in known]


def _where(question: Question) -> tuple[str, str]:
    return _where_of(question.id)


def _where_of(ask: str) -> tuple[str, str]:
    inst, _, step = ask.partition("#")[0].rpartition(":")
    return inst, step


def _question(facts: Facts, ask: str) -> Question:
    return next(one for one in facts.waiting.questions if one.id == ask)


def _names(question: Question) -> list[str]:
    return [choice.name for choice in question.choices]


def _begins(text: str, choice: str) -> bool:
    """Whether a text begins with the name of a choice, however its words are joined."""
    plain, name = text.lower().replace("_", " ").replace("-", " "), choice.lower().replace("_", " ").replace("-", " ")
    return plain == name or (plain.startswith(name) and not plain[len(name)].isalnum())
