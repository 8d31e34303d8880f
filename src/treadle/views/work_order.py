"""STATE.json, the work order of a story: computed from the log, read from other programs, and checked for changes."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal, get_args

import msgspec

from treadle.kernel.state import Instance
from treadle.prompts.foreign import inline
from treadle.protocol.answers.claim import suggest_status
from treadle.protocol.findings import suggest
from treadle.protocol.model import Graph, Protocol, Step
from treadle.protocol.rules.table import REASONS
from treadle.views.chronicle import TIMEOUT, ActivityRecord
from treadle.views.evidence_records import SuiteCounts, read_value, text
from treadle.views.run_status import RunStatus, status_at
from treadle.views.stories import (
    RunStories,
    RunStory,
    changed_in,
    last_session,
    measure,
    row_of,
    story_graph,
)
from treadle.views.words import moment

DONE: Final = "done"
FAILING: Final = "failing"
_NO_REASON: Final = "none"
_WITH_REASON: Final = ("failing", "needs_human", "timeout")
"""Statuses that have a reason."""

StoryStatus = Literal["pending", "running", "pass", "failing", "needs_human", "timeout"]


class WorkOrder(msgspec.Struct, frozen=True, kw_only=True):
    """The sixteen fields, in the order in which they are published."""

    project: str
    story: str | None
    step: str
    attempt: int
    max_attempts: int
    status: StoryStatus
    reason: str | None = None
    dispatched_at: str | None = None
    completed_at: str | None = None
    timeout_min: int
    tests: SuiteCounts | None = None
    failing_tests: tuple[str, ...] = ()
    lint_pass: bool | None = None
    files_changed: tuple[str, ...] = ()
    blocked_by: tuple[str, ...] = ()
    human_note: str | None = None


def blank_order(
    protocol: Protocol, project: str, story: str | None = None, blocked_by: Sequence[str] = ()
) -> WorkOrder:
    """Return the work order of a story that has not begun."""
    graph = protocol.graphs[story_graph(protocol)]
    return WorkOrder(
        project=project,
        story=story,
        step=row_of(graph, graph.start),
        attempt=1,
        max_attempts=graph.steps[graph.start].attempts,
        status="pending",
        timeout_min=_minutes(graph.steps[graph.start]),
        blocked_by=tuple(blocked_by),
    )


def work_order_of(book: RunStories, story: RunStory) -> WorkOrder:
    """Print the status of a run as the work order of one of its stories."""
    inst = story.inst
    if inst is None:
        return blank_order(book.protocol, book.project, story.id, story.waits_for)
    graph, deeds = book.protocol.graphs[inst.graph], book.deeds(story)
    own = [deed for deed in deeds if deed.command.inst == inst.id]

    # Of a story that has ended, the order shows the run as it was just before.
    state = book.log.before_end.get(inst.id, book.state) if inst.outcome else book.state
    frames = state.insts[inst.id].frames
    here = frames[-1].step if frames else own[-1].command.step if own else graph.start

    last, session = deeds[-1] if deeds else None, last_session(deeds)
    status: StoryStatus = "pass"
    if not story.is_done and not story.part:
        now = book.now if state is book.state else status_at(book.protocol, state)
        status = _status(now, state.insts[inst.id], graph, here, session)
        # An aborted story is failing, unless its step had not begun.
        status = "failing" if inst.outcome and status != "pending" else status
    found = measure(deeds, book.get)

    # Attempts and timeout come from the step of the worker; for a question, from the step that it is about.
    worker = here
    if graph.steps[here].kind == "ask":
        about = (here.partition("@")[2], graph.steps[here].row)
        worker = next((name for name in about if name in graph.steps), here)
    tried = [
        it.command.attempt for it in own if (it.command.step, it.command.visit) == (worker, inst.visits.get(worker, 1))
    ]
    # An effect or a check has none: then they come from its row of the table, else from the last session's step.
    row = graph.steps[worker]
    if row.kind in ("effect", "check"):
        before = last_session(own)
        row = graph.steps.get(row.row) or graph.steps.get(before.command.step if before else worker, row)
    notes = [frame.note_ref for frame in inst.frames if frame.note_ref]
    return WorkOrder(
        project=book.project,
        story=story.id,
        step=DONE if story.is_done else row_of(graph, here),
        attempt=tried[-1] if tried else 1,
        max_attempts=row.attempts,
        status=status,
        reason=reason_of(session) if status in _WITH_REASON else None,
        dispatched_at=_time(last.began) if last else None,
        completed_at=_time(last.ended) if last and status != "running" else None,
        timeout_min=_minutes(row),
        tests=found.tests,
        failing_tests=found.failing,
        lint_pass=found.lint,
        files_changed=changed_in(book, story, session) if session else (),
        blocked_by=story.waits_for,
        human_note=text(read_value(book.get, notes[-1] if notes else "")) or None,
    )


def encode_order(order: WorkOrder) -> str:
    """Encode a work order as the text of STATE.json."""
    return msgspec.json.format(msgspec.json.encode(order), indent=2).decode() + "\n"


def reason_of(deed: ActivityRecord | None) -> str | None:
    """Return the reason that a failing session gave; None if it did not fail, or gave none."""
    tag, _, variant = (deed.accepted or deed.left).partition(".") if deed else ("", "", "")
    return variant if tag.startswith(FAILING) and variant not in ("", _NO_REASON) else None


def _minutes(step: Step) -> int:
    """Return the timeout of a step; of a question, the time until its reminder."""
    return -(-(step.remind if step.kind == "ask" else step.timeout) // 60)


def _status(now: RunStatus, inst: Instance, graph: Graph, here: str, session: ActivityRecord | None) -> StoryStatus:
    """Return the status of a story that is not done; `session` is its latest."""
    if asked := [it.id for it in now.questions if it.instance == inst.id]:
        causes = {frame.cause for frame in inst.frames if frame.id in asked}
        return "timeout" if TIMEOUT in causes else "needs_human"
    has_failed = session is not None and session.left.startswith((FAILING, "!"))
    at_work = [it.instance for it in now.activities if it.phase != "held"]
    if any(id_ == inst.id or id_.startswith(f"{inst.id}/") for id_ in at_work):
        # The orchestrator's own effect after a passed session, such as its merge, still belongs to that session.
        step = graph.steps[here]
        is_effect_of = session is not None and step.kind == "effect" and session.command.step == step.row
        return "pass" if is_effect_of and not has_failed else "running"
    if session is None or session.command.step != here or not has_failed:
        return "pending"
    is_entered_anew = inst.visits.get(here, 1) != session.command.visit
    return "pending" if is_entered_anew else "failing"


def _time(ms: int) -> str | None:
    """Format a moment in ISO 8601, to the second."""
    return f"{moment(ms)[:19]}Z" if ms else None


# A work order left by another program: the position of its story, and how a run continues it.

_LONGEST: Final = 100
_NOT_BEGUN: Final = "pending"


class LeftOff(msgspec.Struct, frozen=True, kw_only=True):
    """A story in the middle, by the word of a file."""

    file: str
    story: str
    step: str
    how: str
    """Attempt and status, as far as the file has them."""
    first: str
    """Where a run begins the story."""
    is_alone: bool
    """Whether the step can be done by itself."""

    @property
    def stands(self) -> str:
        """`US-005 stands at impl (attempt 2 of 5, failing)`."""
        return f"{self.story} stands at {self.step}{f' ({self.how})' if self.how else ''}"

    @property
    def part(self) -> str:
        """The value of `--only` for the story's current step; empty if only a run of the whole story can do it."""
        return f"{self.story}:{self.step}" if self.is_alone and self.step != self.first else ""

    @property
    def begins(self) -> str:
        """The start of a run of the whole story, in words."""
        return f"begins it at {self.first} and takes over the documents that are right"


