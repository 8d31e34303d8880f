"""The memory bank of a run, as `treadle memory` reads and shows it."""

import asyncio
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Final, NamedTuple

import msgspec

from treadle.cli.bank_documents import Bank, BankDocument, BankSection
from treadle.cli.reading import driver, find_run, reading
from treadle.config.project import Project, open_project
from treadle.engines.bank import read_bank
from treadle.errors import TreadleError
from treadle.kernel.replay import unbroken
from treadle.protocol.findings import suggest
from treadle.protocol.lines.references import Reference, canonical
from treadle.protocol.memory_bank import has_bank, is_document, known_names, named, symbols
from treadle.protocol.model import Protocol
from treadle.protocol.sections import sections
from treadle.store.records import Run
from treadle.store.sqlite import Store
from treadle.views.bank.accepted import Texts
from treadle.views.bank.course import Course

_TYPED: Final = re.compile(r"\A[sS](?=[0-9₀-₉])")
"""σ is on few keyboards."""


class Read(NamedTuple):
    """A run's bank as it stands."""

    project: Project
    run: Run
    protocol: Protocol
    texts: Texts
    driven: bool


def read(word: str | None) -> Read:
    """The bank of a run: the one that is named, else the latest that has one."""
    project = open_project()
    with reading(project) as store:
        run = find_run(store, word) if word else _latest(store)
        course = Course(cache(store.protocol))
        for body, _ in unbroken(store.tail(run.id)[1]):
            course.take(body)
        protocol = course.protocol or store.protocol(run.protocol)
        if not has_bank(protocol):
            raise TreadleError(
                f"{run.id} has no memory bank: {protocol.name} has none; name a run of dptr or riper", code="bank.none"
            )
        texts = asyncio.run(read_bank(project, run, course, store.payloads))
        return Read(project, run, protocol, texts, bool(driver(run)))


def shown(found: Read, what: str) -> Bank:
    """The documents that are meant; all of them if nothing is named."""
    target, _, section = what.partition(":")
    target = _TYPED.sub("σ", target)
    names = named(found.protocol, target) if target else list(found.protocol.artifacts)
    if not names:
        near = suggest(canonical(target), known_names(found.protocol))
        raise TreadleError(
            f"there is no document '{target[:80]}'; {near or 'there are ' + _all(found.protocol)}", code="bank.unknown"
        )
    meant = [one for name in names for one in _documents(found, name)]
    if section:
        meant = [_only(meant, Reference(canonical(target), section))]
    return Bank(run=found.run.id, documents=tuple(meant))


def listed(found: Bank) -> list[tuple[str, ...]]:
    """The documents, a line each."""
    return [
        (", ".join(it.symbols), it.artifact, it.path, it.writer, "there" if it.there else "not written yet")
        for it in found.documents
    ]


def _latest(store: Store) -> Run:
    runs = [run for run in store.runs() if has_bank(store.protocol(run.protocol))]
    if not runs:
        raise TreadleError("no run has a memory bank; runs of dptr and riper have one", code="bank.none")
    return runs[0]


def _all(protocol: Protocol) -> str:
    return ", ".join(known_names(protocol))


def _documents(found: Read, name: str) -> Iterator[BankDocument]:
    artifact = found.protocol.artifacts[name]
    if not is_document(artifact):
        return
    texts: Mapping[str, str] = found.texts.get(name) or {artifact.path: ""}
    for path, text in sorted(texts.items()):
        yield BankDocument(
            artifact=name,
            symbols=symbols(artifact),
            path=path,
            writer=artifact.writer,
            there=bool(text),
            text=text,
            sections=tuple(BankSection(number=it.number, name=it.name, line=it.line) for it in sections(text)),
        )


def _only(meant: list[BankDocument], wanted: Reference) -> BankDocument:
    """The first document that has a section, with nothing but that in it."""
    for each in meant:
        for one in sections(each.text):
            if one.number == wanted.number if wanted.number else one.is_called(wanted.section):
                return msgspec.structs.replace(each, text=_part(each.text, one.line))
    there = [f"R{one.number} {one.name}" if one.number else one.name for each in meant for one in each.sections]
    near = suggest(wanted.section, there)
    raise TreadleError(
        f"there is no section '{wanted.section[:80]}'; {near or 'there are ' + '; '.join(there)}", code="bank.unknown"
    )


def _part(text: str, line: int) -> str:
    """A section with all below it."""
    lines = text.splitlines()
    own = _depth(lines[line - 1])
    ends = [one.line for one in sections(text) if one.line > line and _depth(lines[one.line - 1]) <= own]
    return "\n".join(lines[line - 1 : ends[0] - 1 if ends else len(lines)]).rstrip() + "\n"


def _depth(line: str) -> int:
    bare = line.lstrip()
    return len(bare) - len(bare.lstrip("#"))
