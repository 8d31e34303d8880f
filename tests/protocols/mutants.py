"""Every small mistake an author could make in a protocol, and whether it is refused.

Mutants are made of the protocol as it is written, before its gates are cloned per caller: a mistake in a question is
one mistake, however many callers the question has. What comes out is loaded further and checked like any protocol.
"""

from collections.abc import Callable, Iterator
from functools import cache
from hashlib import sha256
from itertools import islice
from typing import Final, NamedTuple

from tests.protocols import mutate_duties, mutate_rows, mutate_steps
from tests.protocols.mutate_rows import Change
from treadle.protocol.check import CHECKS, FINER
from treadle.protocol.checks.names import graph_names_exist
from treadle.protocol.checks.subject import ProtocolSubject
from treadle.protocol.checks.tables import exits_are_delivered, needs_are_met
from treadle.protocol.checks.templates import templates_fit_their_steps
from treadle.protocol.load import load_source
from treadle.protocol.model import Protocol
from treadle.protocol.reading.assembly import with_clones
from treadle.protocol.reading.part import Log

PROTOCOLS: Final = ("waterfall", "dptr", "fractal", "riper", "v3")
"""The longest to check first, so that they can be shared out."""
EVERY: Final = 6
"""Of the operators that make many mutants, one in so many is looked at."""

Operator = Callable[[Protocol], Iterator[Change]]

FEW: Final[tuple[Operator, ...]] = (
    mutate_rows.drop_charge,
    mutate_rows.drop_fresh,
    mutate_rows.drop_sync,
    mutate_rows.drop_action,
    mutate_rows.drop_guard,
    mutate_rows.misspell_guard,
    mutate_steps.drop_outcome,
    mutate_steps.drop_wait,
    mutate_steps.drop_becomes,
    mutate_steps.drop_handler,
    mutate_steps.drop_reply,
    mutate_steps.drop_reset,
    mutate_steps.refill_inside,
    mutate_duties.drop_proves,
    mutate_duties.drop_route_on,
    mutate_duties.drop_route,
    mutate_duties.drop_writes,
    mutate_duties.write_tests,
    mutate_duties.let_readers_write,
)
"""Operators that make so few mutants that all of them are looked at."""
MANY: Final[tuple[Operator, ...]] = (
    mutate_rows.drop_row,
    mutate_rows.retarget,
    mutate_rows.swap_targets,
    mutate_rows.send_elsewhere,
    mutate_rows.spawn_otherwise,
    mutate_rows.guard_last,
    mutate_steps.drop_step,
    mutate_steps.drop_exit,
    mutate_steps.drop_need,
    mutate_steps.redirect_need,
    mutate_steps.drop_end_needs,
    mutate_steps.map_otherwise,
    mutate_steps.retarget_handler,
    mutate_steps.retarget_budget,
    mutate_duties.drop_gate,
    mutate_duties.drop_gates,
    mutate_duties.misspell_template,
)


class Mutant(NamedTuple):
    """A protocol with one mistake in it."""

    operator: str
    text: str
    protocol: Protocol
    sampled: bool


class Verdict(NamedTuple):
    """What became of a mutant; `refusal` is the first error, empty if it is a legal protocol."""

    protocol: str
    operator: str
    mutant: str
    refusal: str


@cache
def written(name: str) -> Protocol:
    """A protocol as its authors wrote it."""
    return load_source(name).written


def mutants(name: str) -> Iterator[Mutant]:
    """All mutants of a protocol; one that is equal to the protocol is none."""
    original = written(name)
    for operator in (*FEW, *MANY):
        for text, protocol in operator(original):
            if protocol != original:
                sampled = operator in FEW or _is_sampled(f"{name} {text}")
                yield Mutant(operator.__name__, text, protocol, sampled)


def _is_sampled(text: str) -> bool:
    """Decided by the text alone, so that a change elsewhere in the protocol moves no other mutant in or out."""
    return int.from_bytes(sha256(text.encode()).digest()[:4]) % EVERY == 0


def judge(name: str, everything: bool) -> list[Verdict]:
    """The verdicts on the mutants of a protocol: on all of them, or on a sixth of the sample."""
    sample = islice((mutant for mutant in mutants(name) if mutant.sampled), 0, None, 6)
    chosen = mutants(name) if everything else sample
    return [Verdict(name, mutant.operator, mutant.text, refusal(mutant.protocol)) for mutant in chosen]


_QUICK: Final = (graph_names_exist, exits_are_delivered, needs_are_met)
_SLOW: Final = (templates_fit_their_steps,)
_ORDER: Final = sorted((*CHECKS.values(), *FINER.values()), key=lambda prove: (prove in _SLOW, prove not in _QUICK))
"""The checks, those first that find most for their time: one error is enough."""


def refusal(protocol: Protocol) -> str:
    """The first error that the loader or the checker has with a written protocol; empty if it is legal."""
    log = Log()
    runnable = with_clones(protocol, log)
    if log.findings:
        return str(log.findings[0])
    subject = ProtocolSubject(runnable, None)
    found = (finding for prove in _ORDER for finding in prove(subject))
    return next((f"{finding.check} {finding}" for finding in found if finding.level == "error"), "")
