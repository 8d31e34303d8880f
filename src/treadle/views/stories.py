"""The stories of a run: the instance and the table row of each, the measurements of its checks, and a team's
hand-over.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from treadle.kernel.commands import RunAgent, RunEffect
from treadle.kernel.instances import ROOT
from treadle.kernel.state import Instance, State
from treadle.prompts.foreign import cut, inline, visible
from treadle.protocol.items import Json
from treadle.protocol.model import Graph, Only, Protocol, Spawn, tag_of
from treadle.views.chronicle import ActivityRecord, Chronicle
from treadle.views.evidence_records import (
    Get,
    SuiteCounts,
    claim_ref,
    gate_records,
    read_payload,
    text,
    texts,
)
from treadle.views.run_status import run_status
from treadle.views.status import StatusInputs

_GIVEN: Final = "in."


class RunStory(msgspec.Struct, frozen=True, kw_only=True):
    """A story, whether it has begun or not."""

    id: str
    inst: Instance | None = None
    """Of several that have worked on it, the latest; None: it has not begun."""
    given: Mapping[str, Json] = {}
    waits_for: tuple[str, ...] = ()
    """Stories that must be done first, and are not."""
    is_done: bool = False
    part: Only | None = None
    """The one step that was to be done, where it is and others are left to do."""


def story_graph(protocol: Protocol) -> str:
    """Return the graph that a step rules table was compiled into; empty if there is none."""
    return next((name for name, graph in protocol.graphs.items() if any(it.row for it in graph.steps.values())), "")


class RunStories:
    """The stories of a run, in input order, with the status, the history and the payloads that their files show."""

    def __init__(self, protocol: Protocol, log: Chronicle, get: Get) -> None:
        self.protocol, self.log, self.get = protocol, log, get
        self.state = state = log.state
        self.now = run_status(log, StatusInputs(run=state.run), state.now)
        self.well = {line.instance: line for line in self.now.lines if line.mood == "done"}
        """The instances that have come to a good end."""
        root = state.insts.get(ROOT)
        given = read_payload(get, root.input.ref) if root else {}
        self.project = text(given.get("project")) or state.run
        """The project's name from the run's input, else the run's id."""

        graph = story_graph(protocol)
        kind = protocol.types.get(protocol.graphs[graph].input[1]) if graph else None
        # story → its input, and the field of it that names the stories to be done before
        inputs: dict[str, tuple[Mapping[str, Json], str]] = {}
        for step in protocol.graphs[root.graph].steps.values() if root else ():
            if step.graph == graph and step.kind == "map":
                items = given.get(step.over.removeprefix(_GIVEN))
                for item in items if isinstance(items, list) else ():
                    if isinstance(item, dict) and (id_ := text(item.get(kind.key if kind else "id"))):
                        inputs[id_] = item, step.after
        insts = {it.key: it for it in sorted(state.insts.values(), key=lambda it: it.n) if it.graph == graph}
        inputs |= {id_: ({}, "") for id_ in insts if id_ not in inputs}
        ends = {id_: self.well[insts[id_].id] for id_ in inputs if id_ in insts and insts[id_].id in self.well}
        self.listed = [
            RunStory(
                id=id_,
                inst=insts.get(id_),
                given=it,
                waits_for=tuple(one for one in texts(it.get(after)) if one not in ends),
                is_done=id_ in ends and not ends[id_].part,
                part=ends[id_].part if id_ in ends else None,
            )
            for id_, (it, after) in inputs.items()
        ]

    def deeds(self, story: RunStory) -> list[ActivityRecord]:
        """Return the activities of a story's current instance and its team, the earliest first."""
        return self.log.below(story.inst.id) if story.inst else []


def last_session(deeds: Iterable[ActivityRecord]) -> ActivityRecord | None:
    """Return the agent's session that ended last."""
    ended = [deed for deed in deeds if deed.ended and isinstance(deed.command, RunAgent)]
    return max(ended, key=lambda it: it.ended, default=None)


# The row of the step rules table that a piece of work belongs to.


