"""Performs the sentences that people address to their projects, and replies as the commands do.

A sentence takes the way of a command: `Client` checks it against the run and posts an event to the run's inbox. So a
sentence that is repeated after a crash finds the run as it is then, and does nothing twice.
"""

import asyncio
from collections.abc import Callable
from typing import Literal, cast

import msgspec

from treadle.config.project import Project
from treadle.config.projects import Projects
from treadle.engines.client import Client
from treadle.engines.service import take_up
from treadle.engines.status import follow_run, read_status, status_of
from treadle.errors import TreadleError, UnclearSentence
from treadle.protocol.model import base_of
from treadle.store.records import Run, default_run
from treadle.store.sqlite import Store, opened_store
from treadle.talk.orders import RunFacts, SpokenCommand, facts_of, names_of, orders_for, ways_to_answer
from treadle.talk.phrases import SAYABLE, Sentence, parse_sentence
from treadle.views.run_status import rest_lines, status_lines

# The results of a dispatch: an agent works, the project is blocked, a person is needed, or all is done.


class Dispatched(msgspec.Struct, frozen=True, tag_field="type", tag="dispatched"):
    """An agent works, or is about to start."""

    step: str
    attempt: int
    story: str = ""


class Blocked(msgspec.Struct, frozen=True, tag_field="type", tag="blocked"):
    """A project in which nothing can start, and no answer would help: it is paused, in an outage, or waits for a
    timer.
    """

    reason: str


class NeedsHuman(msgspec.Struct, frozen=True, tag_field="type", tag="needs_human"):
    """Only a person can move it."""

    message: str


class DispatchDone(msgspec.Struct, frozen=True, tag_field="type", tag="done"):
    """The run has ended."""

    summary: str


DispatchResult = Dispatched | Blocked | NeedsHuman | DispatchDone


def standing_text(facts: RunFacts, *, whole: bool = False) -> str:
    """Format the status of a run, then the sentences that answer it: a chat has no command line."""
    now, ways = facts.now, ways_to_answer(facts)
    sentences = ("You can say:", *(f"  {way}" for way in ways)) if ways else ()
    return "\n".join([*(status_lines(now) if whole else rest_lines(now)), *sentences])


def result_of(facts: RunFacts) -> DispatchResult:
    """Return the result of a dispatch, as the run stands."""
    now, text = facts.now, standing_text(facts)
    if now.outcome:
        return DispatchDone(text)
    if now.paused:
        return Blocked(f"{now.run} is paused; `continue` resumes it")
    if facts.jobs:
        job = facts.jobs[0]
        return Dispatched(base_of(job.step), job.attempt, facts.names.get(job.inst, ""))
    return NeedsHuman(text) if now.questions or now.starts or now.yours else Blocked(text)


class SpokenReply(msgspec.Struct, frozen=True, kw_only=True):
    """The reply to a sentence."""

    text: str
    """The answer: the action taken, and the status of the run."""
    result: DispatchResult
    project: str = ""
    run: str = ""
    done: str = ""
    """The action taken, for a caller that drives the run on before it reports the status."""
    moved: bool = False
    """Whether a command was performed that moves the run."""
    ordered: bool = False
    """Whether the run was to go on, even if nothing could be done about that."""
    understood: bool = True
    code: str = ""
    """Why nothing was done; empty if something could be."""

    @property
    def document(self) -> "Heard":
        """The reply for programs."""
        return Heard(
            project=self.project,
            run=self.run,
            understood=self.understood,
            code=self.code,
            text=self.text,
            result=self.result,
        )


class Heard(msgspec.Struct, frozen=True, kw_only=True):
    """The reply to a sentence: `treadle say --json`."""

    schema: Literal[1] = 1
    project: str
    run: str
    understood: bool
    """Whether anything could be done about it; if not, nothing was."""
    code: str
    """Why nothing could be done about it (see [Codes](codes.md)); else empty."""
    text: str
    """The reply for a person."""
    result: DispatchResult
    """The state of the dispatch: an agent is at work, the project is blocked, a person is needed, or all is done."""


Settle = Callable[[Project, Store, str], None]
"""Gets the events posted for a run processed."""


def take_up_here(project: Project, store: Store, run: str) -> None:
    """Process posted events: by the running driver, or in this process as far as no agent is needed."""
    asyncio.run(take_up(project, store, run))


