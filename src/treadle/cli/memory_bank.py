"""The memory bank of a run: read, show and check it."""

import asyncio
import re
from collections.abc import Mapping
from typing import Final, Literal, NamedTuple

import msgspec

from treadle.cli.documents import Fault, faults
from treadle.cli.run_reader import find_run, open_for_reading
from treadle.config.project import Project, open_project
from treadle.engines.evidence import read_bank
from treadle.engines.status import describe_driver
from treadle.engines.surroundings import checkout_of
from treadle.errors import TreadleError
from treadle.git.files import read_plain_file
from treadle.protocol.artifacts import (
    Reference,
    artifacts_named,
    canonical_symbol,
    documents,
    has_bank,
    is_document,
    is_view,
    known_names,
    sections,
    symbols,
    unresolved_references,
)
from treadle.protocol.findings import Finding, Place, suggest
from treadle.protocol.model import Protocol
from treadle.runtime.view_files import GrowingLog
from treadle.store.records import Run
from treadle.views.bank import Texts, run_of

# The JSON of `treadle memory show` and `treadle memory check`.


class BankSection(msgspec.Struct, frozen=True, kw_only=True):
    """A section of a document; `number` is 0 if it has none."""

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
    """The memory bank of a run, or the requested part of it: `treadle memory show --json`."""

    schema: Literal[1] = 1
    run: str
    documents: tuple[BankDocument, ...]


class BankExamination(msgspec.Struct, frozen=True, kw_only=True):
    """The findings in the memory bank of a run: `treadle memory check --json`."""

    schema: Literal[1] = 1
    run: str
    findings: tuple[Fault, ...]


# Read and show the memory bank of a run.

_TYPED: Final = re.compile(r"\A[sS](?=[0-9₀-₉])")
"""σ is on few keyboards."""


class RunBank(NamedTuple):
    """The current memory bank of a run."""

    project: Project
    run: Run
    protocol: Protocol
    texts: Texts
    driven: bool


def read_run_bank(word: str | None) -> RunBank:
    """Read the bank of the named run, else of the latest run that has one."""
    project = open_project()
    with open_for_reading(project) as store:
        if word:
            run = find_run(store, word)
        else:
            runs = [one for one in store.runs() if has_bank(store.protocol(one.protocol))]
            if not runs:
                raise TreadleError("no run has a memory bank; runs of dptr and riper have one", code="bank.none")
            run = runs[0]
        log = GrowingLog(store, run.id)
        log.catch_up()
        protocol = log.protocol or store.protocol(run.protocol)
        if not has_bank(protocol):
            raise TreadleError(
                f"{run.id} has no memory bank: {protocol.name} has none; name a run of dptr or riper", code="bank.none"
            )
        texts = asyncio.run(read_bank(project, run, log))
        return RunBank(project, run, protocol, texts, bool(describe_driver(run)))


def select_documents(found: RunBank, what: str) -> Bank:
    """Select the named documents, or all of them."""
    target, _, section = what.partition(":")
    target = _TYPED.sub("σ", target)
    names = artifacts_named(found.protocol, target) if target else list(found.protocol.artifacts)
    if not names:
        known = known_names(found.protocol)
        near = suggest(canonical_symbol(target), known) or f"choose from {', '.join(known)}"
        raise TreadleError(f"there is no document '{target[:80]}'; {near}", code="bank.unknown")
    chosen: list[BankDocument] = []
    for name in names:
        artifact = found.protocol.artifacts[name]
        if not is_document(artifact):
            continue
        texts: Mapping[str, str] = found.texts.get(name) or {artifact.path: ""}
        for path, text in sorted(texts.items()):
            document = BankDocument(
                artifact=name,
                symbols=symbols(artifact),
                path=path,
                writer=artifact.writer,
                there=bool(text),
                text=text,
                sections=tuple(BankSection(number=it.number, name=it.name, line=it.line) for it in sections(text)),
            )
            chosen.append(document)
    if section:
        chosen = [_cut_to_section(chosen, Reference(canonical_symbol(target), section))]
    return Bank(run=found.run.id, documents=tuple(chosen))


def list_documents(found: Bank) -> list[tuple[str, ...]]:
    """Format the documents as rows of a table."""
    return [
        (", ".join(it.symbols), it.artifact, it.path, it.writer, "there" if it.there else "not written yet")
        for it in found.documents
    ]


def _cut_to_section(documents: list[BankDocument], wanted: Reference) -> BankDocument:
    """Return the first document with a section, cut to that section and those below it."""
    for document in documents:
        lines, listed = document.text.splitlines(), list(sections(document.text))
        # The depth of a heading is its number of `#`; a section ends at the next heading that is not deeper.
        depths = {
            one.line: len(bare) - len(bare.lstrip("#")) for one in listed if (bare := lines[one.line - 1].lstrip())
        }
        for one in listed:
            if one.number == wanted.number if wanted.number else one.is_called(wanted.section):
                ends = [it.line for it in listed if it.line > one.line and depths[it.line] <= depths[one.line]]
                part = lines[one.line - 1 : ends[0] - 1 if ends else len(lines)]
                return msgspec.structs.replace(document, text="\n".join(part).rstrip() + "\n")
    there = [f"R{it.number} {it.name}" if it.number else it.name for one in documents for it in one.sections]
    near = suggest(wanted.section, there) or f"choose from {'; '.join(there)}"
    raise TreadleError(f"there is no section '{wanted.section[:80]}'; {near}", code="bank.unknown")


# Check the memory bank of a run.


def check_bank(found: RunBank) -> list[Finding]:
    """Return dead references, and files in the checkout that differ from the log."""
    findings: list[Finding] = []
    known = documents(found.protocol, found.texts)
    for name, texts in found.texts.items():
        if is_view(found.protocol.artifacts[name]):  # documents made from the log only quote references of others
            continue
        for path, text in texts.items():
            for one in unresolved_references(text, found.protocol, known):
                place = Place(path, one.line)
                findings.append(Finding(place, name, one.what, one.hint, code="bank.dead_reference"))

    root = checkout_of(found.project)
    for name, artifact in found.protocol.artifacts.items():
        data = read_plain_file(root, artifact.path) if root and is_view(artifact) else None
        if data is None:
            continue
        there = data.decode(errors="replace")
        place, run = Place(artifact.path), run_of(there)
        if not run:
            hint = "Treadle does not read it; move it away, and Treadle writes it again when the run moves"
            what = "differs from what Treadle wrote"
            findings.append(Finding(place, name, what, hint, code="bank.changed"))
        elif run == found.run.id and there != found.texts[name][artifact.path] and not found.driven:
            hint = f"`treadle memory show {name}` shows the current text; Treadle writes it again when the run moves"
            findings.append(Finding(place, name, "is older than the log", hint, level="warning", code="bank.stale"))
    return findings


def examine_bank(found: RunBank) -> BankExamination:
    """Check the bank, and return the findings for programs."""
    return BankExamination(run=found.run.id, findings=faults(check_bank(found)))
