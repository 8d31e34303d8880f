"""What the protocol commands ask about protocols: which there are, what is wrong with them, which step is meant."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from treadle.cli.library import names, opened, stray_overlays
from treadle.errors import ProtocolError, TreadleError
from treadle.protocol.check import check
from treadle.protocol.findings import Finding, suggest, to_json
from treadle.protocol.model import Protocol, Step, base_of


class Listed(msgspec.Struct, frozen=True):
    """A protocol in a list; one that does not load has no steps and says so."""

    name: str
    title: str
    graphs: int
    steps: int
    source: str


def survey() -> list[Listed]:
    """Every protocol that can be named here."""
    return [_listed(name, str(folder)) for name, folder in names().items()]


def _listed(name: str, folder: str) -> Listed:
    source = folder if folder.startswith(".treadle") else "built in"
    try:
        protocol = opened(name).protocol
    except ProtocolError:
        return Listed(name, f"does not load: see `treadle protocol check {name}`", 0, 0, source)
    steps = sum(len({base_of(step) for step in graph.steps}) for graph in protocol.graphs.values())
    return Listed(name, protocol.title, len(protocol.graphs), steps, source)


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

    def as_json(self) -> Iterator[dict[str, str | int]]:
        for finding in to_json(self.findings):
            yield {"protocol": self.name, **finding}


def examine(wanted: Iterable[str]) -> list[Examined]:
    """Loads and checks the protocols; without any, all that can be named and every overlay."""
    wanted = list(wanted)
    results = [_examined(name) for name in wanted or names()]
    stray = () if wanted else tuple(stray_overlays())
    return [*results, Examined("overlays", stray)] if stray else results


def _examined(name: str) -> Examined:
    try:
        loaded = opened(name)
    except ProtocolError as error:
        findings = tuple(finding for finding in error.findings if isinstance(finding, Finding))
        if not findings:
            raise
        return Examined(name, findings)
    graphs = loaded.protocol.graphs
    steps = sum(len(graph.steps) for graph in graphs.values())
    return Examined(name, tuple(check(loaded.protocol, loaded.place_of)), f"{len(graphs)} graphs, {steps} steps")


def protocol_with(name: str, graph: str | None) -> Protocol:
    """A protocol that has this graph."""
    protocol = opened(name).protocol
    if graph is not None and graph not in protocol.graphs:
        raise TreadleError(_unknown(f"{protocol.name} has no graph '{graph}'", graph, protocol.graphs))
    return protocol


def agent_step(name: str, wanted: str) -> tuple[Protocol, Step]:
    """A protocol and the step of it that is meant by STEP or GRAPH.STEP."""
    protocol = opened(name).protocol
    steps = {
        f"{graph}.{step}": it
        for graph, members in protocol.graphs.items()
        for step, it in members.steps.items()
        if it.kind == "agent"
    }
    meant = [path for path in steps if wanted in (path, path.partition(".")[2])]
    if not meant:
        bare = [path.partition(".")[2] for path in steps]
        raise TreadleError(_unknown(f"{protocol.name} has no agent step '{wanted}'", wanted, bare))
    if len(meant) > 1:
        raise TreadleError(f"'{wanted}' is a step of several graphs; write one of {', '.join(meant)}")
    return protocol, steps[meant[0]]


def _unknown(message: str, word: str, known: Iterable[str]) -> str:
    known = list(dict.fromkeys(known))
    hint = suggest(word, known)
    return f"{message}{f' ({hint})' if hint else ''}; there are {', '.join(known)}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
