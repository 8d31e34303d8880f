"""Reads the status of a run from the store, the run's folder and the repository, without a lease.

Every surface uses it: `status`, `runs`, the end of commands that move a run, `say` and the address for chat bots.
"""

import asyncio
import time
from collections.abc import Iterator
from typing import Final

from treadle.agents.contract import activity_of
from treadle.config.project import Project
from treadle.engines.evidence import stored_evidence
from treadle.engines.result import result_of
from treadle.engines.run_settings import settings_of
from treadle.engines.surroundings import checkout_of, toolchain_texts
from treadle.engines.waits import jobs_of_people, next_due, running_agents, works_in_hand
from treadle.errors import TreadleError
from treadle.kernel.replay import Move
from treadle.kernel.state import State
from treadle.ports import Work
from treadle.prompts.question import question
from treadle.protocol.model import exit_name
from treadle.results.exits import read_exits
from treadle.runtime.story_files import StoryFiles
from treadle.runtime.view_files import GrowingLog
from treadle.store.leases import is_alive, parse_owner
from treadle.store.records import Run
from treadle.store.sqlite import Store
from treadle.views.evidence_records import advice_of
from treadle.views.questions import Way, Yours
from treadle.views.run_status import RunStatus, run_status
from treadle.views.status import StatusInputs
from treadle.views.words import first_words, report_words

_GLANCE: Final = 0.2
"""Seconds between two looks at a run that is followed."""
_PATIENCE: Final = 1.0
"""Seconds without a driver before a run counts as undriven: there is a short gap when one driver replaces another."""
_FILE: Final = "file"
"""The kind of a stray note about a file that a person has edited."""
_NOTIFICATION: Final = "notification"
"""The kind of a stray note about a notification that failed."""
_EDITS: Final = 3
"""The number of earlier file edits that the status repeats."""


def describe_driver(run: Run) -> str:
    """Name the process that drives a run; empty if there is none."""
    owner = parse_owner(run.owner)
    alive = is_alive(owner) if owner else False
    if owner is None or alive is False:
        return ""
    return f"process {owner.pid}" + ("" if alive else f" on {owner.host}")


class RunFollower:
    """A run's log as it grows."""

    def __init__(self, store: Store, run: Run) -> None:
        self.chronicle = GrowingLog(store, run.id)

    @property
    def record(self) -> Run:
        return self.chronicle.record

    def catch_up(self) -> Iterator[Move]:
        """Yield the events since the last call."""
        return self.chronicle.moves()

    def follow(self) -> Iterator[Move | None]:
        """Yield events until the run ends or has no driver; yield None after each batch."""
        seen = time.monotonic()
        while True:
            yield from self.catch_up()
            yield None
            if self.record.outcome:
                return
            if describe_driver(self.record):
                seen = time.monotonic()
            elif time.monotonic() - seen > _PATIENCE:
                return
            time.sleep(_GLANCE)


def follow_run(store: Store, run: str) -> RunFollower:
    """Return a run with its whole history so far."""
    follower = RunFollower(store, store.run(run))
    follower.chronicle.catch_up()
    return follower


def read_status(project: Project, store: Store, run: str) -> RunStatus:
    """Read the current status of a run."""
    return status_of(project, store, follow_run(store, run))


def status_of(project: Project, store: Store, follower: RunFollower) -> RunStatus:
    """Build the status of a run from its log; the status of an ended run has its evidence, too."""
    chronicle, record = follower.chronicle, follower.record
    state, settings = chronicle.state, settings_of(record)
    strays = store.strays(record.id)

    edited: list[str] = []
    if chronicle.protocol:
        log = GrowingLog(store, record.id)  # of its own: the follower may be in the middle of a batch of events
        files = StoryFiles(log, project.runs / record.id, checkout_of(project), project.local)
        before = [it.detail for it in strays if it.what == _FILE]
        edited = [*dict.fromkeys(before[-_EDITS:]), *files.changed(chronicle.protocol)]
    outage_ref = state.outage.detail_ref if state.outage else ""
    asked = [ask for ask in state.asks if ask in chronicle.asked]
    known = StatusInputs(
        run=record.id,
        name=record.name,
        driver=describe_driver(record),
        strays=sum(it.what not in (_FILE, _NOTIFICATION) for it in strays),  # these two have lines of their own
        untold=tuple(dict.fromkeys(it.detail for it in strays if it.what == _NOTIFICATION)),
        edited=tuple(edited),
        yours=list_work_in_hand(project, record, state),
        wordings={ask: read_wording(project, store, follower, ask) for ask in asked},
        outage_message=first_words(report_words(store.payloads.get(outage_ref))) if outage_ref else "",
        advice=tuple(advice_of(chronicle.deeds.values(), store.payloads.get)),
        result=asyncio.run(result_of(project, record)),
        baseline=settings.baseline,
    )
    people = jobs_of_people(state, settings)
    return run_status(
        chronicle,
        known,
        time.time_ns() // 1_000_000,
        agents=tuple(id_ for id_ in running_agents(state) if id_ not in people),
        due=next_due(state, people),
        evidence=asyncio.run(stored_evidence(project, store, record.id)) if record.outcome else None,
    )


def read_wording(project: Project, store: Store, follower: RunFollower, ask: str) -> str:
    """Return the text of a question as it was asked, or the reason why it cannot be read."""
    put = follower.chronicle.asked[ask]
    try:
        texts = toolchain_texts(settings_of(follower.record).config.toolchain, project.root)
        return question(store.protocol(put.state.protocol), put.state, put.command, store.payloads, texts).text
    except TreadleError as error:
        return f"(its text cannot be read: {error})"


def list_work_in_hand(project: Project, run: Run, state: State) -> tuple[Yours, ...]:
    """List the open work of people who act as agents of a run."""
    if not state.acts:
        return ()
    return tuple(map(_describe_work, works_in_hand(state, settings_of(run), project.runs / run.id)))


def _describe_work(work: Work) -> Yours:
    """Convert a person's work; without exits if its bundle cannot be read."""
    try:
        step_exits = read_exits(work.bundle)
        exits = [
            Way(
                exit=exit_name(step_exits.protocol, it),
                fields=step_exits.required(it),
                optional=step_exits.optional(it),
            )
            for it in step_exits.exits
        ]
    except TreadleError:
        exits = []
    return Yours(
        id=work.act,
        instance=activity_of(work).instance,
        step=work.step,
        attempt=work.attempt,
        prompt=str(work.bundle / "prompt.md"),
        lane=str(work.lane),
        exits=tuple(exits),
    )
