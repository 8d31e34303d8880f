"""How a run stands, in the words of a message: what is at work, what a person is asked, what is next."""

import shlex
from collections.abc import Iterator, Sequence

import msgspec

from treadle.prompts.question import Question
from treadle.protocol.model import base_of
from treadle.talk.dispatched import Blocked, Dispatched, DispatchResult, Done, NeedsHuman
from treadle.talk.facts import Facts, story_of
from treadle.talk.meaning import ways_to_answer
from treadle.talk.progress import Story, named, told
from treadle.views.asking import place_of


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """A run, as messages tell of it."""

    project: str
    facts: Facts
    outcome: str = ""
    stories: tuple[Story, ...] = ()
    at_work: tuple[Dispatched, ...] = ()
    result: tuple[str, ...] = ()
    """Of a run that has ended: what was advised, where its result is, and how it is taken over."""


def result_of(standing: Standing) -> DispatchResult:
    """What a dispatch has come to."""
    waiting = standing.facts.waiting
    if standing.outcome:
        return Done("\n".join(_ended(standing)))
    if standing.at_work and not waiting.paused:
        return standing.at_work[0]
    if waiting.paused:
        return Blocked(f'{standing.project} is paused; say "continue {standing.project}"')
    if waiting.questions or waiting.gos or waiting.works:
        return NeedsHuman("\n".join(_needed(standing)))
    if waiting.outage:
        return Blocked(f"an agent is {waiting.outage}")
    return Blocked("a time is waited for" if waiting.due else "nothing can start at the moment")


def report(standing: Standing) -> str:
    """The message about how a run stands."""
    waiting = standing.facts.waiting
    if standing.outcome:
        return "\n".join(_ended(standing))
    lines = [f"{standing.project}: {_going(standing, it)}" for it in standing.facts.at_work]
    if waiting.paused:
        lines.append(f'{standing.project} is paused; say "continue {standing.project}" to go on')
    if waiting.outage and not waiting.questions:
        lines.append(f"{standing.project}: an agent is {waiting.outage}")
    lines += _needed(standing)
    return "\n".join(lines or [f"{standing.project}: {standing.facts.run} goes on"])


def status(standing: Standing) -> str:
    """How far the project is, and what it waits for."""
    how = report(standing)
    return "\n".join([how, *(told(standing.stories) if not standing.outcome else ())])


def farewell(standing: Standing) -> str:
    """What is said at the end of a day."""
    lines = [f"OK. {standing.project} progress:", *told(standing.stories)]
    working = standing.facts.at_work if standing.facts.driven else ()
    still = [f"{it} is still at work and may end; nothing new starts" for it in working]
    return "\n".join([*lines, *still, f'Say "continue {standing.project}" to resume.'])


def asked(question: Question, facts: Facts, stories: Sequence[Story] = ()) -> str:
    """A question as a message: what it is about, and what can be said to it."""
    inst, _, step = place_of(question.id).rpartition(":")
    name = facts.names.get(inst, "")
    later = [it for it in stories if it.id == name and it.where == "next"]
    if later and any(choice.name == "continue" for choice in question.choices):
        return f"Next is {named(later[0])}, continue?"
    lines = [f"{name or facts.run} needs you: {question.title or base_of(step)}", question.text.strip()]
    return "\n".join([*lines, "You can say:", *(f"  {line}" for line in ways_to_answer(question, facts))])


def _going(standing: Standing, work: str) -> str:
    """How it goes with what an agent is to do: nothing does where nobody drives the run, nor is its time looked at."""
    facts = standing.facts
    if facts.driven:
        return f"{work} is at work"
    since = facts.overdue.get(work)
    how = f"the time of {work} was up at {since}, and" if since else f"{work} waits, for"
    on = "" if facts.waiting.paused else f'; say "continue {standing.project}"'
    return f"{how} nobody drives {facts.run}{on}"


def _needed(standing: Standing) -> Iterator[str]:
    facts = standing.facts
    yield from (asked(one, facts, standing.stories) for one in facts.waiting.questions)
    begun = [go for go in facts.waiting.gos if go.inst not in facts.unbegun]
    teams = {go.inst: story_of(go.inst) for go in begun if story_of(go.inst) != go.inst}
    for go in begun:
        if go.inst not in teams:
            yield f"Next is {_next(standing.stories, facts.names.get(go.inst, ''), go.step, go.title)}, continue?"
    for story in dict.fromkeys(teams.values()):
        names = [facts.names.get(inst, inst).rpartition(" ")[2] for inst, own in teams.items() if own == story]
        tasks = f"the task {names[0]}" if len(names) == 1 else f"the tasks {', '.join(names)}"
        yield f"Next is {_called(standing.stories, facts.names.get(story, ''))}: {tasks} of its team, continue?"
    first = next((inst for inst in facts.unbegun if inst in [go.inst for go in facts.waiting.gos]), "")
    if first and not begun:
        yield f"Next is {_called(standing.stories, facts.names.get(first, ''))}, continue?"
    for work in facts.waiting.works:
        place = f"{facts.names.get(work.act.partition(':')[0], '')} {work.step}".strip()
        yield f"{place} is yours: `treadle show {work.run} {shlex.quote(work.act)} --prompt` says what is to be done;"
        yield f"  work in {work.lane}, and hand it in there with `treadle done`"


def _next(stories: Sequence[Story], name: str, step: str, title: str) -> str:
    called = _called(stories, name)
    what = f"{base_of(step)} ({title})" if title else base_of(step)
    return f"{called}: {what}" if called else what


def _called(stories: Sequence[Story], name: str) -> str:
    """A story with its title."""
    story = next((it for it in stories if it.id == name), None)
    return named(story) if story else name


def _ended(standing: Standing) -> Iterator[str]:
    yield f"{standing.project}: {standing.facts.run} has ended with {standing.outcome}"
    yield from told(standing.stories)
    yield from standing.result
