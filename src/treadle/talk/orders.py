"""From a sentence to commands: each sentence stands for commands of the command line, as the run stands now.

`continue` is `treadle go`, `resume` or `answer continue`; approve, reject, retry and skip are `treadle answer`; stop is
`treadle pause`. Where two readings are possible, `UnclearSentence` is raised and none is performed.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal

import msgspec

from treadle.errors import UnclearSentence
from treadle.kernel.commands import RunAgent
from treadle.kernel.instances import ROOT
from treadle.kernel.state import State
from treadle.ports import Payloads
from treadle.prompts.question import Clarification, clarifications
from treadle.protocol.findings import suggest
from treadle.protocol.model import base_of
from treadle.protocol.rules.table import REASONS
from treadle.talk.phrases import PHRASES, SAYABLE, Action, Sentence
from treadle.views.questions import Asked
from treadle.views.run_status import RunStatus


class SpokenCommand(msgspec.Struct, frozen=True, kw_only=True):
    """One command with its arguments."""

    command: Literal["status", "resume", "go", "answer", "pause", "abort", "level", "note"]
    at: str = ""
    """The instance of `go`, `abort` and `note`."""
    step: str = ""
    ask: str = ""
    choice: str = ""
    note: str = ""
    level: int = 0


Commands = tuple[SpokenCommand, ...]
"""One reading of a sentence: the commands to perform, in order."""


class RunFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The facts about a run that the meaning of a sentence depends on."""

    now: RunStatus
    names: Mapping[str, str]
    """Instance → its name for people, such as the story's id; empty for the run as a whole."""
    clarifications: Mapping[str, tuple[Clarification, ...]] = {}
    """Question → its open points besides the choices."""
    unbegun: tuple[str, ...] = ()
    """Instances below the root that have not begun, in the order of the run's input."""
    jobs: tuple[RunAgent, ...] = ()
    """The open commands of agents, without those that people work on."""

    @property
    def run(self) -> str:
        return self.now.run


def facts_of(now: RunStatus, state: State, payloads: Payloads) -> RunFacts:
    """Collect the facts about a run; `now` is the status of that state."""
    asked = {id_: ask.command for id_, ask in state.asks.items() if ask.command and ask.command.graph}
    stories = sorted((inst for inst in state.insts.values() if inst.parent == ROOT), key=lambda inst: inst.n)
    by_people = {work.id for work in now.yours}
    commands = [act.command for id_, act in sorted(state.acts.items()) if id_ not in by_people]
    return RunFacts(
        now=now,
        names=names_of(state),
        clarifications={id_: clarifications(command, payloads) for id_, command in asked.items()},
        unbegun=tuple(inst.id for inst in stories if inst.live and not inst.last),
        jobs=tuple(command for command in commands if isinstance(command, RunAgent)),
    )


def names_of(state: State) -> dict[str, str]:
    """Return instance → its name for people; empty for the run as a whole."""
    names: dict[str, str] = {}
    for inst in sorted(state.insts.values(), key=lambda inst: inst.n):  # parents come before their children
        names[inst.id] = f"{names.get(inst.parent, '')} {inst.key}".strip() if inst.parent else ""
    return names


_CHOICES: Final[Mapping[Action, tuple[str, ...]]] = {
    "continue": ("continue",),
    "retry": ("retry", "again"),
    "skip": ("skip",),
    "approve": ("approve", "accept"),
    "agree": ("approve", "accept", "continue"),
}
"""Action → the choices of a question that it can stand for, the first offered one first."""
_YES_OR_NO: Final = frozenset(("yes", "no"))
_WHOLE: Final = frozenset(("everything", "all", "run"))
_REASON: Final = re.compile(
    rf"(?:as\s+|for\s+)?({'|'.join(reason.replace('_', '[ _-]') for reason in REASONS)})\b[\s:,.–—-]*(.*)",
    re.IGNORECASE | re.DOTALL,
)


def orders_for(sentence: Sentence, facts: RunFacts) -> Commands:
    """Return the commands that a sentence stands for."""
    now, target = facts.now, sentence.target
    match sentence.action:
        case "status" | "help":
            _require_known(target, facts)
            return (SpokenCommand(command="status"),)
        case "level":
            return (SpokenCommand(command="level", level=sentence.level),)
        case "stop":
            could_move = bool(now.agents or now.outage or now.due) and not now.paused
            return (SpokenCommand(command="pause" if could_move else "status"),)
        case "note":
            if not sentence.note:
                raise UnclearSentence("add the note:", ("note: TEXT", "note STORY: TEXT"), code="say.unclear")
            at = _instance(target, facts) if target and target != facts.run else ROOT
            return (SpokenCommand(command="note", at=at, note=sentence.note),)
        case "continue":
            return _continue(sentence, facts)
        case "abort":
            return _abort(sentence, facts)
        case "reject":
            return _reject(sentence, facts)
        case "answer":
            return _own_words(sentence, facts)
        case _:
            return _choose(sentence, facts)


