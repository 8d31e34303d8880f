"""Open questions of a run with their commands, and the work in people's hands."""

import shlex
from collections.abc import Iterator, Sequence
from typing import Final, Literal

import msgspec

from treadle.kernel.events import Replied, TimerFired
from treadle.prompts.agent_prompt import done_command
from treadle.prompts.foreign import cut
from treadle.prompts.question import Choice, question_without_text
from treadle.views.activity import verdict, who_of
from treadle.views.chronicle import Chronicle
from treadle.views.words import duration, moment, plain, seconds

LINES: Final = 40
LETTERS: Final = 4000
"""How much of a question is shown beside other things."""


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """A question to a person."""

    id: str
    instance: str
    step: str
    title: str
    text: str
    """The question for people; lines that begin with `>` quote others."""
    choices: tuple[Choice, ...]
    asked: str
    elapsed: float
    """Seconds since it was asked, until now or until it was settled."""
    by: str
    """The activity that led to the question when it ended; empty if none did."""
    why: str
    """The worker and the verdict of that activity."""
    default: str
    """The choice that counts without an answer; empty: none does."""
    default_at: str


class Inquiry(msgspec.Struct, frozen=True, kw_only=True):
    """A question and its answer: `treadle show --json` of a question."""

    schema: Literal[1] = 1
    run: str
    question: Asked
    settled: str
    """When it was; empty: it is open."""
    answer: str
    """Empty: none yet, or it was withdrawn before one came."""
    actor: str
    """The person that answered; empty: none did, or the name is unknown."""
    note: str
    """The note with the answer."""


def describe_question(chronicle: Chronicle, id_: str, text: str, now: int) -> Asked:
    """Return a question of a run, open or not; `text` is its wording."""
    found = chronicle.asked[id_]
    command = found.command
    question = question_without_text(chronicle.protocol, command)
    deed = chronicle.deeds.get(found.by)
    return Asked(
        id=id_,
        instance=command.inst,
        step=command.step,
        title=question.title,
        text=text,
        choices=question.choices,
        asked=moment(found.began),
        elapsed=seconds(found.began, found.ended or now),
        by=found.by,
        why=f"{who_of(deed.command)}, {verdict(deed, chronicle.protocol)}" if deed else "",
        default=question.default,
        default_at=moment(chronicle.state.timers.get(f"{id_}!default", 0)),
    )


def inquiry(chronicle: Chronicle, question: Asked, note: str) -> Inquiry:
    """Combine a question with its answer and note."""
    found = chronicle.asked[question.id]
    reply = found.settled if isinstance(found.settled, Replied) and found.settled.ask == question.id else None
    by_time = isinstance(found.settled, TimerFired) and found.settled.timer == f"{question.id}!default"
    return Inquiry(
        run=chronicle.state.run,
        question=question,
        settled=moment(found.ended),
        answer=reply.choice if reply else question.default if by_time else "",
        actor=reply.actor if reply else "",
        note=note,
    )


def question_lines(run: str, question: Asked, *, alone: bool, whole: bool = False) -> Iterator[str]:
    """Format a question, line by line. `alone`: no other is open.

    `whole`: it was put just now, so its text is not cut, and its origin was printed above.
    """
    yield f"{run} asks: {question.title}" + ("" if whole else f" ({duration(question.elapsed)} ago)")
    if question.by and not whole:
        yield f"  {question.by} led to it: {question.why}"
    text = question.text.strip()
    lines = text.splitlines() if whole else cut(text, LETTERS).splitlines()[:LINES]
    yield from ("", *(f"  {line}".rstrip() for line in lines))
    if not whole and (len(text) > LETTERS or len(text.splitlines()) > LINES):
        yield f"  … `treadle show {shlex.quote(run)} {shlex.quote(question.id)}` has all of it"
    yield ""
    yield from answer_commands(run, question.id, question.choices, alone=alone)
    if question.default:
        yield f"  Without an answer, {question.default} counts from {plain(question.default_at)} on."


def answer_commands(run: str, ask: str, choices: Sequence[Choice], *, alone: bool) -> Iterator[str]:
    """Yield the exact commands that answer a question, each with its meaning."""
    which = "" if alone else f" {shlex.quote(place_of(ask))}"
    ways = [
        f"  treadle answer {shlex.quote(run)}{which} {shlex.quote(it.name)}{' --note …' if it.needs_note else ''}"
        for it in choices
    ]
    width = max(map(len, ways), default=0)
    for way, choice in zip(ways, choices, strict=True):
        yield f"{way:<{width}}  {choice.help}".rstrip()
    if not ask.startswith("run!"):  # the run itself asks, and no agent
        yield "  (--note TEXT goes to the next agent)"


def place_of(ask: str) -> str:
    """Return a question by instance and step alone: no instance asks twice at once at the same step."""
    return ask.partition("#")[0]


# Work in a person's hands: the person is the agent, and no timeout applies.


class Way(msgspec.Struct, frozen=True, kw_only=True):
    """An exit by which you can end it, and the fields that you give with it."""

    exit: str
    fields: tuple[str, ...]
    optional: tuple[str, ...]
    """Fields that may be left out."""


class Yours(msgspec.Struct, frozen=True, kw_only=True):
    """A step with you as its agent."""

    id: str
    instance: str
    step: str
    attempt: int
    prompt: str
    """The file with the prompt."""
    lane: str
    """The folder to do it in."""
    exits: tuple[Way, ...]


def work_lines(run: str, work: Yours, *, alone: bool = True) -> Iterator[str]:
    """Format a person's work with the commands that print its prompt and hand it in; `alone`: the run has no other.

    Arguments in brackets are optional.
    """
    yield f"{work.step} of {work.instance} is yours: read {work.prompt},"
    yield f"  work in {work.lane}, then hand it in:"
    yield f"  treadle show {shlex.quote(run)} {shlex.quote(work.id)} --prompt"
    for way in work.exits:
        yield f"  {done_command(run, way.exit, way.fields, way.optional, '' if alone else work.id)}"
