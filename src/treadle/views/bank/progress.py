"""σ₅: the cycles and batches of the plan, what went wrong, and what people decided."""

from collections.abc import Iterator

from treadle.kernel.events import Replied
from treadle.protocol.model import Protocol
from treadle.views.bank.course import Course
from treadle.views.bank.designing import critique
from treadle.views.bank.refusals import goes_on, refusals
from treadle.views.bank.standing import (
    FAILURE,
    WARNING,
    Standing,
    batches,
    cycles,
    payload_ref,
    records,
)
from treadle.views.bank.writing import document, line, listing, quote, table, when
from treadle.views.chronicle import Deed, Question
from treadle.views.evidence_records import anything, payload, text
from treadle.views.payload import Get
from treadle.views.refusal import reason

_COLUMNS = ("", "cycle", "what", "batch", "module", "where")
_QUALITY = "QUALITY_FAILURE"


def progress(protocol: Protocol, course: Course, get: Get) -> str:
    """How far the run is, as a document."""
    bodies = [
        table(_COLUMNS, map(_cycle, cycles(protocol, course, get))),
        table(("", "batch", "cycles", "module", "where"), map(_batch, batches(protocol, course, get))),
        listing(_errors(protocol, course, get)),
        listing(_failed_gates(protocol, course, get)),
        "\n".join(_decisions(course, get)),
    ]
    return document("progress", f"σ₅ Progress of {line(course.state.run)}", bodies)


def _cycle(one: Standing) -> tuple[str, ...]:
    return one.mark, one.id, one.title, one.batch, one.module, one.words


def _batch(one: Standing) -> tuple[str, ...]:
    return one.mark, one.id, one.title, one.module, one.words


def _errors(protocol: Protocol, course: Course, get: Get) -> Iterator[str]:
    """Sessions that broke, took too long or gave no valid answer, and agents that were blocked."""
    for deed in course.deeds():
        at = f"{when(deed.ended or course.state.now)} {deed.command.id}"
        is_over = deed.left.startswith("!") and not deed.left.startswith("!gate")
        for failure in deed.failures:
            mark = FAILURE if is_over and failure is deed.failures[-1] else WARNING
            yield f"{mark} {at}: {line(reason(f'!{failure.why}', anything(get, failure.detail_ref)))}"
        if is_over and not deed.failures and deed.left != "!exhausted":
            yield f"{FAILURE} {at}: {line(reason(deed.left, None))}"
        if _blocks(protocol, deed):
            yield f"{FAILURE} {at} →{deed.left}: {line(_said(deed, get))}"


def _blocks(protocol: Protocol, deed: Deed) -> bool:
    declared = protocol.exits.get(deed.left)
    return bool(declared and declared.severity == "BLOCKER" and deed.left != _QUALITY)


def _said(deed: Deed, get: Get) -> str:
    said = payload(get, payload_ref(deed))
    return " ".join(part for part in (text(said.get("message")), text(said.get("reason"))) if part)


def _failed_gates(protocol: Protocol, course: Course, get: Get) -> Iterator[str]:
    """Gates that refused something, with the first thing that they found; and those that a person is asked about."""
    for deed in course.deeds():
        at = f"{when(deed.ended or course.state.now)} {deed.command.id}"
        mark = WARNING if goes_on(protocol, deed) else FAILURE
        for name, words in refusals(deed, get):
            yield f"{mark} {at}: {name}" + (f": {line(words)}" if words else "")
        if deed.left == _QUALITY:
            said = payload(get, payload_ref(deed))
            found = "; ".join(critique(one) for one in records(said.get("critiques")))
            yield f"{FAILURE} {at} →{_QUALITY}: {line(text(said.get('gate')))}: {line(found)}"
    for question in course.chronicle.asked.values():
        if (title := _title(protocol, question)).startswith(_QUALITY):
            yield f"{FAILURE} {when(question.began)} {question.command.id}: {line(title)}"


def _title(protocol: Protocol, question: Question) -> str:
    graph = protocol.graphs.get(question.command.graph)  # none: it is about the whole run
    step = graph.steps.get(question.command.step) if graph else None
    return step.title if step else ""


def _decisions(course: Course, get: Get) -> Iterator[str]:
    """What people have answered."""
    for question in course.chronicle.asked.values():
        if isinstance(event := question.settled, Replied):
            who = f" ({line(event.actor)})" if event.actor else ""
            yield f"- {when(question.ended)} {question.command.id}: {line(event.choice)}{who}"
            if note := text(anything(get, event.note_ref)):
                yield f"\n{quote(note)}\n"