def _continue(sentence: Sentence, facts: RunFacts) -> Commands:
    now, target = facts.now, sentence.target
    ways = [*_answers(facts, _CHOICES["continue"], target), *_goes(facts, target)]
    if now.paused or (now.outage and not now.questions):
        return (SpokenCommand(command="resume"), *(ways[0] if len(ways) == 1 else ()))
    if ways:
        return _only(ways, sentence, facts)
    _require_known(target, facts)
    is_for_person = (now.questions or now.yours) and not now.agents
    return (SpokenCommand(command="status" if is_for_person else "resume"),)


def _goes(facts: RunFacts, target: str) -> list[Commands]:
    """Return the steps that wait for a go, those of one team as one way.

    Without a named target, stories under way come first, and of those that have not begun only the next one counts.
    """
    found = [go for go in facts.now.starts if _is_at(facts, go.instance, go.step, target)]
    if not target or target == facts.run:
        begun = [go for go in found if go.instance not in facts.unbegun]
        found = begun or sorted(found, key=lambda go: facts.unbegun.index(go.instance))[:1]
    teams: dict[str, list[SpokenCommand]] = {}
    for go in found:
        story = _story_of(go.instance)
        place = story if story != go.instance else f"{go.instance}:{go.step}"
        teams.setdefault(place, []).append(SpokenCommand(command="go", at=go.instance, step=go.step))
    return [tuple(orders) for orders in teams.values()]


def _answers(facts: RunFacts, choices: Iterable[str], target: str, note: str = "") -> list[Commands]:
    """Return an answer for each question that offers one of the choices: the first that it offers."""
    found: list[Commands] = []
    for question in facts.now.questions:
        offered = [choice for choice in choices if choice in _names(question)]
        if offered and _is_at(facts, *_place_of(question.id), target):
            found.append((SpokenCommand(command="answer", ask=question.id, choice=offered[0], note=note),))
    return found


def _choose(sentence: Sentence, facts: RunFacts) -> Commands:
    """Return the order for retry, skip, approve, and plain agreement."""
    ways = _answers(facts, _CHOICES[sentence.action], sentence.target, sentence.note)
    if sentence.action == "agree" and not sentence.note:
        ways += _goes(facts, sentence.target)
    way = _only(ways, sentence, facts)
    order, open_ = way[0], facts.clarifications.get(way[0].ask, ())
    if not open_ or order.choice not in _CHOICES["approve"]:
        return way
    if sentence.word in _YES_OR_NO and not sentence.note:
        raise _ambiguous_yes(sentence.word, open_)
    return (msgspec.structs.replace(order, note=_approval_note(sentence.note, open_)),)


def _approval_note(note: str, open_: Sequence[Clarification]) -> str:
    """Answer every open clarification of an approval: from the note, or as suggested."""
    try:
        return clarification_note(match_clarifications(note, open_) if note else ClarifiedAnswer(), open_)
    except UnclearSentence:
        if len(open_) == 1:
            raise
        return clarification_note(ClarifiedAnswer(), open_, more=note)  # a remark about everything


def _reject(sentence: Sentence, facts: RunFacts) -> Commands:
    match = _REASON.match(sentence.note)
    reason, why = (re.sub("[ -]", "_", match[1].lower()), match[2].strip()) if match else ("", sentence.note)
    (order,) = _only(_answers(facts, (reason, "reject"), sentence.target), sentence, facts)
    open_ = facts.clarifications.get(order.ask, ())
    if open_ and sentence.word in _YES_OR_NO:
        raise _ambiguous_yes(sentence.word, open_)
    note = why if order.choice == reason else sentence.note
    if not note:
        raise UnclearSentence(
            "add a reason, because the next agent reads only that", ("reject: WHY",), code="answer.no_note"
        )
    return (msgspec.structs.replace(order, note=note),)


def _abort(sentence: Sentence, facts: RunFacts) -> Commands:
    target = sentence.target
    asked = _answers(facts, ("abort",), target, sentence.note)
    if target.lower() in _WHOLE or target == facts.run or not (target or asked):
        return (SpokenCommand(command="abort", at=ROOT),)
    if not target:
        ways = [*(f"abort {_place_words(way, facts)}" for way in asked), "abort everything"]
        raise UnclearSentence("name what to abort:", tuple(dict.fromkeys(ways)), code="say.ambiguous")
    if asked:
        return _only(asked, sentence, facts)
    return (SpokenCommand(command="abort", at=_instance(target, facts)),)


def _instance(target: str, facts: RunFacts) -> str:
    """Return the only instance that a target names."""
    found = [inst for inst, name in facts.names.items() if target.lower() in (name.lower(), inst.lower())]
    if len(found) != 1:
        raise _unknown(target, facts)
    return found[0]


