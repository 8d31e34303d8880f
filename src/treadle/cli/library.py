"""The protocols within reach of the current folder: the built-in ones, and the project's own in `.treadle/`."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from treadle.cli.changes import extended, misplaced, overlays, own_folder, rules_file, templates
from treadle.errors import ProtocolError, TreadleError
from treadle.protocol.findings import suggest
from treadle.protocol.load import BUILT_IN, Loaded, available, find, load_source, read_text, read_tree
from treadle.protocol.reading.assemble import MAIN
from treadle.protocol.reading.part import quoted
from treadle.protocol.terms import FILE as TERMS
from treadle.protocol.terms import Terms, read_terms
from treadle.simulate.scope import Scope
from treadle.simulate.scopes import FILE, SMALL, read_scopes

EXAMPLE: Final = "example.yaml"


def names() -> dict[str, Path]:
    """Every protocol that can be named here, with its folder."""
    return available([own_folder("protocols")])


def is_built_in(name: str) -> bool:
    """Whether Treadle comes with a protocol of this name."""
    return name in available()


def source_of(folder: Path) -> str:
    """Where a protocol comes from, in words."""
    return "built in" if folder.is_relative_to(BUILT_IN) else str(folder)


def opened(name: str) -> Loaded:
    """A protocol by name or path; a named one as it is in force here, which nothing may be if a change cannot."""
    known = names()
    found = misplaced(known) if name in known else []
    if found:
        raise ProtocolError("the project's changes cannot be put in force", tuple(found), code="protocol.invalid")
    return loaded(name)


def loaded(name: str) -> Loaded:
    """A protocol by name or path; a named one with those changes of the project that can be put in force."""
    known = names()
    if name not in known:
        return load_source(folder(name))
    return load_source(
        name,
        search=[own_folder("protocols")],
        overlays=overlays(name),
        templates=dict(templates(name)),
        rules=rules_file() if (known[name] / "step-rules.yaml").is_file() else None,
    )


def folder(name: str) -> Path:
    """The folder of a protocol, by name or path."""
    known = names()
    if name in known:
        return known[name]
    if not os.path.exists(name) and Path(name).name == name:  # noqa: PTH110 - what is too long for a path is not there
        hint = suggest(name, known)
        raise TreadleError(
            f"there is no protocol {quoted(name)}{f' ({hint})' if hint else ''}; there are {', '.join(known)}",
            code="protocol.unknown",
        )
    return find(Path(name))


def example(name: str) -> str:
    """The commented example of a protocol's input: its own, or that of the protocol that it extends."""
    own = folder(name)
    for place in _lineage(own):
        if (place / EXAMPLE).is_file():
            return read_text(place / EXAMPLE)
    raise ProtocolError(
        f"{own / EXAMPLE}: this protocol has no example of its input; write one, or see its page",
        code="protocol.no_example",
    )


def terms(name: str) -> dict[str, Terms]:
    """On which terms the steps of a protocol are done alone: its own, or those of the protocol that it extends."""
    found = next((place / TERMS for place in _lineage(folder(name)) if (place / TERMS).is_file()), None)
    return read_terms(read_tree(found)) if found else {}


def _lineage(own: Path) -> Iterator[Path]:
    """A protocol's folder, then those of the protocols that it extends; one may extend the built-in one of its name."""
    seen: list[Path] = []
    at: Path | None = own
    while at is not None:
        yield at
        seen.append(at.resolve())
        base = extended(at / MAIN)
        places = [place / base for place in (own_folder("protocols"), BUILT_IN)] if base else []
        at = next((place for place in places if (place / MAIN).is_file() and place.resolve() not in seen), None)


def scopes(name: str) -> dict[str, Scope]:
    """The named scopes of a protocol, for `explore`; the first is the one that it takes by itself."""
    path = folder(name) / FILE
    return {SMALL.name: SMALL} | (read_scopes(read_text(path), str(path)) if path.is_file() else {})
