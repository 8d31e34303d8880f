"""The consolidated hand-over of a team: how far each executor is, who got in whose way, what comes next."""

import re
from collections.abc import Iterator
from typing import Final

from treadle.kernel.commands import RunAgent, RunEffect
from treadle.kernel.state import Instance, State
from treadle.prompts.foreign import cut, inline, visible
from treadle.protocol.model import Protocol, tag_of
from treadle.views.bank.course import Course
from treadle.views.bank.standing import payload_ref
from treadle.views.chronicle import Deed
from treadle.views.evidence_records import payload, text, texts
from treadle.views.measured import changed_by
from treadle.views.payload import Get
from treadle.views.rows import row_of, row_of_session
from treadle.views.stories import Story, deeds_of

_WELL, _AT_WORK, _BADLY, _WAITS = "✅", "🔄", "❌", "⏳"
_LINE: Final = 400
_BLOCK: Final = 4_000
_HEADING: Final = re.compile(r"^#{1,6}(?=\s)", re.MULTILINE)
_DEEPER, _DEEPEST = 2, 6


def is_team(course: Course, story: Story, session: Deed) -> bool:
    """Whether a session was one of several executors, or of the lead who coordinates them."""
    if story.inst is None or course.protocol is None:
        return False
    if session.command.inst != story.inst.id:
        return True
    role = course.protocol.graphs[story.inst.graph].steps[session.command.step].role
    return bool(_tasks(course.state, story)) and _leads(course.protocol, role)


def is_through(course: Course, story: Story, row: str) -> bool:
    """Whether every executor of the latest wave has come to a good end, and the story has left their row behind."""
    tasks = _tasks(course.state, story)
    if story.inst is None or course.protocol is None or not tasks:
        return False
    graph = course.protocol.graphs[story.inst.graph]
    is_there = any(row_of(graph, frame.step) == row for frame in story.inst.frames[:1])
    return not is_there and all(_mark(course, task, None) == _WELL for task in tasks)


def changed_in(course: Course, story: Story, session: Deed, get: Get) -> tuple[str, ...]:
    """The files that a session has changed, as git told; of a team, those of all its executors."""
    if not is_team(course, story, session):
        return changed_by(session, get)
    last = {deed.command.inst: deed for deed in _executed(course, story, session)}
    return tuple(sorted({path for deed in last.values() for path in changed_by(deed, get)}))


def _executed(course: Course, story: Story, session: Deed) -> Iterator[Deed]:
    """The sessions of a team's executors in all its waves, but for those whose task was taken from them."""
    if story.inst is None or course.protocol is None:
        return
    graph, deeds = course.protocol.graphs[story.inst.graph], deeds_of(course, story)
    row = row_of_session(course.state, story.inst, graph, session)
    own = [it.command.inst == story.inst.id for it in deeds]
    others = [at for at, it in enumerate(deeds) if own[at] and row_of(graph, it.command.step) != row]
    tasks = {task.id for task in _tasks(course.state, story)}
    for at in range(max(others, default=-1) + 1, len(deeds)):
        task = course.state.insts[deeds[at].command.inst]
        is_kept = task.id in tasks or _mark(course, task, None) == _WELL
        if not own[at] and deeds[at].ended and isinstance(deeds[at].command, RunAgent) and is_kept:
            yield deeds[at]


def team_body(course: Course, story: Story, get: Get) -> str:
    """The three sections."""
    deeds = deeds_of(course, story)
    last = {deed.command.inst: deed for deed in deeds if isinstance(deed.command, RunAgent)}
    progress = [_progress(course, task, last.get(task.id), get) for task in _tasks(course.state, story)]
    parts = {
        "Executor Progress": progress or ["the lead has given no tasks yet"],
        "File Conflict Log": list(_conflicts(deeds, get)) or ["None"],
    }
    lists = [f"## {name}\n" + "\n".join(f"- {line}" for line in lines) for name, lines in parts.items()]
    return "\n\n".join([*lists, "## Next session notes\n" + ("\n".join(_notes(deeds, story, get)) or "- None")])


def _tasks(state: State, story: Story) -> list[Instance]:
    """The executors of the latest wave."""
    groups = story.inst.groups.values() if story.inst else ()
    found = [state.insts[id_] for group in groups for id_ in group.members.values() if id_ in state.insts]
    return sorted(found, key=lambda it: it.n)


def _leads(protocol: Protocol, role: str) -> bool:
    """Whether a role only delegates: it hands out the tasks, and may write nothing."""
    return role in protocol.roles and "modify" not in protocol.roles[role].perms


def _progress(course: Course, task: Instance, deed: Deed | None, get: Get) -> str:
    said = payload(get, payload_ref(deed)) if deed else {}
    words = text(said.get("summary")) or text(said.get("description"))
    name = f"{task.group}: {_mark(course, task, deed)} {inline(task.key, _LINE)}"
    return f"{name}: {inline(words, _LINE)}" if words else f"{name}{f' ({task.outcome})' if task.outcome else ''}"


def _mark(course: Course, task: Instance, deed: Deed | None) -> str:
    parent = course.state.insts[task.parent]
    good = course.protocol.graphs[parent.graph].ok.get(task.group, ()) if course.protocol else ()
    if task.outcome:
        return _WELL if task.outcome in good else _BADLY
    return _AT_WORK if deed else _WAITS


def _conflicts(deeds: list[Deed], get: Get) -> Iterator[str]:
    """Files that somebody needed and another one owned, and lanes that did not fit together."""
    for deed in deeds:
        tag = tag_of(deed.left)
        said = payload(get, payload_ref(deed)) if tag in ("conflict", "FoldConflict") else {}
        if said:
            who = deed.command.inst.rpartition("/")[2] if not isinstance(deed.command, RunEffect) else "fold"
            words = [", ".join(texts(said.get("files"))), text(said.get("description"))]
            yield ": ".join(inline(one, _LINE) for one in (who, *words) if one)


def _notes(deeds: list[Deed], story: Story, get: Get) -> Iterator[str]:
    """What each of them has left to whoever comes next, the latest word of each."""
    words = {deed.command.inst: _left(deed, get) for deed in deeds if deed.ended and isinstance(deed.command, RunAgent)}
    own = story.inst.id if story.inst else ""
    for inst, said in words.items():
        if said:
            who = inline("lead" if inst == own else inst.rpartition("/")[2])
            block = visible(cut(said.strip(), _BLOCK))
            is_long = "\n" in block
            yield f"\n### {who}\n{_HEADING.sub(_lower, block)}\n" if is_long else f"- {who}: {inline(block, _LINE)}"


def _lower(heading: re.Match[str]) -> str:
    """A heading inside of somebody's words, below the one that says whose they are."""
    return "#" * min(len(heading[0]) + _DEEPER, _DEEPEST)


def _left(deed: Deed, get: Get) -> str:
    said = payload(get, payload_ref(deed))
    return text(said.get("handoff")) or (
        text(said.get("description")) if tag_of(deed.left) in ("blocker", "conflict") else ""
    )