def _own_words(sentence: Sentence, facts: RunFacts) -> Commands:
    """Match an answer in the person's own words to a choice by its name, or to the clarifications of a review."""
    text, questions = sentence.text, facts.now.questions
    by_name = [(one, choice) for one in questions for choice in _names(one) if _begins_with(text, choice)]
    if by_name:
        ways: list[Commands] = []
        for question, choice in by_name:
            note = text[len(choice) :].strip(" :,.-–—")
            ways.append((SpokenCommand(command="answer", ask=question.id, choice=choice, note=note),))
        return _only(ways, sentence, facts)
    reviews = [one for one in questions if facts.clarifications.get(one.id) and "approve" in _names(one)]
    if len(reviews) > 1:
        raise UnclearSentence(
            "several reviews are open; name the story of each: approve STORY: YOUR ANSWERS", code="say.ambiguous"
        )
    if not reviews:
        raise _unanswerable(sentence, facts)
    open_ = facts.clarifications[reviews[0].id]
    found = match_clarifications(text, open_)
    if not found.others_ok:
        raise UnclearSentence(
            "that answers the open question, but does not approve the rest:",
            (f"{text.rstrip('. ')}, others OK", "reject: WHY"),
            code="say.unclear",
        )
    note = clarification_note(found, open_)
    return (SpokenCommand(command="answer", ask=reviews[0].id, choice="approve", note=note),)


def _only(ways: Sequence[Commands], sentence: Sentence, facts: RunFacts) -> Commands:
    """Return the only way; refuse several with a sentence for each, and none with everything that can be said."""
    if len(ways) == 1:
        return ways[0]
    if ways:
        word = sentence.word or sentence.action
        raise UnclearSentence(
            "several things wait for that; name one:",
            tuple(f"{word} {_place_words(way, facts)}" for way in ways),
            code="say.ambiguous",
        )
    _require_known(sentence.target, facts)
    raise _unanswerable(sentence, facts)


def _unanswerable(sentence: Sentence, facts: RunFacts) -> UnclearSentence:
    """Build the refusal of an answer that fits no open question."""
    words = sentence.text[:80] or sentence.action
    if asked := ways_to_answer(facts):
        return UnclearSentence(f"'{words}' answers no open question; you can say:", asked, code="answer.unknown")
    if sentence.word:
        return UnclearSentence(f"no open question offers '{words}'; try `status`", code="answer.no_question")
    return UnclearSentence(f"'{words}' was not understood; you can say:", SAYABLE, code="say.unclear")


def ways_to_answer(facts: RunFacts) -> list[str]:
    """List the sentences that answer the open questions."""
    ways: list[str] = []
    alone = len(facts.now.questions) == 1
    for question in facts.now.questions:
        place = "" if alone else f" {_place_words((SpokenCommand(command='answer', ask=question.id),), facts)}"
        ways += ["ANSWER, others OK"] if facts.clarifications.get(question.id) and alone else []
        ways += [f"{it.name}{place}{': NOTE' if it.needs_note else ''}  {it.help}".rstrip() for it in question.choices]
    return ways


def _ambiguous_yes(word: str, open_: Sequence[Clarification]) -> UnclearSentence:
    return UnclearSentence(
        f"'{word}' could answer the review, or '{open_[0].question}'; say which:",
        (f"answer: {word}, others OK", "approve", "reject: WHY"),
        code="say.ambiguous",
    )


def _require_known(target: str, facts: RunFacts) -> None:
    known = [facts.run, *facts.names.values(), *facts.names]
    known += [name.rpartition(" ")[2] for name in facts.names.values()]
    if target and target.lower() not in [name.lower() for name in known]:
        raise _unknown(target, facts)


def _unknown(target: str, facts: RunFacts) -> UnclearSentence:
    known = sorted({name for name in facts.names.values() if name} | {facts.run})
    hint = suggest(target, known) or f"choose from {', '.join(known[:8])}"
    return UnclearSentence(f"there is no project, story or run '{target[:60]}' here; {hint}", code="say.unknown")


def _place_words(way: Commands, facts: RunFacts) -> str:
    """Format the place where a way waits, in words that a person can type."""
    first = way[0]
    inst, step = (first.at, first.step) if first.command == "go" else _place_of(first.ask)
    inst = _story_of(inst) if len(way) > 1 else inst
    return facts.names.get(inst, "") or base_of(step)


def _story_of(inst: str) -> str:
    """Return the story of an instance: the instance itself, or the story that its team works on."""
    return "/".join(inst.split("/")[:2])


