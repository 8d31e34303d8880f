"""The history of stories: what was done, by which step, in whose words."""

from treadle.kernel.commands import RunAgent
from treadle.prompts.foreign import inline
from treadle.views.bank.course import Course
from treadle.views.bank.standing import payload_ref
from treadle.views.bank.writing import when
from treadle.views.chronicle import Deed
from treadle.views.evidence_records import payload, text
from treadle.views.exit_words import exit_words
from treadle.views.payload import Get
from treadle.views.rows import row_of
from treadle.views.stories import Story, deeds_of, stories

_LINE = 300


def history(course: Course, get: Get) -> str:
    """A section for each story that has been worked on; empty if none has."""
    if course.protocol is None:
        return ""
    listed = [it for it in stories(course.protocol, course.state, get) if _sessions(course, it)]
    return "\n\n".join(_section(course, it, get) for it in listed) + "\n" if listed else ""


def _sessions(course: Course, story: Story) -> list[Deed]:
    return [it for it in deeds_of(course, story) if it.ended and isinstance(it.command, RunAgent)]


def _section(course: Course, story: Story, get: Get) -> str:
    ended = course.chronicle.gone.get(story.inst.id, 0) if story.inst else 0
    outcome = f"{story.step_done} done, {story.then} is next" if story.step_done else story.inst and story.inst.outcome
    how = f"{outcome}, {when(ended)}" if outcome else "under way"
    title = text(story.given.get("title"))
    head = f"## {inline(story.id)}{f' {inline(title, _LINE)}' if title else ''}: {how}"
    return "\n".join(
        [
            head,
            f"run {inline(course.state.run)}",
            "",
            *(_line(course, story, it, get) for it in _sessions(course, story)),
        ]
    )


def _line(course: Course, story: Story, deed: Deed, get: Get) -> str:
    said = payload(get, payload_ref(deed))
    words = text(said.get("summary")) or text(said.get("question")) or text(said.get("description"))
    own = story.inst is not None and deed.command.inst == story.inst.id
    graph = course.protocol.graphs[deed.command.graph] if course.protocol else None
    step = row_of(graph, deed.command.step) if graph and own else deed.command.inst.rpartition("/")[2]
    tried = f" (attempt {deed.command.attempt})" if deed.command.attempt > 1 else ""
    left = exit_words(course.protocol, deed.accepted or deed.left) if deed.left else deed.stopped
    how = f"{left}{f': {inline(words, _LINE)}' if words else ''}"
    return f"- {when(deed.ended)} {inline(step)}{tried}: {how}"
