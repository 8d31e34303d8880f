"""The memory bank: artifacts that are documents with sections, how they are called, and which of them are views."""

import re
from collections.abc import Callable
from typing import Final

from treadle.protocol.lines.references import canonical
from treadle.protocol.model import Artifact, Protocol

SECTIONS: Final[dict[str, tuple[str, ...]]] = {
    "brief": ("Brief", "Modules", "Criteria", "Constraints", "Technology"),
    "context": ("State", "Handoff", "Design", "Plan", "Agents", "Snapshot"),
    "progress": ("tdd_cycles", "Batches", "Errors", "Failed gates", "Decisions"),
    "protection": ("Levels", "Confirmed", "Open"),
}
"""The sections of the documents that are views of a run, in order: R1, R2, … All are always there."""
_PLACEHOLDER: Final = re.compile(r"\{[^{}]*\}")


def is_view(artifact: Artifact) -> bool:
    """Whether an artifact is a document that is made from the run's log."""
    return artifact.view in SECTIONS


def has_bank(protocol: Protocol) -> bool:
    """Whether a protocol has such documents."""
    return any(map(is_view, protocol.artifacts.values()))


def view_paths(protocol: Protocol) -> list[str]:
    """Where they lie."""
    return [artifact.path for artifact in protocol.artifacts.values() if is_view(artifact)]


def is_document(artifact: Artifact) -> bool:
    """Whether an artifact has sections that can be referred to."""
    return is_view(artifact) or (not artifact.view and artifact.path.endswith(".md"))


def symbols(artifact: Artifact) -> tuple[str, ...]:
    """How an artifact is called: `σ₃, σ₂.tech_stack` are two symbols."""
    return tuple(canonical(part.strip()) for part in artifact.symbol.split(",") if part.strip())


def named(protocol: Protocol, target: str) -> list[str]:
    """The artifacts that a symbol or a name means: σ₂ is every σ₂.x too."""
    target = canonical(target)
    return [
        name
        for name, artifact in protocol.artifacts.items()
        if is_document(artifact) and (target == name or _means(symbols(artifact), target))
    ]


def known_names(protocol: Protocol) -> list[str]:
    """Everything by which a document can be named, symbols first."""
    meant = {name: artifact for name, artifact in protocol.artifacts.items() if is_document(artifact)}
    written = sorted({symbol for artifact in meant.values() for symbol in symbols(artifact)})
    return list(dict.fromkeys([*(symbol.partition(".")[0] for symbol in written), *written, *meant]))


def fits(artifact: Artifact) -> Callable[[str], bool]:
    """Whether a path is one at which an artifact may lie, whatever its placeholders stand for."""
    wild = re.compile("[^/]+".join(map(re.escape, _PLACEHOLDER.split(artifact.path))))
    return lambda path: bool(wild.fullmatch(path))


def _means(written: tuple[str, ...], target: str) -> bool:
    return any(symbol == target or symbol.startswith(f"{target}.") for symbol in written)
