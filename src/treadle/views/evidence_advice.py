"""What checks have advised of the activities of a run that were accepted."""

from collections.abc import Iterable, Iterator

from treadle.protocol.catalogue import check_name
from treadle.views.advice import Advice, first_thing
from treadle.views.chronicle import Deed
from treadle.views.evidence_records import Find, anything, codes, results
from treadle.views.evidence_steps import is_accepted
from treadle.views.refusal import words_of


def advice(deeds: Iterable[Deed], find: Find) -> Iterator[Advice]:
    """All that was advised, in the order of the activities."""
    for deed in filter(is_accepted, deeds):
        for result, ref in results(deed):
            if ref.advisory and not result.ok:
                record = anything(find, result.report_ref)
                yield Advice(
                    act=deed.command.id,
                    check=check_name(ref.name, ref.arg),
                    text=first_thing(words_of(record)),
                    codes=codes(record),
                )