def row_of(graph: Graph, step: str) -> str:
    """Return the row of the table that a step belongs to; a cloned question belongs to the step that led to it."""
    base, _, origin = step.partition("@")
    found = graph.steps[step].row if step in graph.steps else ""
    return found or (row_of(graph, origin) if origin else "") or base


def row_of_session(state: State, story: Instance, graph: Graph, session: ActivityRecord) -> str:
    """Return the row that a session worked for; for an executor of a team, that of the step that gave the tasks."""
    if session.command.inst == story.id:
        return row_of(graph, session.command.step)
    task = state.insts[session.command.inst]
    while task.parent != story.id:
        task = state.insts[task.parent]
    for name, step in graph.steps.items():
        actions = [action for rows in step.routes.values() for route in rows for action in route.do]
        if any(isinstance(action, Spawn) and action.group == task.group for action in actions):
            return row_of(graph, name)
    return task.group


# Measurements of checks in a story: never an agent's own claims.

_LINTS: Final = frozenset({"lint", "post_check"})


class Measurements(msgspec.Struct, frozen=True, kw_only=True):
    """The latest measurements."""

    tests: SuiteCounts | None = None
    failing: tuple[str, ...] = ()
    lint: bool | None = None
    """Whether the linter and the project's own check passed; None: there is none, or it has not run."""


def measure(deeds: Sequence[ActivityRecord], get: Get) -> Measurements:
    """Return the latest measurements from the checks of these activities."""
    tests: SuiteCounts | None = None
    failing: tuple[str, ...] = ()
    lint: bool | None = None
    for deed in reversed(deeds):
        if tests is None and (counted := next((it for it in gate_records(get, deed) if it.counts), None)):
            tests, failing = counted.counts, counted.failing
        # A linter that ran no command does not count: the project has no such command.
        linters = [it.check for it in gate_records(get, deed, _LINTS)] if lint is None else []
        if ran := [it.ok for it in linters if it.command and not it.skipped]:
            lint = all(ran)
    return Measurements(tests=tests, failing=failing, lint=lint)


def changed_by(deed: ActivityRecord, get: Get) -> tuple[str, ...]:
    """Return the files that a session changed, as reported by git."""
    for record in gate_records(get, deed):
        if record.files_changed is not None:
            return record.files_changed
    ref = deed.stop_ref or (deed.failures[-1].detail_ref if deed.failures else "")
    failure = read_payload(get, ref) if ref else {}
    return texts(read_payload(get, claim_ref(deed)).get("files_changed") or failure.get("files_changed"))


# The consolidated hand-over of a team: the progress of each executor, conflicts about files, and notes for the next
# session.

_WELL, _AT_WORK, _BADLY, _WAITS = "✅", "🔄", "❌", "⏳"
_LINE: Final = 400
_BLOCK: Final = 4_000
_HEADING: Final = re.compile(r"^#{1,6}(?=\s)", re.MULTILINE)
_DEEPER, _DEEPEST = 2, 6


def is_team(book: RunStories, story: RunStory, session: ActivityRecord) -> bool:
    """Whether a session belongs to one of several executors, or to the lead that coordinates them."""
    if story.inst is None or session.command.inst != story.inst.id:
        return story.inst is not None
    role = book.protocol.graphs[story.inst.graph].steps[session.command.step].role
    # A lead only delegates: it hands out the tasks, and may write nothing.
    leads = role in book.protocol.roles and "modify" not in book.protocol.roles[role].perms
    return leads and bool(_tasks(book, story))


def is_through(book: RunStories, story: RunStory, row: str) -> bool:
    """Whether every executor of the latest wave has come to a good end, and the story has left their row behind."""
    tasks = _tasks(book, story)
    if story.inst is None or not tasks:
        return False
    graph = book.protocol.graphs[story.inst.graph]
    is_there = any(row_of(graph, frame.step) == row for frame in story.inst.frames[:1])
    return not is_there and all(task.id in book.well for task in tasks)


