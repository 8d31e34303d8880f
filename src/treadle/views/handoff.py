"""HANDOFF.md: what a session leaves to the next one. Its numbers are measured, its words are the agent's own.

A session that broke, or was refused, has left no words or the wrong ones: then the evidence speaks.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from treadle.kernel.commands import RunAgent
from treadle.prompts.foreign import cut, inline, visible
from treadle.protocol.emit import Plain, emit
from treadle.protocol.model import Protocol, tag_of
from treadle.views.bank.course import Course
from treadle.views.bank.refusals import refusals
from treadle.views.bank.standing import payload_ref
from treadle.views.chronicle import Deed
from treadle.views.evidence_records import anything, payload, text
from treadle.views.exit_words import exit_words
from treadle.views.measured import Measured, changed_by, measured
from treadle.views.payload import Get
from treadle.views.refusal import reason
from treadle.views.rows import row_of_session
from treadle.views.state import FAILING, reason_of
from treadle.views.stories import Story, deeds_of
from treadle.views.team import changed_in, is_team, is_through, team_body

NOTHING: Final = """# HANDOFF

No session has worked on a story yet. Whoever works next overwrites this file: what was done this time, what is not
resolved yet, and what the next session should note.
"""
"""What the file says before there is a hand-over."""
_WORDS: Final = ("handoff", "summary", "question", "description")
"""Where an exit has the agent's words: the first of these that it gave."""
_TITLE: Final = re.compile(r"\A#\s+HANDOFF\b[^\n]*\n?")
"""The heading of a hand-over that an agent wrote; ours says which step and attempt it was."""
_FOUND: Final = "What the orchestrator found"
_LONGEST: Final = 20_000
_SHOWN: Final = 50
_MEANINGS: Final = {"needs_human": "needs_human", "blocker": FAILING, "conflict": FAILING}


def handoff(course: Course, story: Story, get: Get) -> str:
    """The hand-over of the session that ended last; empty if none has."""
    deeds = deeds_of(course, story)
    session = last_session(deeds)
    if session is None or course.protocol is None or story.inst is None:
        return ""
    graph = course.protocol.graphs[story.inst.graph]
    step = row_of_session(course.state, story.inst, graph, session)
    found = measured([deed for deed in deeds if deed.ended], get)
    front: dict[str, Plain] = {
        "story": story.id,
        "step": step,
        "attempt": session.command.attempt,
        "status": _status(course, story, session, step),
        "reason": reason_of(session),
        "files_changed": list(changed_in(course, story, session, get)),
        **_counted(found),
    }
    body = team_body(course, story, get) if is_team(course, story, session) else _body(course, session, found, get)
    kind = "(multi-executor session)" if is_team(course, story, session) else f"attempt:{session.command.attempt}"
    title = f"# HANDOFF — {inline(story.id)} {step} {kind}"
    return f"---\n{_front(front)}---\n\n{title}\n\n{_TITLE.sub('', body).strip()}\n"


def last_session(deeds: Sequence[Deed]) -> Deed | None:
    """The agent's session that ended last."""
    ended = [deed for deed in deeds if deed.ended and deed.left and isinstance(deed.command, RunAgent)]
    return max(ended, key=lambda it: it.ended, default=None)


def status_of(protocol: Protocol, session: Deed) -> str:
    """`pass`, `failing` or `needs_human`: as it was judged, not as the agent says."""
    tag = tag_of(session.left)
    if tag.startswith((FAILING, "!")):
        return FAILING
    declared = protocol.exits.get(tag)
    return _MEANINGS.get(tag) or (FAILING if declared and declared.severity == "BLOCKER" else "pass")


def _status(course: Course, story: Story, session: Deed, row: str) -> str:
    """As it was judged; a team has not passed before all of it has."""
    own = status_of(course.protocol, session) if course.protocol else FAILING
    is_open = own == "pass" and is_team(course, story, session) and not is_through(course, story, row)
    return FAILING if is_open else own


def words_of_session(session: Deed, get: Get) -> str:
    """What the agent itself has said to its successor; empty if it has said nothing."""
    said = payload(get, payload_ref(session))
    failure = payload(get, session.failures[-1].detail_ref) if session.failures else {}
    own = next((text(said.get(name)) for name in _WORDS if text(said.get(name)).strip()), "")
    return visible(cut((own or text(failure.get("handoff"))).strip(), _LONGEST))


def _body(course: Course, session: Deed, found: Measured, get: Get) -> str:
    own, refused = words_of_session(session, get), session.left.startswith("!") and not session.accepted
    if not own:
        head = ["This session left no words of its own; what follows is evidence."] if refused else []
        done = [f"changed {path}" for path in changed_by(session, get)[:_SHOWN]]
        parts = {"What was done this time": done, "Not yet resolved": _open(course, session, found, get)}
        return "\n\n".join([*head, *(_section(name, lines) for name, lines in parts.items())])
    return "\n\n".join([own, *([_section(_FOUND, _open(course, session, found, get))] if refused else [])])


def _open(course: Course, session: Deed, found: Measured, get: Get) -> list[str]:
    """What is known, without asking it, of what a session has not resolved."""
    detail = anything(get, session.failures[-1].detail_ref) if session.failures else None
    how = session.accepted or session.left
    why = reason(tag_of(how), detail) if how.startswith("!") else f"It ended: {exit_words(course.protocol, how)}."
    problems = [f"{name}: {words}" if words else name for name, words in refusals(session, get)]
    return [why, *problems, *(f"{name} fails" for name in found.failing[:_SHOWN])]


def _section(name: str, lines: Iterable[str]) -> str:
    return f"## {name}\n{_list(lines) or '- nothing is known of it'}"


def _list(lines: Iterable[str]) -> str:
    return "\n".join(f"- {inline(line)}" for line in lines if line)


def _counted(found: Measured) -> dict[str, Plain]:
    tests = found.tests
    if tests is None:
        return {}
    return {"tests_pass": tests.passed, "tests_fail": tests.failed, "tests_skip": tests.skipped}


def _front(values: dict[str, Plain]) -> str:
    """Front matter as it is published: a line each, and lists as blocks."""
    lines = []
    for name, value in values.items():
        if isinstance(value, list) and value:
            lines += [f"{name}:\n", *(f"  - {emit({'x': one}).partition(': ')[2]}" for one in value)]
        else:
            lines.append(emit({name: value}))
    return "".join(lines)