class Speaker:
    """The interpreter of one person's sentences; `here` is the project of a sentence that names none."""

    def __init__(
        self, projects: Projects, here: Project | None = None, actor: str = "", settle: Settle = take_up_here
    ) -> None:
        self._projects, self._here, self._actor, self._settle = projects, here, actor, settle

    def hear(self, message: str) -> SpokenReply:
        """Act on a sentence; an unclear sentence changes nothing."""
        try:
            sentence = self._parse(message)
            if sentence.action == "help":
                return SpokenReply(text="\n".join(["You can say:", *SAYABLE]), result=NeedsHuman("help"))
            names = self._projects.distinct()
            is_placed = sentence.project or sentence.target or self._here or len(names) < 2
            if sentence.action == "status" and not is_placed:
                texts = [f"{name}:\n{self._status(self._projects.project(name))}" for name in names]
                return SpokenReply(text="\n\n".join(texts), result=NeedsHuman("say which project"))
            project = self._project_of(sentence)
        except UnclearSentence as error:
            return _refusal(error)
        with opened_store(project) as store:
            return self._act(project, store, sentence)

    def _parse(self, message: str) -> Sentence:
        """Parse a sentence, with the names of projects, runs and stories known here."""
        targets: list[str] = []
        if self._here and self._here.store.exists():
            with opened_store(self._here) as store:
                for run in _unended(store):
                    targets += [run.id, *filter(None, names_of(store.load(run.id).state).values())]
        return parse_sentence(message, tuple(self._projects.all()), tuple(dict.fromkeys(targets)))

    def _project_of(self, sentence: Sentence) -> Project:
        """Return the project of a sentence: the named one, the current one, or the only one registered."""
        known, target = self._projects.distinct(), sentence.target
        if sentence.project:
            return self._projects.project(sentence.project)
        if self._here:
            return self._here
        if len(known) == 1:
            return self._projects.project(known[0])
        if not known:
            raise UnclearSentence(
                "this folder is not in a project, and none is registered; run `treadle projects add` in a project",
                code="project.missing",
            )
        if meant := [name for name in known if target and target.lower() in name.lower()]:
            listed = tuple(f"{name}: {sentence.action}" for name in meant)
            raise UnclearSentence(f"'{target[:60]}' could be {', '.join(meant)}:", listed, code="say.ambiguous")
        which = f"there is no project '{target[:60]}' here; name one:" if target else "name a project:"
        words = sentence.text or f"{sentence.action} {target}".strip()
        raise UnclearSentence(which, tuple(f"{name}: {words}" for name in known), code="say.ambiguous")

    def _act(self, project: Project, store: Store, sentence: Sentence) -> SpokenReply:
        name, unended = self._projects.name_of(project), _unended(store)
        if sentence.action == "status" and len(unended) > 1 and not sentence.target:
            result = result_of(read_facts(project, store, unended[0].id))
            return SpokenReply(text=self._status(project), result=result, project=name)
        try:
            run = _run_of(project, store, sentence)
        except UnclearSentence as error:
            return _refusal(error)
        try:
            orders = _orders_for_run(project, store, run, sentence)
        except UnclearSentence as error:
            return _refusal(error, project=name, run=run.id)

        client = Client(project, store, self._actor)
        sentences = [words for order in orders if (words := _perform(client, run.id, order))]
        if sentences:
            self._settle(project, store, run.id)
        moved = orders[0].command not in ("status", "note")
        facts = read_facts(project, store, run.id)
        return SpokenReply(
            text="\n".join([*sentences, standing_text(facts, whole=sentence.action in ("status", "stop"))]),
            result=result_of(facts),
            project=name,
            run=run.id,
            done="\n".join(sentences),
            moved=moved,
            ordered=moved or sentence.action == "continue",
        )

    def _status(self, project: Project) -> str:
        """Format the status of all unfinished runs of a project, or of its latest run."""
        if not project.store.exists():
            return "no runs yet"
        with opened_store(project) as store:
            runs = _unended(store) or [_latest(project, store)]
            return "\n\n".join("\n".join(status_lines(read_status(project, store, run.id))) for run in runs)


def _orders_for_run(project: Project, store: Store, run: Run, sentence: Sentence) -> tuple[SpokenCommand, ...]:
    if not run.outcome:
        return orders_for(sentence, read_facts(project, store, run.id))
    if sentence.action not in ("status", "continue", "stop"):
        raise UnclearSentence(f"{run.id} has ended with {run.outcome}, so nothing waits for that", code="run.ended")
    return (SpokenCommand(command="status"),)


def _perform(client: Client, run: str, order: SpokenCommand) -> str:
    """Perform one command, and return the sentence that the command line prints about it; empty for `status`."""
    match order.command:
        case "answer":
            return f"{client.answer(run, order.choice, ask=order.ask, note=order.note).title}: {order.choice}"
        case "go":
            return f"{client.go(run, order.step, at=order.at)} may start"
        case "resume":
            client.resume(run)
            return f"{run} goes on"
        case "pause":
            client.pause(run)
            return f"asked {run} to pause"
        case "level":
            client.level(run, cast("Literal[0, 1, 2]", order.level))
            return f"{run} continues at level {order.level}"
        case "note":
            client.note(run, order.note, at=order.at)
            return f"the next agent of {order.at} reads your note"
        case "abort":
            client.abort(run, at=order.at)
            return f"asked {order.at} of {run} to abort"
        case "status":
            return ""


def _run_of(project: Project, store: Store, sentence: Sentence) -> Run:
    """Return the run of a sentence: the named one, the only open one, or without open runs the latest, to look at."""
    unended, target = _unended(store), sentence.target.lower()
    if named := [run for run in store.runs() if run.id.lower() == target]:
        return named[0]
    if len(unended) < 2:
        return unended[0] if unended else _latest(project, store)
    holding = [
        run for run in unended if target and target in map(str.lower, names_of(store.load(run.id).state).values())
    ]
    if len(holding) == 1:
        return holding[0]
    raise UnclearSentence(
        "several runs are unfinished; name one:",
        tuple(f"{sentence.action} {run.id}" for run in unended),
        code="run.ambiguous",
    )


def read_facts(project: Project, store: Store, run: str) -> RunFacts:
    """Read the status of a run, and the other facts that the next sentence about it depends on."""
    found = follow_run(store, run)
    return facts_of(status_of(project, store, found), found.chronicle.state, store.payloads)


def _unended(store: Store) -> list[Run]:
    return [run for run in store.runs() if not run.outcome]


def _latest(project: Project, store: Store) -> Run:
    """Return the latest unfinished run, or else the latest one."""
    found = default_run(store.runs())
    if found is None:
        raise TreadleError(f"{project.root} has no runs yet; `treadle run SPEC` starts one", code="run.none")
    return found


def _refusal(error: UnclearSentence, project: str = "", run: str = "") -> SpokenReply:
    return SpokenReply(
        text=str(error), result=NeedsHuman(str(error)), project=project, run=run, understood=False, code=error.code
    )
