"""Artifacts and the memory bank: where they lie, how they are called, their sections, and the references between them.

A cross-reference leads to a section of a document: `[↗️σ₂:R1]`, `[↗️σ₂.tech_stack:Data flow]`, `[↗️design:R2]`.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from treadle.protocol.agent_lines import read_quoted
from treadle.protocol.findings import suggest
from treadle.protocol.items import Json
from treadle.protocol.model import Artifact, Protocol, tag_of
from treadle.protocol.paths import clean_path, path_fault

# A cross-reference to a section of a document: `[↗️σ₂:R1]`, `[↗️σ₂.tech_stack:Data flow]`, `[↗️design:R2]`.
#
# The target is a symbol of the protocol or the name of an artifact; the section is its number or its heading. Digits
# may be written either way (`σ2`, `R₁`), the arrow with or without its variation selector. A heading that could be
# misread is a JSON string. Code contains no references.

_FORM: Final = "[↗️σₓ:Rₓ]"
_LOW: Final = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
_PLAIN: Final = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")
_BEGIN: Final = re.compile(r"\[↗\ufe0f?")
_TARGET: Final = re.compile(r"\s*(?P<target>[^\s:\[\]`]+)\s*:\s*")
_SECTION: Final = re.compile(r"[^\[\]`]*")
_END: Final = re.compile(r"\s*\]")
_NUMBER: Final = re.compile(r"R\s?([0-9₀-₉]{1,6})")
_SIGMA: Final = re.compile(r"[σς]([0-9₀-₉]{1,3})(.*)", re.DOTALL)
_FENCE: Final = re.compile(r"\s{0,3}(`{3,}|~{3,})")
_CODE: Final = re.compile(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)")


class Reference(msgspec.Struct, frozen=True):
    """Which document is meant, and which section of it."""

    target: str
    section: str

    @property
    def number(self) -> int:
        """The number of the section; 0 if it is meant by its heading."""
        found = _NUMBER.fullmatch(self.section)
        return int(found[1].translate(_PLAIN)) if found else 0


class ReferenceMention(msgspec.Struct, frozen=True):
    """A reference in a text, as it is written there, and its line; None: it cannot be read."""

    line: int
    text: str
    reference: Reference | None


def canonical_symbol(symbol: str) -> str:
    """A symbol with its digits below the line: `σ4` is σ₄."""
    found = _SIGMA.fullmatch(symbol)
    return f"σ{found[1].translate(_LOW)}{found[2]}" if found else symbol


def find_references(text: str) -> Iterator[ReferenceMention]:
    """All references of a document."""
    for number, whole in prose(text):
        line, at = _CODE.sub("", whole), 0
        while begin := _BEGIN.search(line, at):
            found = _read(line, begin.end())
            at = found[1] if found else begin.end()
            yield ReferenceMention(
                number, line[begin.start() : at] if found else line[begin.start() :], found and found[0]
            )


def prose(text: str) -> Iterator[tuple[int, str]]:
    """The lines of a document by their numbers, from 1, without fenced code."""
    fence = ""
    for number, line in enumerate(text.splitlines(), 1):
        mark = _FENCE.match(line)
        if fence:
            closes = mark and mark[1].startswith(fence) and not line.strip(" `~")
            fence = "" if closes else fence
        elif mark:
            fence = mark[1]
        else:
            yield number, line


def _read(text: str, at: int) -> tuple[Reference, int] | None:
    """Parse a reference after its opening mark; return it with the offset of its end."""
    target = _TARGET.match(text, at)
    if target is None:
        return None
    if quoted := read_quoted(text, target.end()):
        section, at = quoted
    else:
        match = _SECTION.match(text, target.end())
        section, at = (match[0].strip(), match.end()) if match else ("", target.end())
    end = _END.match(text, at)
    return (Reference(canonical_symbol(target["target"]), section), end.end()) if end and section else None


SECTIONS: Final[dict[str, tuple[str, ...]]] = {
    "brief": ("Brief", "Modules", "Criteria", "Constraints", "Technology"),
    "context": ("State", "Handoff", "Design", "Plan", "Agents", "Snapshot"),
    "progress": ("tdd_cycles", "Batches", "Errors", "Failed gates", "Decisions"),
    "protection": ("Levels", "Confirmed", "Open"),
}
"""The sections of the documents that are views of a run, in order: R1, R2, … All are always there."""
_PLACEHOLDER: Final = re.compile(r"\{([^{}]*)\}")


def is_view(artifact: Artifact) -> bool:
    """Whether an artifact is a document that is made from the run's log."""
    return artifact.view in SECTIONS


