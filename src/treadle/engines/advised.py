"""What was advised in a run, as its store has it."""

from functools import cache

from treadle.store.sqlite import Store
from treadle.views.advice import Advice
from treadle.views.chronicle import Chronicle
from treadle.views.evidence_advice import advice


def advised(store: Store, run: str) -> tuple[Advice, ...]:
    """What checks advise of what was accepted in a run."""
    chronicle = Chronicle(cache(store.protocol))
    for body, _ in store.tail(run)[1]:
        chronicle.take(body)
    return tuple(advice(chronicle.deeds.values(), store.payloads.get))
