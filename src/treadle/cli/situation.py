"""How a run stands, printed."""

import asyncio
import shlex
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import typer

from treadle.cli.output import console, harmless, is_terminal
from treadle.cli.question_page import wording
from treadle.cli.reading import Follower, driver
from treadle.cli.standing import in_hand
from treadle.config.project import Project
from treadle.engines.pinned import pinned
from treadle.engines.result import result_of
from treadle.engines.surroundings import checkout_of
from treadle.kernel.state import State
from treadle.runtime.story_files import StoryFiles
from treadle.store.sqlite import Store
from treadle.views.advice import told as told_advice
from treadle.views.asking import told as told_question
from treadle.views.branches import Branch
from treadle.views.counting import counted
from treadle.views.evidence_advice import advice
from treadle.views.moment import duration, plain
from treadle.views.outage import WORDS
from treadle.views.refusal import first_words, words_of
from treadle.views.result import is_good
from treadle.views.result import told as told_result
from treadle.views.status import Known, Startable, Status, status
from treadle.views.tree import tree
from treadle.views.used import price
from treadle.views.yours import told as told_work

_FILE: Final = "file"
"""What is noted of a file that somebody has changed."""
_NOTIFICATION: Final = "notification"
"""What is noted of people who could not be told."""
_EDITS: Final = 3
"""Of changes to files that were told before, the last ones are told again."""

if TYPE_CHECKING:
    from rich.console import RenderableType


