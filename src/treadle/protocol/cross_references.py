"""What the cross-references of a memory bank lead to, and which of them lead nowhere."""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from treadle.protocol.findings import suggest
from treadle.protocol.lines.references import FORM, Reference, references
from treadle.protocol.memory_bank import SECTIONS, is_view, known_names, named
from treadle.protocol.model import Protocol
from treadle.protocol.sections import Section, plain, sections

_LONGEST = 60


class Document(msgspec.Struct, frozen=True):
    """A document of a bank: its artifact, where it lies, and its sections."""

    artifact: str
    path: str
    sections: tuple[Section, ...]


class Unresolved(msgspec.Struct, frozen=True):
    """A reference that leads nowhere: its line, why, and what to do about it."""

    line: int
    what: str
    hint: str


def documents(protocol: Protocol, texts: Mapping[str, Mapping[str, str]]) -> list[Document]:
    """Artifact → path → text, as documents; those that are views of a run have their sections without a text."""
    found: list[Document] = []
    for name, artifact in protocol.artifacts.items():
        if is_view(artifact):
            listed = tuple(Section(number, title) for number, title in enumerate(SECTIONS[artifact.view], 1))
            found.append(Document(name, artifact.path, listed))
        else:
            found += [Document(name, path, tuple(sections(text))) for path, text in texts.get(name, {}).items()]
    return found


def resolve(reference: Reference, protocol: Protocol, bank: Sequence[Document]) -> tuple[Document, Section] | None:
    """The section that a reference means, in the first document that has it; None: it leads nowhere."""
    names = named(protocol, reference.target)
    for each in bank:
        found = (
            next((one for one in each.sections if _is_meant(one, reference)), None) if each.artifact in names else None
        )
        if found:
            return each, found
    return None


def unresolved(text: str, protocol: Protocol, bank: Sequence[Document]) -> Iterator[Unresolved]:
    """The references of a text that lead nowhere, or cannot be read."""
    for each in references(text):
        if each.reference is None:
            yield Unresolved(each.line, f"{each.text[:_LONGEST]} is no cross-reference", f"its form is {FORM}")
        elif not resolve(each.reference, protocol, bank):
            yield Unresolved(each.line, *_why(each.text, each.reference, protocol, bank))


def _is_meant(section: Section, reference: Reference) -> bool:
    if reference.number:
        return section.number == reference.number
    return section.is_called(reference.section)


def _why(text: str, reference: Reference, protocol: Protocol, bank: Sequence[Document]) -> tuple[str, str]:
    names = named(protocol, reference.target)
    if not names:
        known = known_names(protocol)
        near = suggest(reference.target, known)
        return f"{text} names no document", near or f"there are {', '.join(known)}"
    meant = [each for each in bank if each.artifact in names]
    if not meant:
        places = ", ".join(protocol.artifacts[name].path for name in names)
        return f"{text} leads to a document that is not there", f"{places} is not written yet"
    return f"{text} leads to a section that is not there", _there(reference, meant)


def _there(reference: Reference, meant: Sequence[Document]) -> str:
    listed = [one for each in meant for one in each.sections]
    near = "" if reference.number else suggest(plain(reference.section), [plain(one.name) for one in listed])
    words = [f"R{one.number} {one.name}" if one.number else one.name for one in listed]
    return near or (f"there are {'; '.join(dict.fromkeys(words))}" if words else "it has no sections")