def has_bank(protocol: Protocol) -> bool:
    """Whether a protocol has documents that are made from the run's log."""
    return any(map(is_view, protocol.artifacts.values()))


def view_paths(protocol: Protocol) -> list[str]:
    """The paths of the documents that are made from the run's log."""
    return [artifact.path for artifact in protocol.artifacts.values() if is_view(artifact)]


def is_document(artifact: Artifact) -> bool:
    """Whether an artifact has sections that can be referred to."""
    return is_view(artifact) or (not artifact.view and artifact.path.endswith(".md"))


def symbols(artifact: Artifact) -> tuple[str, ...]:
    """How an artifact is called: `σ₃, σ₂.tech_stack` are two symbols."""
    return tuple(canonical_symbol(part.strip()) for part in artifact.symbol.split(",") if part.strip())


def artifacts_named(protocol: Protocol, target: str) -> list[str]:
    """The artifacts that a symbol or a name means: σ₂ is every σ₂.x too."""
    target = canonical_symbol(target)
    named = []
    for name, artifact in protocol.artifacts.items():
        is_meant = any(symbol == target or symbol.startswith(f"{target}.") for symbol in symbols(artifact))
        if is_document(artifact) and (target == name or is_meant):
            named.append(name)
    return named


def known_names(protocol: Protocol) -> list[str]:
    """Everything by which a document can be named, symbols first."""
    meant = {name: artifact for name, artifact in protocol.artifacts.items() if is_document(artifact)}
    written = sorted({symbol for artifact in meant.values() for symbol in symbols(artifact)})
    return list(dict.fromkeys([*(symbol.partition(".")[0] for symbol in written), *written, *meant]))


def path_matcher(artifact: Artifact) -> Callable[[str], bool]:
    """Return a predicate: whether an artifact may lie at a path, for any values of its placeholders."""
    wild = re.compile("[^/]+".join(map(re.escape, _PLACEHOLDER.split(artifact.path)[::2])))
    return lambda path: bool(wild.fullmatch(path))


# The path of an artifact in the repository, for an instance with some input.

_ALSO: Final = {"story": "id"}
"""Placeholders that are aliases of an input field: `{story}` is the id."""


def place_of(artifact: Artifact, values: Mapping[str, Json]) -> str:
    """Return an artifact's path for an instance with this input; empty if that is no valid path."""
    path = fill_placeholders(artifact.path, values)
    return "" if path_fault(path) else clean_path(path)


def documents_of(protocol: Protocol, exit_: str, claim: Mapping[str, Json]) -> dict[str, str]:
    """Return the documents in a claim, by the name of their artifact, without views, which no agent returns."""
    declared = protocol.exits.get(tag_of(exit_))
    fields = declared.fields if declared else {}
    kept = {name for name, artifact in protocol.artifacts.items() if not artifact.view}
    names = [name for name, field in fields.items() if field.by == "agent" and name in kept]
    return {name: value for name in names if isinstance(value := claim.get(name), str)}


def fill_placeholders(path: str, values: Mapping[str, Json]) -> str:
    """Fill in a path's placeholders; a value that is no valid path becomes a NUL, which no file name has."""

    def fill(match: re.Match[str]) -> str:
        value = values.get(match[1], values.get(_ALSO.get(match[1], ""), ""))
        return value if isinstance(value, str) and not path_fault(value) else "\0"

    return _PLACEHOLDER.sub(fill, path)


# The sections of a document in Markdown.

_HEADING: Final = re.compile(r" {0,3}(#{1,6})\s+(.*?)\s*#*\s*\Z")
_NUMBERED: Final = re.compile(r"R([0-9]{1,6})\b[\s.:)–—-]*(.*)\Z")
_MARKUP: Final = re.compile(r"[`*_]")


