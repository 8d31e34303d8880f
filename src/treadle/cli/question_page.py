"""A question of a run on a page: its wording whole, and its answer or the commands that give one."""

import time
from collections.abc import Iterator

from treadle.cli.activity_page import section
from treadle.cli.output import harmless
from treadle.cli.reading import Follower
from treadle.config.project import Project
from treadle.engines.pinned import pinned
from treadle.engines.surroundings import toolchain_texts
from treadle.errors import TreadleError
from treadle.kernel.events import Replied
from treadle.prompts.question import question
from treadle.store.sqlite import Store
from treadle.views.asking import Inquiry, asked, commands, inquiry
from treadle.views.moment import duration, plain


def wording(project: Project, store: Store, found: Follower, ask: str) -> str:
    """What a question says, as it was put; if that cannot be read any more, why."""
    put = found.chronicle.asked[ask]
    try:
        texts = toolchain_texts(pinned(found.record).config.toolchain, project.root)
        return question(store.protocol(put.state.protocol), put.state, put.command, store.payloads, texts).text
    except TreadleError as error:
        return f"(what it says cannot be read: {error})"


def read_inquiry(project: Project, store: Store, found: Follower, ask: str) -> Inquiry:
    """A question of a run, and what became of it."""
    put = asked(found.chronicle, ask, wording(project, store, found, ask), time.time_ns() // 1_000_000)
    reply = found.chronicle.asked[ask].settled
    note = store.payloads.get(reply.note_ref) if isinstance(reply, Replied) and reply.note_ref else ""
    return inquiry(found.chronicle, put, note if isinstance(note, str) else "")


def question_page(told: Inquiry) -> Iterator[str]:
    """The sections of the page, line by line."""
    put = told.question
    state = "open" if not told.settled else f"answered: {told.answer}" if told.answer else "withdrawn"
    yield harmless(f"{put.id} · {put.title} · {state}")
    ended = f", settled {plain(told.settled)}" if told.settled else ""
    yield f"asked {plain(put.asked)}, {duration(put.elapsed)}{ended}"
    if put.by:
        yield harmless(f"{put.by} led to it: {put.why}")
    yield from section("Question", put.text)
    if not told.settled:
        yield from section("To answer", "\n".join(commands(told.run, put.id, put.choices, alone=False)))
    elif told.answer:
        by = f", by {told.actor}" if told.actor else ""
        yield from section("Answer", f"{told.answer}{by}" + (f"\n{told.note}" if told.note else ""))