def changed_in(book: RunStories, story: RunStory, session: ActivityRecord) -> tuple[str, ...]:
    """Return the files that a session changed, as reported by git; for a team, those of all its executors."""
    if story.inst is None or not is_team(book, story, session):
        return changed_by(session, book.get)
    # The sessions of the executors in all waves since the last other step of the story, without withdrawn tasks.
    graph, deeds = book.protocol.graphs[story.inst.graph], book.deeds(story)
    row = row_of_session(book.state, story.inst, graph, session)
    kept = {task.id for task in _tasks(book, story)} | book.well.keys()
    last: dict[str, ActivityRecord] = {}
    for deed in deeds:
        job = deed.command
        if job.inst == story.inst.id:
            last = last if row_of(graph, job.step) == row else {}
        elif deed.ended and isinstance(job, RunAgent) and job.inst in kept:
            last[job.inst] = deed
    return tuple(sorted({path for deed in last.values() for path in changed_by(deed, book.get)}))


def team_body(book: RunStories, story: RunStory) -> str:
    """Format the three sections."""
    deeds = book.deeds(story)
    last = {deed.command.inst: deed for deed in deeds if isinstance(deed.command, RunAgent)}
    progress = [_progress(book, task, last.get(task.id)) for task in _tasks(book, story)]
    parts = {
        "Executor Progress": progress or ["the lead has given no tasks yet"],
        "File Conflict Log": list(_conflicts(deeds, book.get)) or ["None"],
    }
    lists = [f"## {name}\n" + "\n".join(f"- {line}" for line in lines) for name, lines in parts.items()]
    return "\n\n".join([*lists, "## Next session notes\n" + ("\n".join(_notes(deeds, story, book.get)) or "- None")])


def _tasks(book: RunStories, story: RunStory) -> list[Instance]:
    """Return the executors of the latest wave."""
    groups, insts = story.inst.groups.values() if story.inst else (), book.state.insts
    found = [insts[id_] for group in groups for id_ in group.members.values() if id_ in insts]
    return sorted(found, key=lambda it: it.n)


def _progress(book: RunStories, task: Instance, deed: ActivityRecord | None) -> str:
    said = read_payload(book.get, claim_ref(deed)) if deed else {}
    words = text(said.get("summary")) or text(said.get("description"))
    mark = _AT_WORK if deed else _WAITS
    if task.outcome:
        mark = _WELL if task.id in book.well else _BADLY
    name = f"{task.group}: {mark} {inline(task.key, _LINE)}"
    return f"{name}: {inline(words, _LINE)}" if words else f"{name}{f' ({task.outcome})' if task.outcome else ''}"


def _conflicts(deeds: list[ActivityRecord], get: Get) -> Iterator[str]:
    """Yield files that one executor needed and another owned, and lanes that could not be merged."""
    for deed in deeds:
        tag = tag_of(deed.left)
        said = read_payload(get, claim_ref(deed)) if tag in ("conflict", "FoldConflict") else {}
        if said:
            who = deed.command.inst.rpartition("/")[2] if not isinstance(deed.command, RunEffect) else "fold"
            words = [", ".join(texts(said.get("files"))), text(said.get("description"))]
            yield ": ".join(inline(one, _LINE) for one in (who, *words) if one)


def _notes(deeds: list[ActivityRecord], story: RunStory, get: Get) -> Iterator[str]:
    """Yield each agent's latest notes for its successor."""
    words: dict[str, str] = {}
    for deed in deeds:
        if deed.ended and isinstance(deed.command, RunAgent):
            said = read_payload(get, claim_ref(deed))
            blocks = tag_of(deed.left) in ("blocker", "conflict")
            words[deed.command.inst] = text(said.get("handoff")) or (text(said.get("description")) if blocks else "")
    own = story.inst.id if story.inst else ""
    for inst, notes in words.items():
        if notes:
            who = inline("lead" if inst == own else inst.rpartition("/")[2])
            block = visible(cut(notes.strip(), _BLOCK))
            if "\n" in block:  # its headings go below the one with the author's name
                lowered = _HEADING.sub(lambda heading: "#" * min(len(heading[0]) + _DEEPER, _DEEPEST), block)
                yield f"\n### {who}\n{lowered}\n"
            else:
                yield f"- {who}: {inline(block, _LINE)}"
