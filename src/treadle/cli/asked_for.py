"""What a run is asked for: all of a file, a part of it, or what a protocol itself begins such a part with."""

from pathlib import Path
from typing import Final

import msgspec

from treadle.cli import library
from treadle.cli.advice import word
from treadle.cli.brought import PARTS
from treadle.cli.given import refuse_what_is_missing
from treadle.cli.specs import text_of_spec
from treadle.config.project import Project
from treadle.engines.earlier import given
from treadle.errors import TreadleError
from treadle.protocol.alone import alone
from treadle.protocol.answers.ids import id_of
from treadle.protocol.items import Json
from treadle.protocol.load import read_text
from treadle.protocol.model import Protocol

_PROJECT: Final = "{project}"
"""Stands there for the name of the project's folder."""


class AskedFor(msgspec.Struct, frozen=True):
    """The protocol as far as it is wanted, and its input."""

    protocol: Protocol
    text: str
    file: str


def asked_for(project: Project, protocol: Protocol, name: str, spec: Path | None, only: str) -> AskedFor:
    """What a run is to do; a `TreadleError` says what is missing, or why a part cannot be done alone."""
    text, file = (text_of_spec(spec), str(spec)) if spec else _own(project, name, only)
    if not text and protocol.graphs[protocol.root].input[1]:
        raise TreadleError(
            f"{name} needs a SPEC; `treadle spec new --protocol {name}` writes an example", code="spec.missing"
        )
    if not only:
        return AskedFor(protocol, text, file)
    part = alone(protocol, only, library.terms(name))
    value: Json = given(project, protocol, text, file).value
    refuse_what_is_missing(project, part, value, f"treadle run {word(spec) if spec else ''}".rstrip())
    left = {key: one for key, one in _fields(part.narrowed(value)).items() if one is not None}
    return AskedFor(part.protocol, msgspec.json.encode(left).decode(), f"{Path(file).with_suffix('')}.json")


def _own(project: Project, name: str, only: str) -> tuple[str, str]:
    """The input that a protocol brings for a part of it; nothing if it brings none."""
    part = only.rpartition(":")[2]
    path = library.folder(name) / PARTS / f"{part}.yaml"
    if not part or Path(part).name != part or not path.is_file():
        return "", ""
    quoted = msgspec.json.encode(id_of(project.root.name)).decode()
    return read_text(path, 100_000).replace(_PROJECT, quoted), path.name


def _fields(value: Json) -> dict[str, Json]:
    return value if isinstance(value, dict) else {}
