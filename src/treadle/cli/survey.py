"""What the protocol commands ask about protocols: which there are, which graph or step is meant."""

from collections.abc import Iterable
from pathlib import Path

from treadle.cli.advice import word
from treadle.cli.changes import misplaced
from treadle.cli.documents import Offered
from treadle.cli.examine import findings_of, looked_at
from treadle.cli.guard import complain
from treadle.cli.library import loaded, names, source_of
from treadle.errors import TreadleError
from treadle.protocol.findings import suggest
from treadle.protocol.model import Protocol, Step, base_of


def survey() -> list[Offered]:
    """Every protocol that can be named here."""
    known = names()
    for finding in misplaced(known):
        complain(f"warning: {finding}")
    return [_listed(name, folder) for name, folder in known.items()]


def _listed(name: str, folder: Path) -> Offered:
    source = source_of(folder)
    try:
        protocol = loaded(name).protocol
    except TreadleError as error:
        problem = str(findings_of(error, name)[0])
        return Offered(name, f"does not load: see `treadle protocol check {word(name)}`", 0, 0, source, problem)
    steps = sum(len({base_of(step) for step in graph.steps}) for graph in protocol.graphs.values())
    return Offered(name, protocol.title, len(protocol.graphs), steps, source)


def protocol_with(name: str, graph: str | None) -> Protocol:
    """A protocol that has this graph."""
    protocol = looked_at(name)
    if graph is not None and graph not in protocol.graphs:
        raise TreadleError(
            _unknown(f"{protocol.name} has no graph '{graph}'", graph, protocol.graphs), code="usage.unknown"
        )
    return protocol


def agent_step(name: str, wanted: str) -> tuple[Protocol, Step]:
    """A protocol and the step of it that is meant by STEP or GRAPH.STEP."""
    protocol = looked_at(name)
    steps = {
        f"{graph}.{step}": it
        for graph, members in protocol.graphs.items()
        for step, it in members.steps.items()
        if it.kind == "agent"
    }
    meant = [path for path in steps if wanted in (path, path.partition(".")[2])]
    if not meant:
        bare = [path.partition(".")[2] for path in steps]
        raise TreadleError(
            _unknown(f"{protocol.name} has no agent step '{wanted}'", wanted, bare), code="usage.unknown"
        )
    if len(meant) > 1:
        raise TreadleError(
            f"'{wanted}' is a step of several graphs; write one of {', '.join(meant)}", code="usage.ambiguous"
        )
    return protocol, steps[meant[0]]


def _unknown(message: str, word: str, known: Iterable[str]) -> str:
    known = list(dict.fromkeys(known))
    hint = suggest(word, known)
    return f"{message}{f' ({hint})' if hint else ''}; there are {', '.join(known)}"