def situation(project: Project, store: Store, found: Follower) -> Status:
    """How a run stands at this moment."""
    record = found.record
    known = Known(
        run=record.id,
        name=record.name,
        driver=driver(record),
        strays=sum(it.what not in (_FILE, _NOTIFICATION) for it in store.strays(record.id)),  # told for themselves
        untold=tuple(dict.fromkeys(it.detail for it in store.strays(record.id) if it.what == _NOTIFICATION)),
        edited=tuple(_edited(project, store, found)),
        yours=in_hand(project, record, found.chronicle.state),
        questions={
            ask: wording(project, store, found, ask)
            for ask in found.chronicle.state.asks
            if ask in found.chronicle.asked
        },
        outage=_said_of_outage(store, found.chronicle.state),
        advice=tuple(advice(found.chronicle.deeds.values(), store.payloads.get)),
        result=asyncio.run(result_of(project, record)),
        baseline=pinned(record).baseline,
    )
    return status(found.chronicle, known, time.time_ns() // 1_000_000)


def _edited(project: Project, store: Store, found: Follower) -> list[str]:
    """What somebody has made of the files that show the run: now, and the last times before that it moved on."""
    protocol, run = found.chronicle.protocol, found.record.id
    if protocol is None:
        return []
    files = StoryFiles(store, run, project.runs / run, checkout_of(project), project.local)
    before = [it.detail for it in store.strays(run) if it.what == _FILE]
    return [*dict.fromkeys(before[-_EDITS:]), *files.changed(protocol)]


def _said_of_outage(store: Store, state: State) -> str:
    """What an agent's program said about the last outage, in a line."""
    ref = state.outage.detail_ref if state.outage else ""
    return first_words(words_of(store.payloads.get(ref))) if ref else ""


def print_status(project: Project, store: Store, found: Follower) -> None:
    """As a drawn tree on a terminal, as lines elsewhere."""
    show(found, situation(project, store, found))


def show(found: Follower, now: Status) -> None:
    """How a run stands; what is to be copied is on one line, however long that is."""
    if is_terminal():
        console().print(picture(found, now))
        for line in below(now):
            typer.echo(line)
    else:
        for line in lines(now):
            typer.echo(line)


def picture(found: Follower, now: Status, room: int | None = None) -> "RenderableType":
    """The tree in a frame: whole, or a line for each of the foremost that there is room for."""
    from rich.panel import Panel
    from rich.text import Text

    from treadle.cli.stage import drawn

    chronicle = found.chronicle
    yours = [work.id for work in now.yours]
    shown = tree(chronicle.protocol, chronicle.state, yours) if chronicle.protocol else []
    details = {busy.instance: duration(busy.elapsed) for busy in now.activities}
    lines = len(shown) if room is None else max(room, 3)
    grid = drawn(shown, lines, details, wraps=room is None)
    return Panel(grid, title=Text(harmless(heading(now))), title_align="left")


def lines(now: Status) -> Iterator[str]:
    """The tree and what people can do, line by line."""
    yield harmless(heading(now))
    for branch in now.instances:
        yield from _branch(branch, 1)
    yield from below(now)


def heading(now: Status) -> str:
    """A run in one line."""
    condition = f"ended: {now.outcome}" if now.outcome else now.status
    protocol = now.protocol.name if now.protocol else "no protocol yet"
    return f"{now.run} · {protocol} · {condition} · {counted(now.events, 'event')} · {duration(now.elapsed)}"


def brief(now: Status) -> str:
    """How a run that goes on stands, and where to read what moves it."""
    asks = f"; `treadle status {shlex.quote(now.run)}` shows what it asks of you" if now.status == "asks" else ""
    return f"{heading(now)}{asks}; {_driven(now)}"


def _branch(branch: Branch, depth: int) -> Iterator[str]:
    space = "  " * depth
    if not branch.positions:
        yield f"{space}{branch.name}: {branch.text or branch.status} ({duration(branch.elapsed)})"
    for place, at in enumerate(branch.positions):
        name = branch.name if place == 0 else "┊"
        signal = f" on {at.signal}" if at.signal else ""
        since = f" ({duration(at.elapsed)})" if at.id else ""
        yield harmless(f"{space}{name}: {at.step}{signal} · {at.text}{since}")
    for child in branch.children:
        yield from _branch(child, depth + 1)


def below(now: Status) -> Iterator[str]:
    """What people can do, and who drives the run."""
    run = shlex.quote(now.run)
    for asked in now.questions:
        yield from map(harmless, told_question(now.run, asked, alone=len(now.questions) == 1))
    if now.outage and now.outage.until:
        words = f" ({now.outage.said})" if now.outage.said else ""
        yield harmless(f"an agent is held up: {WORDS[now.outage.why]}{words}; no attempt is lost")
        yield f"  it goes on by itself at {plain(now.outage.until)}; to try at once: treadle resume {run}"
    for start in now.starts:
        yield from map(harmless, _start(now, start))
    for work in now.yours:
        yield from map(harmless, told_work(now.run, work, alone=len(now.yours) == 1))
    yield from map(harmless, told_advice(now.run, now.advice))
    if now.result:
        yield from map(harmless, told_result(now.run, now.result, good=is_good(now.outcome)))
    yield from _used(now)
    if not now.outcome:
        yield _driven(now)


def _start(now: Status, start: Startable) -> Iterator[str]:
    """What waits for a person, and the command that starts it, also if nobody drives the run."""
    words = ["treadle", "go", now.run, start.step, *(["--at", start.instance] if len(now.starts) > 1 else [])]
    yield f"{start.step} of {start.instance} waits for your go{f': {start.title}' if start.title else ''}"
    yield f"  {shlex.join(words if now.driver else [*words, '--resume'])}"


def _driven(now: Status) -> str:
    """Who drives a run; if nobody does, how it goes on."""
    resume = f"`treadle resume {shlex.quote(now.run)}`"
    if now.driver:
        return f"driven by {now.driver}"
    if now.status == "paused":
        return f"paused; {resume} takes that back, and goes on"
    if now.status == "asks":
        return f"nobody drives it; once that is done, {resume} goes on if an agent is next"
    late = "".join(f", and the time of {it.id} was up at {plain(it.due)}" for it in now.activities if it.overdue)
    return f"nobody drives it{late}; {resume} goes on"


def _used(now: Status) -> Iterator[str]:
    used = now.usage
    if used.tokens_in or used.tokens_out or used.cost:
        yield f"used: {used.tokens_in:,} tokens in{_cached(now)}, {used.tokens_out:,} out{_limits(now)}"
    yield from (harmless(f"people could not be told: {why}") for why in now.untold)
    yield from map(harmless, now.edited)
    if now.strays:
        count = counted(now.strays, "answer or message", "answers or messages")
        yield f"not obeyed: {count}; `treadle evidence {shlex.quote(now.run)}` lists them"


def _cached(now: Status) -> str:
    return f" ({now.usage.cached:,} of the cache)" if now.usage.cached else ""


def _limits(now: Status) -> str:
    """The limit on tokens, and the cost with its own; 0 is no price if nobody knows one."""
    tokens = f" of {now.limits.tokens:,}" if now.limits and now.limits.tokens else ""
    cost = f" of {now.limits.cost:.2f}" if now.limits and now.limits.cost else ""
    return f"{tokens}, cost {price(now.usage.cost, now.usage.unpriced)}{cost}"
