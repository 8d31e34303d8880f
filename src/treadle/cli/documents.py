"""What commands that are about no run print for programs; those about runs print what `views` makes of them."""

from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypeVar

import msgspec

from treadle.cli.health.line import Line
from treadle.config.kinds import Value
from treadle.errors import ProtocolError, TreadleError
from treadle.protocol.drawing.row import Row
from treadle.protocol.findings import Finding, Level, to_json
from treadle.protocol.model import Protocol

Document = TypeVar("Document", bound=msgspec.Struct)


class SettingValue(msgspec.Struct, frozen=True, kw_only=True):
    """A setting, and where its value came from."""

    key: str
    value: Value
    source: str
    """`default`, `user`, `project`, `environment` or `command line`."""
    file: str | None
    line: int | None


class Setting(SettingValue, frozen=True, kw_only=True):
    """One setting: `treadle config KEY --json`."""

    schema: Literal[1] = 1


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings that are in force: `treadle config --json`."""

    schema: Literal[1] = 1
    settings: tuple[SettingValue, ...]


class SettingKey(msgspec.Struct, frozen=True, kw_only=True):
    """A key of `treadle.toml`; a part in capitals stands for any name."""

    key: str
    kind: str
    """What it takes."""
    default: Value
    help: str


class SettingKeys(msgspec.Struct, frozen=True, kw_only=True):
    """Every key: `treadle config --keys --json`."""

    schema: Literal[1] = 1
    keys: tuple[SettingKey, ...]


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """What was looked at, and how it is: `treadle doctor --json`."""

    schema: Literal[1] = 1
    lines: tuple[Line, ...]


class Offered(msgspec.Struct, frozen=True):
    """A protocol in a list; one that does not load has no steps, and its problem."""

    name: str
    title: str
    graphs: int
    steps: int
    source: str
    problem: str = ""


class Protocols(msgspec.Struct, frozen=True, kw_only=True):
    """The protocols that can be named here: `treadle protocol list --json`."""

    schema: Literal[1] = 1
    protocols: tuple[Offered, ...]


class Shown(Protocol, frozen=True, kw_only=True, omit_defaults=False):
    """A protocol as it runs: `treadle protocol show --json`. Its parts leave out keys that have their default."""

    schema: Literal[1] = 1


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
    """What to do about it."""
    check: int
    """The number of the check that found it; 0: the file cannot be read."""
    level: Level
    code: str
    """The kind of problem; [Codes](codes.md) lists them."""


class ProtocolFault(Fault, frozen=True, kw_only=True):
    """One thing that is wrong with a protocol."""

    protocol: str


class Examination(msgspec.Struct, frozen=True, kw_only=True):
    """What is wrong with protocols: `treadle protocol check --json`."""

    schema: Literal[1] = 1
    findings: tuple[ProtocolFault, ...]


class Mistake(msgspec.Struct, frozen=True, kw_only=True):
    """Why a command failed."""

    code: str
    """The kind of error; [Codes](codes.md) lists them."""
    message: str
    """For people."""
    findings: tuple[Fault, ...]
    """What is wrong in files, one by one."""


class FailedCommand(msgspec.Struct, frozen=True, kw_only=True):
    """What stopped a command that was called with `--json`."""

    schema: Literal[1] = 1
    error: Mistake

    @classmethod
    def of(cls, error: TreadleError) -> "FailedCommand":
        found = [finding for finding in error.findings if isinstance(finding, Finding)]
        message = error.message if isinstance(error, ProtocolError) else str(error)
        return cls(error=Mistake(code=error.code, message=message, findings=faults(found)))


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """The edge table of a protocol: `treadle protocol table --json`."""

    schema: Literal[1] = 1
    rows: tuple[Row, ...]


class Judgement(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a file is what a protocol asks for: `treadle spec check --json`."""

    schema: Literal[1] = 1
    file: str
    protocols: tuple[str, ...]
    """Those that take it."""
    message: str
    findings: tuple[Fault, ...]


def document(kind: type[Document], value: msgspec.Struct | Mapping[str, Any]) -> Document:
    """A value as a document: the same, and the version of its form."""
    return msgspec.convert({**msgspec.to_builtins(value), "schema": 1}, kind)


def faults(findings: Iterable[Finding]) -> tuple[Fault, ...]:
    """Findings for programs."""
    return msgspec.convert(to_json(findings), tuple[Fault, ...])
