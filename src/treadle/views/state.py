"""STATE.json: the work order of a story, all of it computed from the log.

The names, their order and their values are those of the published protocol.
"""

from collections.abc import Sequence
from typing import Final, Literal

import msgspec

from treadle.kernel.commands import RunAgent
from treadle.kernel.state import Frame, Instance, State
from treadle.protocol.model import Graph, Protocol, Step
from treadle.views.bank.course import TIMEOUT, Course
from treadle.views.chronicle import Deed
from treadle.views.evidence_records import anything, text
from treadle.views.measured import Tests, measured
from treadle.views.moment import moment
from treadle.views.payload import Get
from treadle.views.rows import row_of
from treadle.views.stories import Story, deeds_of, project_of, story_graph
from treadle.views.team import changed_in

DONE: Final = "done"
FAILING: Final = "failing"
_NO_REASON: Final = "none"
_TOLD: Final = ("failing", "needs_human", "timeout")
"""Statuses that have a reason."""

Status = Literal["pending", "running", "pass", "failing", "needs_human", "timeout"]


class WorkOrder(msgspec.Struct, frozen=True, kw_only=True):
    """The sixteen fields, in the order in which they are published."""

    project: str
    story: str | None
    step: str
    attempt: int
    max_attempts: int
    status: Status
    reason: str | None = None
    dispatched_at: str | None = None
    completed_at: str | None = None
    timeout_min: int
    tests: Tests | None = None
    failing_tests: tuple[str, ...] = ()
    lint_pass: bool | None = None
    files_changed: tuple[str, ...] = ()
    blocked_by: tuple[str, ...] = ()
    human_note: str | None = None


def blank(protocol: Protocol, project: str, story: str | None = None, blocked_by: Sequence[str] = ()) -> WorkOrder:
    """The work order of a story that nobody has begun."""
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


def state_of(protocol: Protocol, course: Course, story: Story, get: Get) -> WorkOrder:
    """The work order of a story as the log says."""
    project = project_of(course.state, get)
    if story.inst is None:
        return blank(protocol, project, story.id, story.waits_for)
    graph, deeds, stood = protocol.graphs[story.inst.graph], deeds_of(course, story), _stood(course, story.inst)
    here = _here(stood.insts[story.inst.id], deeds, graph)
    worker, last, session = _worker(graph, here), deeds[-1] if deeds else None, _session(deeds)
    status, found = _status(stood, story, graph, here, session), measured(deeds, get)
    row = _row(graph, worker, _session([it for it in deeds if it.command.inst == story.inst.id]))
    return WorkOrder(
        project=project,
        story=story.id,
        step=DONE if story.is_done else row_of(graph, here),
        attempt=_attempt(story.inst, worker, deeds),
        max_attempts=row.attempts,
        status=status,
        reason=reason_of(session) if status in _TOLD else None,
        dispatched_at=_time(last.began) if last else None,
        completed_at=_time(last.ended) if last and status != "running" else None,
        timeout_min=_minutes(row),
        tests=found.tests,
        failing_tests=found.failing,
        lint_pass=found.lint,
        files_changed=changed_in(course, story, session, get) if session else (),
        blocked_by=story.waits_for,
        human_note=text(anything(get, _note(story.inst))) or None,
    )


def written(order: WorkOrder) -> str:
    """As the file has it."""
    return msgspec.json.format(msgspec.json.encode(order), indent=2).decode() + "\n"


def reason_of(deed: Deed | None) -> str | None:
    """Why a session says that it has failed; None if it does not, or says no more."""
    tag, _, variant = (deed.accepted or deed.left).partition(".") if deed else ("", "", "")
    return variant if tag.startswith(FAILING) and variant not in ("", _NO_REASON) else None


def _session(deeds: Sequence[Deed]) -> Deed | None:
    """The session that ended last."""
    ended = [deed for deed in deeds if deed.ended and isinstance(deed.command, RunAgent)]
    return max(ended, key=lambda it: it.ended, default=None)


