"""Does what people say to their projects, and tells them how things stand then.

Everything goes the way of the commands: what moves a run is an event in its inbox, held against the run before.
"""

import asyncio
from collections.abc import Callable

import msgspec

from treadle.config.project import Project
from treadle.config.projects import Projects
from treadle.engines.advised import advised
from treadle.engines.client import Client
from treadle.engines.driving import driver_of
from treadle.engines.opening import opened_store
from treadle.engines.result import result_of as where_it_is
from treadle.engines.taking_up import take_up
from treadle.errors import TreadleError
from treadle.kernel.state import State
from treadle.protocol.model import base_of
from treadle.store.records import Run, foremost
from treadle.store.sqlite import Store
from treadle.talk.dispatched import Dispatched, DispatchResult, NeedsHuman
from treadle.talk.facts import Facts, at_work, jobs, names_of, overdue, unbegun
from treadle.talk.grammar import Vocabulary, parse
from treadle.talk.intent import SAYABLE, Intent, Unclear
from treadle.talk.meaning import Abort, Answer, Deed, Drive, Level, Look, Stop, meaning, not_understood
from treadle.talk.performing import perform
from treadle.talk.progress import stories
from treadle.talk.report import Standing, farewell, report, result_of, status
from treadle.views.advice import told as told_advice
from treadle.views.result import is_good, told


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody is told who has said something."""

    text: str
    result: DispatchResult
    project: str = ""
    run: str = ""
    moved: bool = False
    """Something was done about it."""
    ordered: bool = False
    """The run was to go on, whether or not anything could be done about that."""
    understood: bool = True
    code: str = ""
    """Why nothing was done about it; empty if something could be."""


Settle = Callable[[Project, Store, str], None]
"""Sees that what was posted for a run is taken up."""


Drives = Callable[[Project], bool]


def nobody_drives(_project: Project) -> bool:
    """Whoever speaks only speaks."""
    return False


def taken_up(project: Project, store: Store, run: str) -> None:
    """By whoever drives the run, or by this process, as far as no agent is needed."""
    asyncio.run(take_up(project, store, run))


class Speaker:
    """Somebody who speaks to projects; `here` is the one that is meant if none is named.

    `drives`: whether whoever speaks drives the runs of a project already; `goes_on`: does so with what was moved.
    """

    def __init__(
        self,
        projects: Projects,
        here: Project | None = None,
        actor: str = "",
        settle: Settle = taken_up,
        *,
        drives: Drives = nobody_drives,
        goes_on: bool = False,
    ) -> None:
        self._projects, self._here, self._actor, self.settle = projects, here, actor, settle
        self._drives, self._goes_on = drives, goes_on

    def hear(self, message: str) -> Said:
        """Act on a sentence; one that is not clear changes nothing."""
        intent = self.parse(message)
        return _unclear(intent) if isinstance(intent, Unclear) else self.act(intent)

    def act(self, intent: Intent) -> Said:
        """Do what somebody wants, if it is clear what that is about."""
        if intent.action == "help":
            return Said(text="\n".join(["What can be said:", *SAYABLE]), result=NeedsHuman("help"))
        project = self.project_of(intent)
        if isinstance(project, Unclear):
            return self._all() if intent.action == "status" and not intent.project else _unclear(project)
        return self._in(project, intent)

    def parse(self, message: str) -> Intent | Unclear:
        """What a sentence asks for, with the names that can be meant here."""
        targets: list[str] = []
        if self._here and self._here.store.exists():
            with opened_store(self._here) as store:
                for run in _unended(store):
                    targets += [run.id, *(name for name in names_of(store.load(run.id).state).values() if name)]
        return parse(message, Vocabulary(projects=tuple(self._projects.all()), targets=tuple(dict.fromkeys(targets))))

    def understand(self, message: str) -> Intent | Unclear:
        """What a sentence asks for; words of one's own are an answer only if something that is open takes them."""
        intent = self.parse(message)
        if isinstance(intent, Unclear) or intent.action != "answer":
            return intent
        project = self.project_of(intent)
        if isinstance(project, Unclear):
            return project
        found: list[Deed | Unclear] = []
        if project.store.exists():
            with opened_store(project) as store:
                found = [meaning(intent, self._standing(project, store, run).facts) for run in _unended(store)]
        if any(not isinstance(deed, Unclear) for deed in found):
            return intent
        return next((deed for deed in found if isinstance(deed, Unclear)), not_understood(intent))

    def project_of(self, intent: Intent) -> Project | Unclear:
        """The project that is meant: by its name, or the only one that it can be."""
        known = self._projects.distinct()
        if intent.project:
            return self._projects.project(intent.project)
        if self._here:
            return self._here
        if len(known) == 1:
            return self._projects.project(known[0])
        if not known:
            return Unclear(
                "this is no project, and none is registered; `treadle projects add` in its folder does that",
                code="project.missing",
            )
        target, text = intent.param("target"), intent.param("text")
        if meant := [name for name in known if target and target.lower() in name.lower()]:
            could = f"'{target[:60]}' could be {', '.join(meant)}; say which:"
            return Unclear(could, tuple(f"{name}: {intent.action}" for name in meant), code="say.ambiguous")
        which = f"there is no project '{target[:60]}' here; say which project:" if target else "say which project:"
        said = text or f"{intent.action} {target}".strip()
        return Unclear(which, tuple(f"{name}: {said}" for name in known), code="say.ambiguous")

    def standing(self, project: Project, run: str = "") -> Standing:
        """How a run of a project stands; the latest if none is named."""
        with opened_store(project) as store:
            return self._standing(project, store, store.run(run) if run else _latest(project, store))

    def _all(self) -> Said:
        """How every project stands."""
        found = [self._projects.project(name) for name in self._projects.distinct()]
        told = [
            f"{self._name(project)}:\n{status(self.standing(project))}"
            if project.store.exists()
            else f"{self._name(project)}: no runs yet"
            for project in found
        ]
        return Said(text="\n\n".join(told), result=NeedsHuman("say which project"))

    def _in(self, project: Project, intent: Intent) -> Said:
        with opened_store(project) as store:
            open_ = _unended(store)
            if intent.action == "status" and len(open_) > 1 and not intent.param("target"):
                stands = [self._standing(project, store, run) for run in open_]
                text = "\n\n".join(f"{it.facts.run}:\n{status(it)}" for it in stands)
                return Said(text=text, result=result_of(stands[0]), project=self._name(project))
            run = _run_of(project, store, intent)
            if isinstance(run, Unclear):
                return _unclear(run)
            before = self._standing(project, store, run)
            deed = meaning(intent, before.facts) if not run.outcome else _after_its_end(run, intent)
            if isinstance(deed, Unclear):
                return msgspec.structs.replace(_unclear(deed), project=before.project, run=run.id)
            return self._done(project, store, before, intent, deed)

    def _done(self, project: Project, store: Store, before: Standing, intent: Intent, deed: Deed) -> Said:
        run = before.facts.run
        client = Client(project, store, self._actor)
        posted = perform(client, run, deed)
        if posted:
            self.settle(project, store, run)
        after = self._standing(project, store, store.run(run), goes_on=self._goes_on and not isinstance(deed, Look))
        moved = posted or isinstance(deed, Drive)
        return Said(
            text=_told(deed, before, after, intent),
            result=result_of(after),
            project=after.project,
            run=run,
            moved=moved,
            ordered=moved or intent.action == "continue",
        )

    def _standing(self, project: Project, store: Store, run: Run, *, goes_on: bool = False) -> Standing:
        history = store.load(run.id)
        client = Client(project, store)
        waiting = client.waiting(run.id, history)
        by_people = {work.act for work in waiting.works}
        facts = Facts(
            run=run.id,
            waiting=waiting,
            names=names_of(history.state),
            driven=goes_on or self._drives(project) or bool(driver_of(run)),
            at_work=at_work(history.state, by_people),
            overdue=overdue(history.state, client.late(history.state), by_people),
            unbegun=unbegun(history.state),
        )
        return Standing(
            project=self._name(project),
            facts=facts,
            outcome=run.outcome,
            stories=stories(history.protocol, history.state, store.payloads.get),
            at_work=_dispatched(history.state, facts),
            result=_result(project, store, run) if run.outcome else (),
        )

    def _name(self, project: Project) -> str:
        return self._projects.name_of(project)