def _is_at(facts: RunFacts, inst: str, step: str, target: str) -> bool:
    """Whether a target names an instance, its story, or its step."""
    if not target or target == facts.run:
        return True
    name, wanted = facts.names.get(inst, "").lower(), target.lower()
    names = (name, name.rpartition(" ")[2], inst, step, base_of(step), f"{inst}:{step}")
    return name.startswith(f"{wanted} ") or wanted in [one.lower() for one in names if one]


def _place_of(ask: str) -> tuple[str, str]:
    inst, _, step = ask.partition("#")[0].rpartition(":")
    return inst, step


def _names(question: Asked) -> list[str]:
    return [choice.name for choice in question.choices]


def _begins_with(text: str, choice: str) -> bool:
    """Whether a text begins with the name of a choice, however its words are joined."""
    plain, name = (re.sub("[_-]", " ", one.lower()) for one in (text, choice))
    return plain == name or (plain.startswith(name) and not plain[len(name)].isalnum())


# Answers in the person's own words to the clarifications that a review left open: `30 seconds, others OK`.
#
# An answer belongs to a question if it bears the question's number, if there is only one question, or if it shares a
# word with this question and no other. An answer that fits no question, or several, is refused.

_OTHERS: Final = re.compile(
    r"(?:(?:and|but|the|all|my)\s+)*(?:others?|rest|remainder|everything else|otherwise)(?:\s+(?:is|are|it|all|"
    r"questions?|scenarios?|looks?))*\s*(?:ok|okay|fine|good|right|approved?|yes|as suggested|as you suggest(?:ed)?)",
    re.IGNORECASE,
)
_NUMBER: Final = re.compile(r"(?:^|(?<=[\s,;]))(?:#|q(?:uestion)?\s*)?(\d{1,2})\s*[:)=]\s*", re.IGNORECASE)
_PARTS: Final = re.compile(r"\s*(?:[;\n]|,\s|\.\s)\s*")
_WORD: Final = re.compile(r"\w{4,}")
_AGREED: Final = frozenset((*PHRASES["agree"], *PHRASES["approve"]))
_COMMON: Final = frozenset(
    "what when where which shall should must does with that this than then they have there how".split()
)


class ClarifiedAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The clarifications that one answer settles."""

    answers: Mapping[int, str] = {}
    """By the place of the question, from 0."""
    others_ok: bool = False
    """Everything else is approved, and counts as suggested."""


def match_clarifications(text: str, open_: Sequence[Clarification]) -> ClarifiedAnswer:
    """Match the parts of a text to the open clarifications."""
    listed = [f"{number}. {one.question} (suggested: {one.suggestion})" for number, one in enumerate(open_, start=1)]
    # `1: a; 2: b`: each number starts the answer to one question, up to the next number
    marks = list(_NUMBER.finditer(text))
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    parts, is_ok = _split_agreement(text[: marks[0].start()] if marks else text)
    answers: dict[int, str] = {}
    for mark, end in zip(marks, ends, strict=False):
        number = int(mark[1])
        if not 1 <= number <= len(open_):
            raise UnclearSentence(f"there is no question {number}; open are:", listed, code="answer.no_question")
        own, agrees = _split_agreement(text[mark.end() : end])
        is_ok = is_ok or agrees
        if own:
            answers[number - 1] = ", ".join(own)
    if parts and len(open_) == 1 and not answers:
        return ClarifiedAnswer(answers={0: ", ".join(parts)}, others_ok=is_ok)

    asked = [_words(one.question) for one in open_]
    for part in parts:
        # a word counts for a question only if no other question has it
        rare = [own - set().union(*asked[:at], *asked[at + 1 :]) for at, own in enumerate(asked)]
        places = [at for at, own in enumerate(rare) if _words(part) & own and at not in answers]
        if len(places) != 1:
            raise UnclearSentence(
                f"which question does '{part}' answer? Give its number, such as `1: {part}`:",
                listed,
                code="say.ambiguous",
            )
        answers[places[0]] = part
    return ClarifiedAnswer(answers=answers, others_ok=is_ok)


def clarification_note(found: ClarifiedAnswer, open_: Sequence[Clarification], more: str = "") -> str:
    """Format the note for the next agent: every question with its answer."""
    lines = ["Answers to the open questions:"] if open_ else []
    for place, one in enumerate(open_):
        suggested = f"As suggested: {one.suggestion}" if one.suggestion else "As you think best."
        lines.append(f"- {one.question} {found.answers.get(place) or suggested}")
    return "\n".join([*lines, *([more] if more else [])])


def _split_agreement(text: str) -> tuple[list[str], bool]:
    """Split an answer into parts, drop a last part that only approves the rest, and return whether there was one."""
    parts = [part for one in _PARTS.split(text) if (part := one.strip(" .!,;"))]
    if parts and (_OTHERS.fullmatch(parts[-1]) or parts[-1].lower() in _AGREED):
        return parts[:-1], True
    return parts, False


def _words(text: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(text)} - _COMMON
