"""What the gates of an activity had against it."""

from treadle.protocol.items import Json
from treadle.protocol.model import Protocol, row
from treadle.views.chronicle import Deed
from treadle.views.evidence_records import anything
from treadle.views.payload import Get
from treadle.views.refusal import first_words, words_of


def refusals(deed: Deed, get: Get) -> list[tuple[str, str]]:
    """The checks that refused it, each with the first thing that it found."""
    advisory = {check.name for check in deed.checks if check.advisory}
    results = [
        it for it in (deed.checked.results if deed.checked else ()) if not (it.ok or it.skipped or it.check in advisory)
    ]
    return [(it.check, _first(anything(get, it.report_ref))) for it in results]


def goes_on(protocol: Protocol, deed: Deed) -> bool:
    """Whether its instance goes on after it was left so: tries again, or asks somebody."""
    graph = protocol.graphs[deed.command.graph]
    rows = row(graph, deed.command.step, deed.left) if deed.left else ()
    return any(way.to and not way.to.startswith("@end") for way in rows or ())


def _first(report: Json) -> str:
    return first_words(words_of(report).removeprefix("- "))