class Section(msgspec.Struct, frozen=True):
    """A section: its number (0: it has none), its heading, and its line."""

    number: int
    name: str
    line: int = 0

    def is_called(self, name: str) -> bool:
        return plain_heading(self.name) == plain_heading(name)


def plain_heading(name: str) -> str:
    """A heading without markup, in any case."""
    return " ".join(_MARKUP.sub("", name).casefold().split())


def sections(text: str) -> Iterator[Section]:
    """The sections of a text.

    A heading that begins with R1 has that number. Where none does, they are counted: those of the second level if
    there are any, else all of the level that there is.
    """
    found = [(len(match[1]), match[2], line) for line, words in prose(text) if (match := _HEADING.match(words))]
    own = {line: match for _, name, line in found if (match := _NUMBERED.match(name))}
    counted = min((depth for depth, _, _ in found if depth > 1), default=1)
    count = 0
    for depth, name, line in found:
        if line in own:
            yield Section(int(own[line][1]), own[line][2] or name, line)
        elif depth == counted and not own:
            count += 1
            yield Section(count, name, line)
        else:
            yield Section(0, name, line)


# Resolving the cross-references of a memory bank, and reporting those that lead nowhere.

_LONGEST = 60


class Document(msgspec.Struct, frozen=True):
    """A document of a bank: its artifact, where it lies, and its sections."""

    artifact: str
    path: str
    sections: tuple[Section, ...]


class UnresolvedReference(msgspec.Struct, frozen=True):
    """A reference that leads nowhere: its line, the reason, and a hint."""

    line: int
    what: str
    hint: str


def documents(protocol: Protocol, texts: Mapping[str, Mapping[str, str]]) -> list[Document]:
    """Build documents from artifact → path → text; views of a run have fixed sections and need no text."""
    found: list[Document] = []
    for name, artifact in protocol.artifacts.items():
        if is_view(artifact):
            listed = tuple(Section(number, title) for number, title in enumerate(SECTIONS[artifact.view], 1))
            found.append(Document(name, artifact.path, listed))
        else:
            found += [Document(name, path, tuple(sections(text))) for path, text in texts.get(name, {}).items()]
    return found


def resolve_reference(
    reference: Reference, protocol: Protocol, bank: Sequence[Document]
) -> tuple[Document, Section] | None:
    """The section that a reference means, in the first document that has it; None: it leads nowhere."""
    names = artifacts_named(protocol, reference.target)
    for document in (each for each in bank if each.artifact in names):
        for section in document.sections:
            is_number = section.number == reference.number
            if is_number if reference.number else section.is_called(reference.section):
                return document, section
    return None


def unresolved_references(text: str, protocol: Protocol, bank: Sequence[Document]) -> Iterator[UnresolvedReference]:
    """The references of a text that lead nowhere, or cannot be read."""
    for each in find_references(text):
        if each.reference is None:
            yield UnresolvedReference(
                each.line, f"{each.text[:_LONGEST]} is not a cross-reference", f"its form is {_FORM}"
            )
        elif not resolve_reference(each.reference, protocol, bank):
            yield UnresolvedReference(each.line, *_why(each.text, each.reference, protocol, bank))


def _why(text: str, reference: Reference, protocol: Protocol, bank: Sequence[Document]) -> tuple[str, str]:
    names = artifacts_named(protocol, reference.target)
    if not names:
        known = known_names(protocol)
        near = suggest(reference.target, known)
        return f"{text} names no document", near or f"choose from {', '.join(known)}"
    meant = [each for each in bank if each.artifact in names]
    if not meant:
        places = ", ".join(protocol.artifacts[name].path for name in names)
        return f"{text} leads to a document that does not exist", f"{places} is not written yet"
    listed = [section for document in meant for section in document.sections]
    headings = [] if reference.number else [plain_heading(section.name) for section in listed]
    near = suggest(plain_heading(reference.section), headings)
    words = [f"R{section.number} {section.name}" if section.number else section.name for section in listed]
    there = f"choose from {'; '.join(dict.fromkeys(words))}" if words else "it has no sections"
    return f"{text} leads to a section that does not exist", near or there
