"""What `treadle memory show` and `treadle memory check` print for programs."""

from typing import Literal

import msgspec

from treadle.cli.documents import Fault


class BankSection(msgspec.Struct, frozen=True, kw_only=True):
    """A section of a document; 0: it has no number."""

    number: int
    name: str
    line: int


class BankDocument(msgspec.Struct, frozen=True, kw_only=True):
    """A document of a memory bank."""

    artifact: str
    symbols: tuple[str, ...]
    path: str
    """Where it lies, or will."""
    writer: str
    """The role that writes it, or `orchestrator`: then it is made from the log."""
    there: bool
    text: str
    sections: tuple[BankSection, ...]


class Bank(msgspec.Struct, frozen=True, kw_only=True):
    """The memory bank of a run, or what was asked for of it: `treadle memory show --json`."""

    schema: Literal[1] = 1
    run: str
    documents: tuple[BankDocument, ...]


class BankExamination(msgspec.Struct, frozen=True, kw_only=True):
    """What is wrong with the memory bank of a run: `treadle memory check --json`."""

    schema: Literal[1] = 1
    run: str
    findings: tuple[Fault, ...]