def read_left_off(file: str, data: bytes, protocol: Protocol) -> LeftOff | None:
    """Read a work order file; None if it is invalid, not begun, or done."""
    try:
        order = msgspec.json.decode(data, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    graph = protocol.graphs[story_graph(protocol)]
    rows = {one.row for one in graph.steps.values() if one.row and one.row != DONE}
    first, story, step = row_of(graph, graph.start), order.get("story"), order.get("step")
    if not isinstance(story, str) or not story or not isinstance(step, str) or step not in rows:
        return None
    if step == first and order.get("status") == _NOT_BEGUN:
        return None
    attempt, most, status = order.get("attempt"), order.get("max_attempts"), order.get("status")
    how = []
    if isinstance(attempt, int):
        how.append(f"attempt {attempt}{f' of {most}' if isinstance(most, int) else ''}")
    if isinstance(status, str) and status:
        how.append(inline(status, _LONGEST))
    return LeftOff(
        file=file,
        story=inline(story, _LONGEST),
        step=step,
        how=", ".join(how),
        first=first,
        is_alone=step in graph.steps and graph.steps[step].kind == "agent",
    )


# The faults of a work order or hand-over written by another program: all fields, each with the valid values.

_LONGEST_VALUE: Final = 60
_WORDS: Final = ("story", "human_note", "dispatched_at", "completed_at", "reason")
_LISTS: Final = ("failing_tests", "files_changed", "blocked_by")
_NUMBERS: Final = ("attempt", "max_attempts", "timeout_min")
_FENCE: Final = "---"


def story_faults(path: str, data: bytes, protocol: Protocol) -> list[str]:
    """List the faults of a file; empty if it conforms to the published protocol."""
    return list(_order_faults(data, protocol) if path.endswith(".json") else _handoff_faults(data))


def _order_faults(data: bytes, protocol: Protocol) -> Iterator[str]:
    try:
        order = msgspec.json.decode(data, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        yield f"it is not a JSON object: {inline(str(error), 2 * _LONGEST_VALUE)}"
        return
    known = WorkOrder.__struct_fields__
    yield from (f"{name} is missing" for name in known if name not in order)
    for name in order:
        if name not in known:
            near = suggest(name[:_LONGEST_VALUE], known)
            yield f"{_show_value(name)} is not a field of it{f'; {near}' if near else ''}"
    graph = protocol.graphs[story_graph(protocol)]
    steps = [*dict.fromkeys(it.row for it in graph.steps.values() if it.row and it.row != DONE), DONE]
    yield from _value_faults(order, "step", steps)
    yield from _value_faults(order, "status", get_args(StoryStatus))
    yield from _value_faults(order, "reason", [*REASONS, None])
    for name, value in order.items():
        are_texts = isinstance(value, list) and all(isinstance(one, str) for one in value)
        if name in _WORDS and not isinstance(value, str | None):
            yield f"{name} is {_show_value(value)}, not a text"
        if name in _LISTS and value is not None and not are_texts:
            yield f"{name} is {_show_value(value)}, not a list of texts"
        if name in _NUMBERS and (not isinstance(value, int) or isinstance(value, bool)):
            yield f"{name} is {_show_value(value)}, not a whole number"


def _value_faults(order: Mapping[str, Any], name: str, valid: Any) -> Iterator[str]:
    value = order.get(name)
    if name not in order or value in valid:
        return
    names = [one for one in valid if isinstance(one, str)]
    near = suggest_status(value, names) if isinstance(value, str) else ""
    yield f"{name} is {_show_value(value)}, not one of {', '.join(names)}{f'; {near}' if near else ''}"


def _handoff_faults(data: bytes) -> Iterator[str]:
    lines = data.decode(errors="replace").splitlines()
    if not lines or lines[0].rstrip() != _FENCE:
        return
    end = next((at for at, line in enumerate(lines[1:], 1) if line.rstrip() == _FENCE), None)
    if end is None:
        yield f"its front matter is never closed: write `{_FENCE}` below it"
        return
    for at, line in enumerate(lines[1:end], 2):
        if "\t" in line:
            yield f"line {at} of its front matter has a tab; YAML is indented by spaces"


def _show_value(value: object) -> str:
    return inline(msgspec.json.encode(value).decode(), _LONGEST_VALUE)


# Edits to a file that is a view of a run, in a few words.

_MOST_CHANGES: Final = 3


def difference(path: str, there: bytes, ours: str) -> str:
    """Describe how a JSON file differs from the log, field by field; empty for other files."""
    if not path.endswith(".json"):
        return ""
    try:
        theirs = msgspec.json.decode(there, type=dict[str, Any])
    except msgspec.DecodeError as error:
        return f"it is not a JSON object any more: {inline(str(error), 2 * _LONGEST_VALUE)}"
    except UnicodeDecodeError:
        return "it is not UTF-8 any more"
    log = msgspec.json.decode(ours, type=dict[str, Any])
    names = [name for name in {**log, **theirs} if theirs.get(name) != log.get(name)]
    changes = []
    for name in names[:_MOST_CHANGES]:
        new, old = (_show_value(values[name]) if name in values else "missing" for values in (theirs, log))
        changes.append(f"{inline(name, _LONGEST_VALUE)} {new}, not {old}")
    more = f" and {len(names) - _MOST_CHANGES} more" if len(names) > _MOST_CHANGES else ""
    return f"{', '.join(changes)}{more}"
