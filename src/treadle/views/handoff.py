"""HANDOFF.md: a session's hand-over to the next one. Its numbers are measured, its words are the agent's own.

A crashed or refused session left no words or the wrong ones: then the evidence fills the sections.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from treadle.kernel.commands import RunAgent
from treadle.prompts.foreign import cut, inline, visible
from treadle.protocol.model import Protocol, tag_of
from treadle.protocol.yaml_text import Plain, emit
from treadle.views.bank import when
from treadle.views.chronicle import ActivityRecord
from treadle.views.evidence_records import Get, claim_ref, read_payload, read_value, refusals, text
from treadle.views.stories import (
    Measurements,
    RunStories,
    RunStory,
    changed_by,
    changed_in,
    is_team,
    is_through,
    last_session,
    measure,
    row_of,
    row_of_session,
    team_body,
)
from treadle.views.words import exit_words, reason
from treadle.views.work_order import FAILING, reason_of

NOTHING: Final = """# HANDOFF

No session has worked on a story yet. The next session overwrites this file with what it did, what is still open, and
notes for the session after it.
"""
"""The file's text before the first hand-over."""
_WORDS: Final = ("handoff", "summary", "question", "description")
"""Where an exit has the agent's words: the first of these that it gave."""
_TITLE: Final = re.compile(r"\A#\s+HANDOFF\b[^\n]*\n?")
"""The heading of an agent's hand-over, replaced by ours with step and attempt."""
_LONGEST: Final = 20_000
_SHOWN: Final = 50
_MEANINGS: Final = {"needs_human": "needs_human", "blocker": FAILING, "conflict": FAILING}


def handoff(book: RunStories, story: RunStory) -> str:
    """Return the hand-over of the session that ended last; empty if none has."""
    deeds, get = book.deeds(story), book.get
    session = handed_over(deeds)
    if session is None or story.inst is None:
        return ""
    graph = book.protocol.graphs[story.inst.graph]
    step, team = row_of_session(book.state, story.inst, graph, session), is_team(book, story, session)
    status = status_of(book.protocol, session)
    if status == "pass" and team and not is_through(book, story, step):
        status = FAILING  # a team passes only when all its executors have
    found = measure([deed for deed in deeds if deed.ended], get)
    front: dict[str, Plain] = {
        "story": story.id,
        "step": step,
        "attempt": session.command.attempt,
        "status": status,
        "reason": reason_of(session),
        "files_changed": list(changed_in(book, story, session)),
    }
    if tests := found.tests:
        front |= {"tests_pass": tests.passed, "tests_fail": tests.failed, "tests_skip": tests.skipped}
    body = team_body(book, story) if team else _body(book.protocol, session, found, get)
    kind = "(multi-executor session)" if team else f"attempt:{session.command.attempt}"
    title = f"# HANDOFF — {inline(story.id)} {step} {kind}"
    return f"---\n{_front(front)}---\n\n{title}\n\n{_TITLE.sub('', body).strip()}\n"


def handed_over(deeds: Sequence[ActivityRecord]) -> ActivityRecord | None:
    """Return the session that ended last and was not stopped: it has left its step by an exit."""
    return last_session(deed for deed in deeds if deed.left)


def status_of(protocol: Protocol, session: ActivityRecord) -> str:
    """Return `pass`, `failing` or `needs_human`: the verdict, not the agent's claim."""
    tag = tag_of(session.left)
    if tag.startswith((FAILING, "!")):
        return FAILING
    declared = protocol.exits.get(tag)
    return _MEANINGS.get(tag) or (FAILING if declared and declared.severity == "BLOCKER" else "pass")


def words_of_session(session: ActivityRecord, get: Get) -> str:
    """Return the agent's own words to its successor; empty if there are none."""
    said = read_payload(get, claim_ref(session))
    failure = read_payload(get, session.failures[-1].detail_ref) if session.failures else {}
    own = next((text(said.get(name)) for name in _WORDS if text(said.get(name)).strip()), "")
    return visible(cut((own or text(failure.get("handoff"))).strip(), _LONGEST))


def _body(protocol: Protocol, session: ActivityRecord, measured: Measurements, get: Get) -> str:
    """Format the agent's own words; where it left none, or the checks refused its work, the evidence."""
    own, refused = words_of_session(session, get), session.left.startswith("!") and not session.accepted
    if own and not refused:
        return own

    detail = read_value(get, session.failures[-1].detail_ref) if session.failures else None
    how = session.accepted or session.left
    why = reason(tag_of(how), detail) if how.startswith("!") else f"It ended: {exit_words(protocol, how)}."
    problems = [f"{name}: {words}" if words else name for name, words in refusals(get, session)]
    unresolved = [why, *problems, *(f"{name} fails" for name in measured.failing[:_SHOWN])]
    if own:
        return "\n\n".join([own, _section("What the orchestrator found", unresolved)])
    done = [f"changed {path}" for path in changed_by(session, get)[:_SHOWN]]
    sections = [_section("What was done this time", done), _section("Not yet resolved", unresolved)]
    head = ["This session left no words of its own; what follows is evidence."] if refused else []
    return "\n\n".join([*head, *sections])


def _section(name: str, lines: Iterable[str]) -> str:
    listed = "\n".join(f"- {inline(line)}" for line in lines if line)
    return f"## {name}\n{listed or '- nothing is known of it'}"


def _front(values: dict[str, Plain]) -> str:
    """Front matter as it is published: a line each, and lists as blocks."""
    lines = []
    for name, value in values.items():
        if isinstance(value, list) and value:
            lines += [f"{name}:\n", *(f"  - {emit({'x': one}).partition(': ')[2]}" for one in value)]
        else:
            lines.append(emit({name: value}))
    return "".join(lines)


# The history of stories: the sessions of each by step, with the agents' summaries.

_LINE = 300


def history(book: RunStories) -> str:
    """Return a section for each story that has been worked on; empty if none has."""
    sections: list[str] = []
    for story in book.listed:
        sessions = [it for it in book.deeds(story) if it.ended and isinstance(it.command, RunAgent)]
        if not sessions:
            continue
        ended = book.log.gone.get(story.inst.id, 0) if story.inst else 0
        left_at = f"{story.part.step} done, {story.part.then} is next" if story.part else ""
        outcome = left_at or (story.inst and story.inst.outcome)
        how = f"{outcome}, {when(ended)}" if outcome else "under way"
        title = text(story.given.get("title"))
        head = f"## {inline(story.id)}{f' {inline(title, _LINE)}' if title else ''}: {how}"
        lines = [_session_line(book.protocol, story, it, book.get) for it in sessions]
        sections.append("\n".join([head, f"run {inline(book.state.run)}", "", *lines]))
    return "\n\n".join(sections) + "\n" if sections else ""


def _session_line(protocol: Protocol, story: RunStory, deed: ActivityRecord, get: Get) -> str:
    fields = read_payload(get, claim_ref(deed))
    words = next((said for name in _WORDS[1:] if (said := text(fields.get(name)))), "")
    own = story.inst is not None and deed.command.inst == story.inst.id
    graph = protocol.graphs[deed.command.graph]
    step = row_of(graph, deed.command.step) if own else deed.command.inst.rpartition("/")[2]
    tried = f" (attempt {deed.command.attempt})" if deed.command.attempt > 1 else ""
    left = exit_words(protocol, deed.accepted or deed.left) if deed.left else deed.stopped
    how = f"{left}{f': {inline(words, _LINE)}' if words else ''}"
    return f"- {when(deed.ended)} {inline(step)}{tried}: {how}"
