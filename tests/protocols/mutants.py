"""Every small mistake an author could make in a protocol, and whether it is refused.

Mutants are made of the protocol as it is written, before its gates are cloned per caller: a mistake in a question is
one mistake, however many callers the question has. What comes out is loaded further and checked like any protocol.
"""

from collections.abc import Callable, Iterator
from functools import cache
from hashlib import sha256
from typing import Final, NamedTuple

from tests.protocols import mutate_duties, mutate_rows, mutate_steps
from tests.protocols.mutate_rows import Change
from treadle.protocol.assemble import with_clones
from treadle.protocol.check import CHECKS
from treadle.protocol.checks.subject import Subject
from treadle.protocol.load import load_source
from treadle.protocol.model import Protocol
from treadle.protocol.part import Log

PROTOCOLS: Final = ("v3", "fractal", "dptr", "riper", "waterfall")


class Operator(NamedTuple):
    """A kind of mistake; of an operator that makes very many, one in `every` belongs to the sample."""

    make: Callable[[Protocol], Iterator[Change]]
    every: int = 1

    @property
    def name(self) -> str:
        return self.make.__name__


OPERATORS: Final = (
    Operator(mutate_rows.drop_row),
    Operator(mutate_rows.retarget, every=8),
    Operator(mutate_rows.swap_targets, every=2),
    Operator(mutate_rows.drop_charge),
    Operator(mutate_rows.drop_fresh),
    Operator(mutate_rows.drop_sync),
    Operator(mutate_rows.drop_action),
    Operator(mutate_rows.send_elsewhere),
    Operator(mutate_rows.spawn_otherwise),
    Operator(mutate_rows.drop_guard),
    Operator(mutate_rows.guard_last),
    Operator(mutate_rows.misspell_guard),
    Operator(mutate_steps.drop_step),
    Operator(mutate_steps.drop_exit),
    Operator(mutate_steps.drop_need),
    Operator(mutate_steps.redirect_need, every=8),
    Operator(mutate_steps.drop_end_needs),
    Operator(mutate_steps.drop_outcome),
    Operator(mutate_steps.drop_wait),
    Operator(mutate_steps.drop_becomes),
    Operator(mutate_steps.map_otherwise, every=4),
    Operator(mutate_steps.drop_handler),
    Operator(mutate_steps.drop_reply),
    Operator(mutate_steps.retarget_handler, every=4),
    Operator(mutate_steps.drop_reset),
    Operator(mutate_steps.refill_inside),
    Operator(mutate_steps.retarget_budget, every=4),
    Operator(mutate_duties.drop_gate),
    Operator(mutate_duties.drop_gates),
    Operator(mutate_duties.advise_gate),
    Operator(mutate_duties.drop_proves),
    Operator(mutate_duties.drop_route_on),
    Operator(mutate_duties.drop_route),
    Operator(mutate_duties.drop_writes),
    Operator(mutate_duties.write_tests),
    Operator(mutate_duties.let_readers_write),
    Operator(mutate_duties.misspell_template, every=8),
)


class Mutant(NamedTuple):
    """A protocol with one mistake in it."""

    operator: str
    text: str
    protocol: Protocol
    sampled: bool


@cache
def written(name: str) -> Protocol:
    """A protocol as its authors wrote it."""
    return load_source(name).written


def mutants(name: str) -> Iterator[Mutant]:
    """All mutants of a protocol; one that is equal to the protocol or to an earlier one is none."""
    original = written(name)
    for operator in OPERATORS:
        for text, protocol in operator.make(original):
            if protocol != original:
                yield Mutant(operator.name, text, protocol, _is_sampled(f"{name} {text}", operator.every))


def _is_sampled(text: str, every: int) -> bool:
    """Decided by the text alone, so that a change elsewhere in the protocol moves no other mutant in or out."""
    return int.from_bytes(sha256(text.encode()).digest()[:4]) % every == 0


def refusal(protocol: Protocol) -> str:
    """The first error that the loader or the checker has with a written protocol; empty if it is legal."""
    log = Log()
    runnable = with_clones(protocol, log)
    if log.findings:
        return str(log.findings[0])
    subject = Subject(runnable, None)
    found = (finding for prove in CHECKS for finding in prove(subject))
    return next((f"{finding.check} {finding}" for finding in found if finding.level == "error"), "")
