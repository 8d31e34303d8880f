"""What the tests of a criterion leave open: wrong implementations that every one of them passes with."""

from collections.abc import Iterable, Sequence

from treadle.views.evidence_records import Told


def unnoticed(records: Iterable[Told], criterion: str, tests: Sequence[str]) -> tuple[str, ...]:
    """As the last check says that has tried its tests as they are now; tests that came later may notice more."""
    last: tuple[frozenset[str], tuple[str, ...]] = frozenset(), ()
    for one in records:
        tried = frozenset(one.criteria.get(criterion, {}))
        wrong = (one.unnoticed or {}).get(criterion, ())
        if wrong or (one.unnoticed is not None and tried and tried <= one.red):
            last = tried, wrong
    return last[1] if last[0].issuperset(tests) else ()
