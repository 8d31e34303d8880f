"""What a run asks people: the question whole, who led to it, the commands that answer it, and what was answered."""

import shlex
from collections.abc import Iterator, Sequence
from typing import Final, Literal

import msgspec

from treadle.kernel.events import Replied, TimerFired
from treadle.prompts.foreign import cut
from treadle.prompts.question import own_words
from treadle.views.activity import verdict, who_of
from treadle.views.chronicle import Chronicle
from treadle.views.moment import duration, moment, plain, seconds

LINES: Final = 40
LETTERS: Final = 4000
"""How much of a question is shown beside other things."""


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """One way to answer."""

    name: str
    help: str
    needs_note: bool
    """The note is the answer: there is none without."""

    @property
    def said(self) -> str:
        """The words of `treadle answer` that say it."""
        return shlex.quote(self.name) + (" --note …" if self.needs_note else "")


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """A question to a person."""

    id: str
    instance: str
    step: str
    title: str
    text: str
    """What is asked, as people read it; lines that begin with `>` quote others."""
    choices: tuple[Choice, ...]
    asked: str
    elapsed: float
    """Seconds since it was asked, until now or until it was settled."""
    by: str
    """The activity whose end led to it; empty if none did."""
    why: str
    """Who that was, and what came of it."""
    default: str
    """What is decided if nobody answers; empty: nothing is."""
    default_at: str


class Inquiry(msgspec.Struct, frozen=True, kw_only=True):
    """A question and what became of it: `treadle show --json` of a question."""

    schema: Literal[1] = 1
    run: str
    question: Asked
    settled: str
    """When it was; empty: it is open."""
    answer: str
    """Empty: none yet, or it was withdrawn before one came."""
    actor: str
    """Who answered; empty: nobody, or it is not known."""
    note: str
    """What was said with the answer."""


def asked(chronicle: Chronicle, id_: str, text: str, now: int) -> Asked:
    """A question of a run, open or not; `text` is its wording."""
    found = chronicle.asked[id_]
    command = found.command
    graph = chronicle.protocol.graphs.get(command.graph) if chronicle.protocol else None
    step = graph.steps.get(command.step) if graph else None
    title, helps = (step.title, step.choices) if step else own_words(command) if not command.graph else ("", {})
    notes = step.notes if step else ()
    deed = chronicle.deeds.get(found.by)
    return Asked(
        id=id_,
        instance=command.inst,
        step=command.step,
        title=title or f"{command.step} at {command.inst}",
        text=text,
        choices=tuple(Choice(name=it, help=helps.get(it, ""), needs_note=it in notes) for it in command.choices),
        asked=moment(found.began),
        elapsed=seconds(found.began, found.ended or now),
        by=found.by,
        why=f"{who_of(deed.command)}, {verdict(deed, chronicle.protocol)}" if deed else "",
        default=step.default if step and step.default_after else "",
        default_at=moment(chronicle.state.timers.get(f"{id_}!default", 0)),
    )


def inquiry(chronicle: Chronicle, question: Asked, note: str) -> Inquiry:
    """A question and its answer, which may have been given with a note."""
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


def told(run: str, question: Asked, *, alone: bool) -> Iterator[str]:
    """A question beside other things, line by line; `alone`: no other is open."""
    yield f"{run} asks: {question.title} ({duration(question.elapsed)} ago)"
    if question.by:
        yield f"  {question.by} led to it: {question.why}"
    yield from ("", *_bounded(run, question), "")
    yield from commands(run, question.id, question.choices, alone=alone)
    if question.default:
        yield f"  Without an answer, {question.default} is taken at {plain(question.default_at)}."


def commands(run: str, ask: str, choices: Sequence[Choice], *, alone: bool) -> Iterator[str]:
    """The exact commands that answer a question, with what each means."""
    which = "" if alone else f" {shlex.quote(place_of(ask))}"
    ways = [f"  treadle answer {shlex.quote(run)}{which} {choice.said}" for choice in choices]
    width = max(map(len, ways), default=0)
    for way, choice in zip(ways, choices, strict=True):
        yield f"{way:<{width}}  {choice.help}".rstrip()
    if not ask.startswith("run!"):  # the run itself asks, and no agent
        yield "  (--note TEXT goes to the next agent)"


def place_of(ask: str) -> str:
    """A question by instance and step alone: no instance asks twice at once at the same step."""
    return ask.partition("#")[0]


def _bounded(run: str, question: Asked) -> Iterator[str]:
    lines = cut(question.text.strip(), LETTERS).splitlines()
    yield from (f"  {line}".rstrip() for line in lines[:LINES])
    if len(lines) > LINES or len(question.text.strip()) > LETTERS:
        yield f"  … `treadle show {shlex.quote(run)} {shlex.quote(question.id)}` has all of it"
