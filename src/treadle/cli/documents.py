"""JSON documents that several commands print; those of one command are in its module, those of runs in `views`."""

from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypeVar

import msgspec

from treadle.errors import ProtocolError, TreadleError
from treadle.protocol.findings import Finding, Level, to_json

Document = TypeVar("Document", bound=msgspec.Struct)


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is wrong in a file."""

    file: str
    line: int
    """Lines and columns count from 1; 0: the file as a whole."""
    column: int
    where: str
    """The part of the file: `node.tests`."""
    message: str
    hint: str
    """The advice to repair it."""
    check: int
    """The number of the check that found it; 0: the file cannot be read."""
    level: Level
    code: str
    """The kind of problem; [Codes](codes.md) lists them."""


class Mistake(msgspec.Struct, frozen=True, kw_only=True):
    """Why a command failed."""

    code: str
    """The kind of error; [Codes](codes.md) lists them."""
    message: str
    """For people."""
    findings: tuple[Fault, ...]
    """The findings in files, one by one."""


class FailedCommand(msgspec.Struct, frozen=True, kw_only=True):
    """The error that stopped a command called with `--json`."""

    schema: Literal[1] = 1
    error: Mistake

    @classmethod
    def of(cls, error: TreadleError) -> "FailedCommand":
        found = [finding for finding in error.findings if isinstance(finding, Finding)]
        message = error.message if isinstance(error, ProtocolError) else str(error)
        return cls(error=Mistake(code=error.code, message=message, findings=faults(found)))


def document(kind: type[Document], value: msgspec.Struct | Mapping[str, Any]) -> Document:
    """Convert a value into a document: its fields, and the version of the format."""
    return msgspec.convert({**msgspec.to_builtins(value), "schema": 1}, kind)


def faults(findings: Iterable[Finding]) -> tuple[Fault, ...]:
    """Convert findings for programs."""
    return msgspec.convert(to_json(findings), tuple[Fault, ...])