def _stood(course: Course, inst: Instance) -> State:
    """The run as it is; of a story that has ended, as it was just before."""
    return course.chronicle.before_end.get(inst.id, course.state) if inst.outcome else course.state


def _here(inst: Instance, deeds: Sequence[Deed], graph: Graph) -> str:
    """The step that a story stands at, or stood at before its end."""
    if inst.frames:
        return inst.frames[-1].step
    own = [deed.command.step for deed in deeds if deed.command.inst == inst.id]
    return own[-1] if own else graph.start


def _worker(graph: Graph, step: str) -> str:
    """The step whose attempts and time count: of a question, that of whoever it is about."""
    if graph.steps[step].kind != "ask":
        return step
    origin, row = step.partition("@")[2], graph.steps[step].row
    return next((it for it in (origin, row) if it in graph.steps), step)


def _row(graph: Graph, worker: str, session: Deed | None) -> Step:
    """Whose numbers hold: of who works, else of the row of the table, else of the one before it."""
    step = graph.steps[worker]
    if step.kind not in ("effect", "check"):
        return step
    last = session.command.step if session else worker
    return graph.steps.get(step.row) or graph.steps.get(last, step)


def _minutes(step: Step) -> int:
    """The time that a step has; of a question, after which it reminds."""
    return -(-(step.remind if step.kind == "ask" else step.timeout) // 60)


def _attempt(inst: Instance, step: str, deeds: Sequence[Deed]) -> int:
    visit = inst.visits.get(step, 1)
    tried = [
        it.command for it in deeds if (it.command.inst, it.command.step, it.command.visit) == (inst.id, step, visit)
    ]
    return tried[-1].attempt if tried else 1


def _status(state: State, story: Story, graph: Graph, here: str, session: Deed | None) -> Status:
    """How a story stands; one that was given up has failed, unless the step that it stood at had not begun."""
    if story.inst is None or story.is_done or story.step_done:
        return "pass" if story.inst else "pending"
    found = _standing(state, state.insts[story.inst.id], graph, here, session)
    return "failing" if story.inst.outcome and found != "pending" else found


def _standing(state: State, inst: Instance, graph: Graph, here: str, session: Deed | None) -> Status:
    asked = [id_ for id_, ask in state.asks.items() if ask.inst == inst.id and ask.command]
    if asked:
        causes = {frame.cause for frame in inst.frames if frame.id in asked}
        return "timeout" if TIMEOUT in causes else "needs_human"
    if _is_at_work(state, inst):
        return "pass" if _follows(graph, here, session) else "running"
    tried = session if session and session.command.step == here else None
    return "failing" if tried and _has_failed(tried) and not _is_fresh(inst, tried) else "pending"


def _is_at_work(state: State, inst: Instance) -> bool:
    acts = [act for act in state.acts.values() if act.phase != "held"]
    return any(it.command.inst == inst.id or it.command.inst.startswith(f"{inst.id}/") for it in acts)


def _follows(graph: Graph, here: str, session: Deed | None) -> bool:
    """Whether what is done now is the orchestrator's own work after a session that has passed."""
    step = graph.steps[here]
    return (
        step.kind == "effect" and session is not None and session.command.step == step.row and not _has_failed(session)
    )


def _has_failed(deed: Deed) -> bool:
    return deed.left.startswith((FAILING, "!"))


def _is_fresh(inst: Instance, deed: Deed) -> bool:
    """Whether the step was entered anew since."""
    return inst.visits.get(deed.command.step, 1) != deed.command.visit


def _note(inst: Instance) -> str:
    """What a person has said to whoever works on it next."""
    frames: list[Frame] = [frame for frame in inst.frames if frame.note_ref]
    return frames[-1].note_ref if frames else ""


def _time(ms: int) -> str | None:
    """ISO 8601, to the second."""
    return f"{moment(ms)[:19]}Z" if ms else None
