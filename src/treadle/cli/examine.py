"""What is wrong with protocols: told in full by `check`, a warning to whoever looks, a refusal to whoever runs."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import msgspec

from treadle.cli.advice import word
from treadle.cli.changes import misplaced
from treadle.cli.documents import ProtocolFault, faults
from treadle.cli.guard import complain
from treadle.cli.library import folder, loaded, names, opened, scopes
from treadle.errors import ProtocolError, TreadleError
from treadle.protocol.check import check
from treadle.protocol.findings import Finding, Place
from treadle.protocol.load import Loaded
from treadle.protocol.model import Protocol, base_of
from treadle.simulate.bounds import misfits
from treadle.simulate.scopes import FILE

TOLD: Final = 3
"""How many findings a refusal tells; `check` tells them all."""


class Examined(msgspec.Struct, frozen=True):
    """A protocol with what was found in it."""

    name: str
    findings: tuple[Finding, ...]
    summary: str = ""

    @property
    def failed(self) -> bool:
        return any(finding.level == "error" for finding in self.findings)

    def lines(self) -> Iterator[str]:
        """The findings, one a line, or what was proved."""
        here = f"{Path.cwd()}/"
        yield from (str(finding).removeprefix(here) for finding in self.findings)
        errors = sum(finding.level == "error" for finding in self.findings)
        found = (
            f"{_count(len(self.findings), 'finding')}, {errors} to repair"
            if self.findings
            else f"{self.summary}, nothing is wrong"
        )
        yield f"{self.name}: {found}"

    def as_json(self) -> Iterator[ProtocolFault]:
        for fault in faults(self.findings):
            yield ProtocolFault(protocol=self.name, **msgspec.structs.asdict(fault))


def examine(wanted: Iterable[str]) -> list[Examined]:
    """Loads and checks protocols, by default all that can be named, and the changes that none of them can take."""
    known = names()
    wanted = list(wanted) or list(known)
    results = [_examined(name) for name in wanted]
    stray = tuple(misplaced(known)) if any(name in known for name in wanted) else ()
    return [*results, Examined("the project's changes", stray)] if stray else results


def _examined(name: str) -> Examined:
    try:
        found = loaded(name)
    except TreadleError as error:
        return Examined(name, findings_of(error, name))
    graphs = found.protocol.graphs
    steps = sum(len({base_of(step) for step in graph.steps}) for graph in graphs.values())
    summary = f"{_count(len(graphs), 'graph')}, {_count(steps, 'step')}"
    return Examined(name, (*_scope_faults(name, found.protocol), *_checked(found)), summary)


def _scope_faults(name: str, protocol: Protocol) -> tuple[Finding, ...]:
    """What is wrong with the scopes beside a protocol, which only `explore` looks into."""
    try:
        named = scopes(name)
    except TreadleError as error:
        return findings_of(error, name)
    place = Place(str(folder(name) / FILE))
    return tuple(
        Finding(place, f"scope {scope.name}", problem, code="protocol.scope")
        for scope in named.values()
        for problem in misfits(protocol, scope)
    )


def findings_of(error: TreadleError, place: str) -> tuple[Finding, ...]:
    """What an error says, as findings."""
    found = error.findings if isinstance(error, ProtocolError) else ()
    return tuple(it for it in found if isinstance(it, Finding)) or (
        Finding(Place(place), "", str(error), code=error.code),
    )


def sound(name: str) -> Protocol:
    """A protocol that passes its checks; nothing is run by one that does not."""
    found = opened(name)
    errors = _errors(found)
    if errors:
        more = (f"and {len(errors) - TOLD} more",) if len(errors) > TOLD else ()
        raise ProtocolError(_refusal(name, errors), (*errors[:TOLD], *more), code="protocol.unsound")
    return found.protocol


def looked_at(name: str) -> Protocol:
    """A protocol to look at; with a warning, if it does not pass its checks."""
    found = opened(name)
    errors = _errors(found)
    if errors:
        complain(f"warning: {_refusal(name, errors)}")
    return found.protocol


def _checked(found: Loaded) -> list[Finding]:
    return found.told(check(found.protocol, found.place_of))


def _errors(found: Loaded) -> list[Finding]:
    return [finding for finding in _checked(found) if finding.level == "error"]


def _refusal(name: str, errors: list[Finding]) -> str:
    return (
        f"{name} does not pass its checks, {_count(len(errors), 'finding')}; run `treadle protocol check {word(name)}`"
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
