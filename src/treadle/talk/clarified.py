"""An answer in words of one's own, held against what a review has left open: `30 seconds, others OK`.

An answer belongs to a question if it bears its number, if there is no other question, or if it has a word that only
this question has. What belongs to none, or to several, is asked about.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from treadle.prompts.clarifications import Clarification
from treadle.talk.intent import PHRASES, Unclear

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


class Clarified(msgspec.Struct, frozen=True, kw_only=True):
    """What an answer settles."""

    answers: Mapping[int, str] = {}
    """By the place of the question, from 0."""
    others_ok: bool = False
    """Everything else is approved, and counts as suggested."""


def clarified(text: str, open_: Sequence[Clarification]) -> Clarified | Unclear:
    """Which questions a text answers, and how."""
    before, numbered = _numbered(text)
    parts, is_ok = _without_agreement(before)
    answers: dict[int, str] = {}
    for number, said in numbered:
        if not 1 <= number <= len(open_):
            return Unclear(
                f"there is no question {number}; these are open:", tuple(_lines(open_)), code="answer.no_question"
            )
        own, agrees = _without_agreement(said)
        is_ok = is_ok or agrees
        if own:
            answers[number - 1] = ", ".join(own)
    if parts and len(open_) == 1 and not answers:
        return Clarified(answers={0: ", ".join(parts)}, others_ok=is_ok)
    for part in parts:
        places = [place for place in _alike(part, open_) if place not in answers]
        if len(places) != 1:
            return Unclear(
                f"which question does '{part}' answer? Say it with its number, such as `1: {part}`:",
                tuple(_lines(open_)),
                code="say.ambiguous",
            )
        answers[places[0]] = part
    return Clarified(answers=answers, others_ok=is_ok)


def noted(found: Clarified, open_: Sequence[Clarification], more: str = "") -> str:
    """The note for the next agent: every question with its answer."""
    lines = [_settled(one, found.answers.get(place, "")) for place, one in enumerate(open_)]
    return "\n".join([*(["Answers to the open questions:"] if lines else []), *lines, *([more] if more else [])])


def _settled(one: Clarification, answer: str) -> str:
    if answer:
        return f"- {one.question} {answer}"
    return (
        f"- {one.question} As suggested: {one.suggestion}" if one.suggestion else f"- {one.question} As you think best."
    )


def _numbered(text: str) -> tuple[str, list[tuple[int, str]]]:
    """`1: a; 2: b` as pairs, and what comes before the first number."""
    marks = list(_NUMBER.finditer(text))
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    pairs = [(int(mark[1]), text[mark.end() : end]) for mark, end in zip(marks, ends, strict=False)]
    return text[: marks[0].start()] if marks else text, pairs


def _without_agreement(text: str) -> tuple[list[str], bool]:
    """The parts of an answer, without the last one if it only says that the rest is fine; and whether it does."""
    parts = [part.strip(" .!,;") for part in _PARTS.split(text)]
    parts = [part for part in parts if part]
    if parts and (_OTHERS.fullmatch(parts[-1]) or parts[-1].lower() in _AGREED):
        return parts[:-1], True
    return parts, False


def _alike(part: str, open_: Sequence[Clarification]) -> list[int]:
    """The questions that share a word with an answer which no other question has."""
    words = _words(part)
    asked = [_words(one.question) for one in open_]
    return [
        place for place, own in enumerate(asked) if words & (own - set().union(*(asked[:place] + asked[place + 1 :])))
    ]


def _words(text: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(text)} - _COMMON


def _lines(open_: Sequence[Clarification]) -> list[str]:
    return [f"{number}. {one.question} (suggested: {one.suggestion})" for number, one in enumerate(open_, start=1)]
