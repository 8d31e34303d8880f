"""The orchestrator's adapter of the Agentic Coding Protocol, for programs with a channel of their own.

    adapter = OrchestratorAdapter()
    intent = adapter.parse_intent("continue cart-app")
    result = adapter.dispatch(root)                  # Dispatched | Blocked | NeedsHuman | Done
    if isinstance(result, Dispatched):
        result = adapter.invoke_executor(root).wait()
    print(adapter.format_report(adapter.read_state(root), intent.action))

It is a thin layer over the same engine: sentences are read by the grammar of `treadle say`, what moves a run is an
event in its inbox, and the state is computed from the log. So nobody can write a result that was not measured.
"""

import asyncio
import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from treadle.config.project import Project, open_project
from treadle.config.projects import Projects
from treadle.engines.client import Client
from treadle.engines.driving import Driver, driver_of
from treadle.engines.opening import opened_store
from treadle.errors import TreadleError
from treadle.store.records import Run
from treadle.store.sqlite import Store
from treadle.talk.dispatched import DispatchResult, NeedsHuman
from treadle.talk.intent import Action, Intent, Unclear
from treadle.talk.order_report import order_report
from treadle.talk.report import result_of
from treadle.talk.speaking import Speaker
from treadle.views.bank.course import Course
from treadle.views.state import WorkOrder, state_of
from treadle.views.stories import Story, deeds_of, stories

Root = str | os.PathLike[str]
State = WorkOrder | Mapping[str, Any]
"""A work order, or what STATE.json holds of one."""
_SETTABLE = ("human_note",)
"""What a person may set of a work order; all else is measured, or follows from it."""


class ExecutorHandle:
    """An executor that is at work in this process, in a thread of its own."""

    def __init__(self, adapter: "OrchestratorAdapter", root: Root, run: str) -> None:
        self.run = run
        self._adapter, self._root = adapter, root
        self._error: TreadleError | None = None
        self._thread = threading.Thread(target=self._drive, daemon=True)
        self._thread.start()

    @property
    def is_running(self) -> bool:
        return self._thread.is_alive()

    def wait(self, seconds: float | None = None) -> DispatchResult:
        """Until only a person could move the run, or the time is up; how it stands then."""
        self._thread.join(seconds)
        if self._error:
            raise self._error
        return self._adapter.standing(self._root)

    def _drive(self) -> None:
        project = _project(self._root)
        try:
            with opened_store(project) as store:
                asyncio.run(Driver(project, store).to_rest(self.run))
        except TreadleError as error:
            self._error = error


