"""Cross-references of what an agent has written, held against the memory bank as it will be then."""

from collections.abc import Mapping

from treadle.evidence.findings import Problem, problem
from treadle.evidence.subject import Subject
from treadle.protocol.artifact_place import place_of
from treadle.protocol.cross_references import Document, documents, unresolved
from treadle.protocol.lines.references import references
from treadle.protocol.memory_bank import fits, is_document, is_view


async def dead_references(s: Subject, given: Mapping[str, str], checked: Mapping[str, str]) -> list[Problem]:
    """The references of some texts (path → text) that lead nowhere; `given` are documents of the claim itself."""
    if not any(True for text in checked.values() for _ in references(text)):
        return []
    bank = await _bank(s, given)
    return [
        problem(one.what, path, one.line, expected=one.hint, code="document.dead_reference")
        for path, text in checked.items()
        for one in unresolved(text, s.case.protocol, bank)
    ]


async def _bank(s: Subject, given: Mapping[str, str]) -> list[Document]:
    """The documents of the recorded work, and those of the claim in the place of their earlier versions."""
    artifacts = {name: one for name, one in s.case.protocol.artifacts.items() if is_document(one) and not is_view(one)}
    paths = await s.entries()
    lying = {name: list(filter(fits(one), paths)) for name, one in artifacts.items()}
    read = await s.texts([path for listed in lying.values() for path in listed])
    texts = {name: {path: read[path] for path in listed if path in read} for name, listed in lying.items()}
    for name, text in given.items():
        if name in artifacts and (place := place_of(artifacts[name], s.input)):
            texts[name][place] = text
    return documents(s.case.protocol, texts)
