"""An agent ends: what it says about its step is handed in, checked like every other answer, and the run goes on."""

import asyncio
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from treadle.cli.activity_page import read_story, why
from treadle.cli.driving import standing
from treadle.cli.reading import read_run
from treadle.config.project import Project
from treadle.engines.client import login_name
from treadle.engines.pinned import pinned
from treadle.engines.taking_up import take_up
from treadle.engines.waiting import is_handed_out, works_in_hand
from treadle.errors import TreadleError
from treadle.hooks.belonging import Mine, note
from treadle.hooks.call import Call
from treadle.hooks.reply import MAY_END, NOTHING, Reply, hold
from treadle.ports import Work
from treadle.protocol.answers.answer import Claim
from treadle.protocol.exit_name import exit_name
from treadle.protocol.model import base_of
from treadle.results.assignment import Assignment
from treadle.results.emit import Via
from treadle.results.executor_result import FILE as RESULT
from treadle.results.exits import read_exits
from treadle.results.faulty import Faulty
from treadle.results.prepare import Before, kept
from treadle.results.read import Reading, read
from treadle.results.ways import Ways, exit_object
from treadle.store.sqlite import Store
from treadle.views.exit_words import exit_words

_ROUNDS: Final = 50
"""How often a driver is waited for that checks what was handed in, ten seconds each: less than a hook may take."""


_GLANCE: Final = 0.05
_PATIENCE: Final = 30.0


class _Answer(NamedTuple):
    """What an agent has said about a step, as far as it has."""

    mine: Mine
    ways: Ways
    reading: Reading

    @property
    def is_there(self) -> bool:
        return bool(self.reading.channel or self.reading.warnings)


def ended(project: Project, store: Store, call: Call, mine: Sequence[Mine], *, legacy: bool) -> Reply:
    """Hand in what an agent has left, or tell it what is missing; of several steps, the first that it has answered."""
    answers = [_answer(call, one, legacy=legacy) for one in mine]
    said = next((one for one in answers if one.is_there), None)
    if said is None:
        owed = next((one for one in answers if one.mine.is_owed), None)
        is_helper = call.event == "SubagentStop"
        return NOTHING if owed is None or is_helper else _hold(call, owed, [_unsaid(owed)])
    claim, channel = said.reading.claim, said.reading.channel
    if claim is None or not channel:
        return _hold(call, said, [*said.reading.problems, *said.reading.warnings])
    return _handed_in(project, store, call, said, claim, channel)


def _answer(call: Call, mine: Mine, *, legacy: bool) -> _Answer:
    ways = read_exits(mine.work.bundle)
    final = call.last if call.event == "Stop" and mine.is_owed else ""  # else it may be about another step
    return _Answer(mine, ways, asyncio.run(_read(mine.work, ways, final, legacy=legacy)))


async def _read(work: Work, ways: Ways, final: str, *, legacy: bool) -> Reading:
    before = await kept(work.home) or Before()
    return await read(work, ways, before, final, legacy=legacy)


def _hold(call: Call, said: _Answer, problems: Sequence[str]) -> Reply:
    work = said.mine.work
    note(call, work)
    lines = [
        f"{_step(work)} has not ended [hook.not_ended]:",
        *(f"- {line}" for line in problems),
        *_form(work, said.ways),
    ]
    return hold("\n".join(lines), is_again=call.is_again)


def _handed_in(project: Project, store: Store, call: Call, said: _Answer, claim: Claim, channel: Via) -> Reply:
    work = said.mine.work
    task = Assignment(
        act=work.act, token=work.token, retry=work.retry, bundle=work.bundle, out=work.out, ways=said.ways
    )  # fmt: skip
    given = {name: value for name, value in claim.fields.items() if value is not None}
    asked = said.ways.fields(claim.exit)
    answer = exit_object(claim.exit, {name: value for name, value in given.items() if name in asked})
    by = f"{login_name()} with {call.mate}" if call.mate else login_name()
    found = task.hand_in(answer, channel, by)
    if isinstance(found, Faulty):
        if work.act not in store.load(work.run).state.acts:
            return NOTHING  # somebody else was faster
        if not task.is_taken:  # else somebody else was faster, too, and its checks are still to come
            return _hold(call, said, found.problems)
    if not asyncio.run(_taken(project, store, work)):
        return Reply(
            MAY_END, f"{_step(work)}: {exit_words(said.ways.protocol, claim.key)} is handed in and still being checked"
        )
    return _judged(project, store, call, work, exit_words(said.ways.protocol, claim.key))


async def _taken(project: Project, store: Store, work: Work) -> bool:
    """Whether what was handed in has been checked, by whoever drives the run, or by this process."""
    for _ in range(_ROUNDS):
        taken = await take_up(project, store, work.run, lambda state: work.act in state.acts)
        if work.act not in taken.state.acts:
            await _handed_out(project, store, work.run)
            return True
        if not taken.by:
            return False
    return False


async def _handed_out(project: Project, store: Store, run: str) -> None:
    """Wait until whoever drives the run has handed out what comes next, or for as long as anybody would."""
    for _ in range(int(_PATIENCE / _GLANCE)):
        if is_handed_out(store.load(run).state, pinned(store.run(run)), project.runs / run):
            return
        await asyncio.sleep(_GLANCE)


def _judged(project: Project, store: Store, call: Call, work: Work, claimed: str) -> Reply:
    found = read_run(store, work.run)
    refused = list(why(read_story(project, store, found, work.act)))
    if not refused:
        stands = "\n".join(standing(project, store, work.run).lines())
        return Reply(MAY_END, f"{_step(work)} is accepted: {claimed}\n{stands}")
    state, run = found.chronicle.state, found.record
    again = [it for it in works_in_hand(state, pinned(run), project.runs / run.id) if _is_next(it, work)]
    if not again:
        stands = "\n".join(standing(project, store, work.run).lines())
        return Reply(MAY_END, "\n".join([*refused, stands]))
    note(call, again[0])
    return hold("\n".join([*refused, *_next(again[0])]), is_again=call.is_again)


def _is_next(work: Work, before: Work) -> bool:
    return (work.step, work.lane) == (before.step, before.lane) and work.act != before.act


def _next(work: Work) -> Iterator[str]:
    yield f"Go on: this is attempt {work.attempt} now. What it finds, and what is asked, stands in"
    yield f"  {work.bundle / 'prompt.md'}"
    yield f"Work in {work.lane}, then say again how the step ended."
    try:
        yield from _form(work, read_exits(work.bundle))
    except TreadleError:
        return


def _unsaid(said: _Answer) -> str:
    return f"nothing in {said.mine.work.lane} says how"


def _form(work: Work, ways: Ways) -> Iterator[str]:
    """How a step is answered by hand."""
    words = [exit_name(ways.protocol, name) for name in ways.exits]
    yield f"Write {work.lane / RESULT}:"
    yield f"  status: {' | '.join(dict.fromkeys(words))}"
    yield "  reason: null"
    yield "  summary: one sentence"
    yield (
        f"(or .ai/HANDOFF.md with these in its front matter, `step: {base_of(work.step)}` and "
        f"`attempt: {work.attempt}`); {work.bundle / 'prompt.md'} says what each needs. "
        "If you wait for a person, say so and stop."
    )


def _step(work: Work) -> str:
    return f"{work.step} of {work.run} (attempt {work.attempt})"