class OrchestratorAdapter:
    """parse_intent, read_state, write_state, dispatch, invoke_executor, format_report."""

    def __init__(self, environ: Mapping[str, str] | None = None, actor: str = "") -> None:
        self._projects, self._actor = Projects(os.environ if environ is None else environ), actor

    def parse_intent(self, message: str, project_root: Root | None = None) -> Intent:
        """What a sentence asks for, without a model; a `TreadleError` says what is not clear.

        Words that begin with no action are an `answer` only if a question that is open takes them.
        """
        found = self._speaker(project_root).understand(message)
        if isinstance(found, Unclear):
            raise TreadleError(str(found), code=found.code)
        return found

    def read_state(self, project_root: Root, story: str = "") -> WorkOrder:
        """The work order of a story, as STATE.json has it; by default of the one that was worked on last."""
        project = _project(project_root)
        with opened_store(project) as store:
            return _order(store, _current(project, store), story)[0]

    def write_state(self, project_root: Root, state: State) -> None:
        """Set what a person may set: `human_note`, for whoever works on the story next. All else is refused."""
        project, wanted = _project(project_root), _given(state)
        with opened_store(project) as store:
            run = _current(project, store)
            now, story = _order(store, run, wanted.story or "")
            changed = [name for name in now.__struct_fields__ if getattr(wanted, name) != getattr(now, name)]
            if forged := [name for name in changed if name not in _SETTABLE]:
                raise TreadleError(
                    f"{', '.join(forged)} cannot be written: STATE.json shows what the log of {run.id} says, and"
                    f" results are measured; a person may set {', '.join(_SETTABLE)}, and moves the run by dispatch,"
                    " or by `treadle say`",
                    code="story.read_only",
                )
            if changed and story.inst is None:
                raise TreadleError(
                    f"{story.id} has not begun, so nobody can be told anything about it yet", code="story.not_begun"
                )
            if changed and story.inst:
                speaker = self._speaker(project_root)
                Client(project, store, self._actor).note(run.id, wanted.human_note or "", at=story.inst.id)
                speaker.settle(project, store, run.id)

    def dispatch(self, project_root: Root, story: str = "") -> DispatchResult:
        """Let what waits go on, as `continue` does, all of it or of one story, or of a task of its team.

        Agents are started by whoever drives, or by `invoke_executor`.
        """
        said = self._speaker(project_root).act(Intent(action="continue", params={"target": story} if story else {}))
        if story and not said.understood:
            raise TreadleError(said.text, code=said.code)
        return said.result if said.understood else NeedsHuman(said.text)

    def invoke_executor(self, project_root: Root, prompt: str = "") -> ExecutorHandle:
        """Start what agents are to do. Prompts are made from the protocol; `prompt` is a note for the next session."""
        project = _project(project_root)
        with opened_store(project) as store:
            run = _current(project, store)
            if run.outcome:
                raise TreadleError(
                    f"{run.id} has ended with {run.outcome}; there is nothing to execute any more", code="run.ended"
                )
            if pid := driver_of(run):
                raise TreadleError(
                    f"{run.id} is driven already, by process {pid}; its agents are started there", code="run.driven"
                )
            if prompt:
                story = _order(store, run, "")[1]
                at = {"at": story.inst.id} if story.inst else {}
                Client(project, store, self._actor).note(run.id, prompt, **at)
        return ExecutorHandle(self, project_root, run.id)

    def format_report(self, state: State, action: Action) -> str:
        """What a person is told of a story after an action."""
        return order_report(_given(state), action)

    def standing(self, project_root: Root) -> DispatchResult:
        """How the project stands, without moving it."""
        return result_of(self._speaker(project_root).standing(_project(project_root)))

    def _speaker(self, root: Root | None) -> Speaker:
        return Speaker(self._projects, _project(root) if root else None, self._actor)


def _project(root: Root) -> Project:
    return open_project(Path(root))


def _given(state: State) -> WorkOrder:
    if isinstance(state, WorkOrder):
        return state
    try:
        return msgspec.convert(state, WorkOrder)
    except msgspec.ValidationError as error:
        raise TreadleError(f"that is no work order as STATE.json has it: {error}", code="story.order") from None


def _current(project: Project, store: Store) -> Run:
    """The run that goes on; of several, or none, the latest."""
    runs = store.runs()
    if not runs:
        raise TreadleError(f"{project.root} has no runs yet; `treadle run SPEC` starts one", code="run.none")
    return next((run for run in runs if not run.outcome), runs[0])


def _order(store: Store, run: Run, story: str) -> tuple[WorkOrder, Story]:
    course = Course(store.protocol)
    for body, _ in store.tail(run.id)[1]:
        course.take(body)
    protocol, get = course.protocol, store.payloads.get
    found = stories(protocol, course.state, get) if protocol else []
    if not protocol or not found:
        raise TreadleError(
            f"{run.id} has no stories, and so no work order; `treadle status {run.id}` says how it stands",
            code="story.unknown",
        )
    named = [it for it in found if it.id.lower() == story.lower()]
    if story and not named:
        raise TreadleError(
            f"{run.id} has no story '{story[:60]}'; there are {', '.join(it.id for it in found)}", code="story.unknown"
        )
    latest = max(found, key=lambda it: max((deed.began for deed in deeds_of(course, it)), default=-1))
    chosen = named[0] if named else latest
    return state_of(protocol, course, chosen, get), chosen
