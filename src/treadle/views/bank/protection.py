"""σ₆: how carefully each path is handled, and what people have confirmed."""

from collections.abc import Iterator

from treadle.git.protections import CAREFUL, level_of
from treadle.kernel.events import Replied
from treadle.protocol.model import Protocol, base_of, row
from treadle.views.bank.course import Course
from treadle.views.bank.writing import document, line, table, when
from treadle.views.chronicle import Question
from treadle.views.evidence_records import anything, payload, text, texts
from treadle.views.payload import Get

_REFUSAL = "!gate.protection"
_CHECK = "protection"


def protection(protocol: Protocol, course: Course, get: Get) -> str:
    """Ψ of every protected path, as a document."""
    levels = [
        (f"`{it.glob}`", f"Ψ{it.level}", "asks a person" if it.level >= CAREFUL else "proceeds")
        for it in protocol.protections
    ]
    asked = [it for it in course.chronicle.asked.values() if _is_about_protection(protocol, it)]
    columns = ("path", "Ψ", "answer", "by", "when", "asked by", "note")
    bodies = [
        table(("path", "Ψ", "a change"), levels),
        table(columns, (one for it in asked for one in _settled(protocol, course, it, get))),
        table(("path", "Ψ", "asked by", "since"), (one for it in asked for one in _open(protocol, course, it, get))),
    ]
    return document("protection", f"σ₆ Protection of {line(course.state.run)}", bodies)


def _is_about_protection(protocol: Protocol, question: Question) -> bool:
    """Whether a question is where a step leads when it has touched what is protected."""
    graph = protocol.graphs.get(question.command.graph)  # none: it is about the whole run
    rows = [row(graph, name, _REFUSAL) for name, it in graph.steps.items() if _REFUSAL in it.routes] if graph else []
    return any(base_of(way.to) == base_of(question.command.step) for ways in rows for way in ways or ())


def _settled(protocol: Protocol, course: Course, question: Question, get: Get) -> Iterator[tuple[str, ...]]:
    event = question.settled
    if isinstance(event, Replied):
        note = text(anything(get, event.note_ref))
        for path, level in _paths(protocol, course, question, get):
            yield path, level, event.choice, event.actor, when(question.ended), question.command.inst, note


def _open(protocol: Protocol, course: Course, question: Question, get: Get) -> Iterator[tuple[str, ...]]:
    if not question.ended:
        for path, level in _paths(protocol, course, question, get):
            yield path, level, question.command.inst, when(question.began)


def _paths(protocol: Protocol, course: Course, question: Question, get: Get) -> Iterator[tuple[str, str]]:
    """The paths that the check has named to whoever led to the question, each with its level."""
    deed = course.chronicle.deeds.get(question.by)
    for result in deed.checked.results if deed and deed.checked else ():
        if result.check == _CHECK:
            for path in texts(payload(get, result.report_ref).get("paths")):
                yield path, f"Ψ{level_of(protocol.protections, path)}"