def _result(project: Project, store: Store, run: Run) -> tuple[str, ...]:
    found = asyncio.run(where_it_is(project, run))
    where = told(run.id, found, good=is_good(run.outcome)) if found else ()
    return (*told_advice(run.id, advised(store, run.id)), *where)


def _dispatched(state: State, facts: Facts) -> tuple[Dispatched, ...]:
    found = jobs(state, {work.act for work in facts.waiting.works})
    return tuple(Dispatched(base_of(job.step), job.attempt, facts.names.get(job.inst, "")) for job in found)


def _told(deed: Deed, before: Standing, after: Standing, intent: Intent) -> str:
    """What was done, and how things stand then."""
    match deed:
        case Stop():
            return farewell(after)
        case Look():
            return status(after) if intent.action in ("status", "help") or after.outcome else report(after)
        case Answer(ask, choice):
            place, _, _ = ask.partition("#")
            inst, _, step = place.rpartition(":")
            said = f"Received: {before.facts.called(inst, step)}: {choice}."
        case Abort(inst):
            said = f"Received: {before.facts.names.get(inst, '') or before.facts.run} is given up."
        case Level(level):
            said = f"Received: level {level}."
        case _:
            said = "Received."
    return f"{said}\n{report(after)}"


def _after_its_end(run: Run, intent: Intent) -> Deed | Unclear:
    """Of a run that has ended one may hear; nothing that is said to it can reach anybody."""
    if intent.action in ("status", "continue", "stop"):
        return Look()
    return Unclear(f"{run.id} has ended with {run.outcome}: nothing waits for that", code="run.ended")


def _run_of(project: Project, store: Store, intent: Intent) -> Run | Unclear:
    """The run that is meant: the one that is named, the only one that goes on, or the latest, to look at."""
    open_ = _unended(store)
    target = intent.param("target").lower()
    if named := [run for run in store.runs() if run.id.lower() == target]:
        return named[0]
    if len(open_) == 1:
        return open_[0]
    if not open_:
        return _latest(project, store)
    holding = [
        run
        for run in open_
        if target and target in [name.lower() for name in names_of(store.load(run.id).state).values()]
    ]
    if len(holding) == 1:
        return holding[0]
    return Unclear(
        "several runs go on; say which:", tuple(f"{intent.action} {run.id}" for run in open_), code="run.ambiguous"
    )


def _unended(store: Store) -> list[Run]:
    return [run for run in store.runs() if not run.outcome]


def _latest(project: Project, store: Store) -> Run:
    """The latest run that goes on, or that there is."""
    found = foremost(store.runs())
    if found is None:
        raise TreadleError(f"{project.root} has no runs yet; `treadle run SPEC` starts one", code="run.none")
    return found


def _unclear(found: Unclear) -> Said:
    return Said(text=str(found), result=NeedsHuman(str(found)), understood=False, code=found.code)
