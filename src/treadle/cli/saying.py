"""What `treadle say` does: hears a sentence, acts on it, and tells how the run goes until a person is needed again."""

import os

import msgspec

from treadle.cli.driving import driven
from treadle.cli.guard import FAILED, INTERRUPTED, UNWELL, WAITS, complain
from treadle.cli.output import print_json, say
from treadle.cli.progress_board import Silent
from treadle.cli.reading import Follower
from treadle.cli.talk_documents import Heard
from treadle.config.project import MARKS, Project, project_around
from treadle.config.projects import Projects
from treadle.engines.driving import driver_of
from treadle.engines.opening import opened_store
from treadle.errors import TreadleError
from treadle.kernel.state import State
from treadle.ports import Progress
from treadle.protocol import model
from treadle.store.sqlite import Store
from treadle.talk.dispatched import Blocked, Dispatched, Done, NeedsHuman
from treadle.talk.news import news
from treadle.talk.report import report, result_of
from treadle.talk.speaking import Said, Speaker
from treadle.views.result import is_good


def say_to(message: str, *, as_json: bool) -> int:
    """Say something, see it through until a person is needed, and tell how things stand; the exit code."""
    projects, here = Projects(os.environ), project_around()
    speaker = Speaker(projects, here if here and _has_runs(here) else None, goes_on=True)
    if here and not here.store.exists():
        from treadle.cli.left_off import before_any_run  # nobody with a run has to wait for it

        for line in before_any_run():
            complain(line)
    said = speaker.hear(message)
    if not said.understood and not as_json:
        raise TreadleError(said.text, code=said.code)
    if not as_json:
        say(said.text)
    project = _project(projects, here, said)
    if project and said.moved and isinstance(said.result, Dispatched | Blocked):
        said = _seen_through(speaker, project, said, as_json=as_json)
    if as_json:
        print_json(
            Heard(
                project=said.project,
                run=said.run,
                understood=said.understood,
                code=said.code,
                text=said.text,
                result=said.result,
            )
        )
    return _code(said, project)


def _has_runs(project: Project) -> bool:
    """Whether a folder is a project of ours; any repository could be one."""
    return project.store.exists() or any((project.root / mark).exists() for mark in MARKS[:2])


def _project(projects: Projects, here: Project | None, said: Said) -> Project | None:
    if not said.project:
        return None
    return projects.project(said.project) if said.project in projects.all() else here


def _seen_through(speaker: Speaker, project: Project, said: Said, *, as_json: bool) -> Said:
    """Drive the run, if nobody else does and it is not paused."""
    with opened_store(project) as store:
        record = store.run(said.run)
        if driver_of(record) or record.outcome or speaker.standing(project, said.run).facts.waiting.paused:
            return said
        board = Silent() if as_json else News(store, said.run)
        if driven(project, store, [said.run], board, follow=True) is None:
            raise SystemExit(INTERRUPTED)
    after = speaker.standing(project, said.run)
    text = report(after)
    if not as_json:
        say(text)
    return msgspec.structs.replace(said, text=text, result=result_of(after))


def _code(said: Said, project: Project | None) -> int:
    """Who only asks how things stand is told so with 0, however they stand."""
    if not said.understood:
        return FAILED
    if not said.ordered:
        return 0
    if isinstance(said.result, Done) and project:
        with opened_store(project) as store:
            return 0 if is_good(store.run(said.run).outcome) else UNWELL
    return WAITS if isinstance(said.result, NeedsHuman) else 0


class News(Silent):
    """Tells what happens to a run, one message for each thing."""

    def __init__(self, store: Store, run: str) -> None:
        self._store = store
        self._follower = Follower(store, store.run(run))
        self._noted: set[str] = set()
        for _ in self._follower.catch_up():
            pass

    def hear(self, run: str, act: str, progress: Progress) -> None:  # noqa: ARG002
        """What people should know, once."""
        if progress.note and progress.note not in self._noted:
            self._noted.add(progress.note)
            say(progress.note)

    def show(self, run: str, protocol: model.Protocol, state: State) -> None:  # noqa: ARG002
        for made in self._follower.catch_up():
            for text in news(made, self._store.payloads.get):
                say(text)
