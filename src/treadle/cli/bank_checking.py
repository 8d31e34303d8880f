"""What is wrong with the memory bank of a run."""

from collections.abc import Iterator

import msgspec

from treadle.cli.bank_documents import BankExamination
from treadle.cli.banking import Read
from treadle.cli.documents import Fault
from treadle.engines.surroundings import checkout_of
from treadle.git.users_files import look_at
from treadle.protocol.cross_references import documents, unresolved
from treadle.protocol.findings import Finding, Place, to_json
from treadle.protocol.memory_bank import is_view
from treadle.views.bank.files import run_of


def checked(found: Read) -> list[Finding]:
    """References that lead nowhere, and files in the checkout that are not what the log says."""
    return [*_dead(found), *_changed(found)]


def examination(found: Read) -> BankExamination:
    """The same for programs."""
    faults = msgspec.convert(to_json(checked(found)), tuple[Fault, ...])
    return BankExamination(run=found.run.id, findings=faults)


def _dead(found: Read) -> Iterator[Finding]:
    """Of what agents have written; what is made from the log quotes them."""
    known = documents(found.protocol, found.texts)
    for name, texts in found.texts.items():
        for path, text in texts.items() if not is_view(found.protocol.artifacts[name]) else ():
            for one in unresolved(text, found.protocol, known):
                yield Finding(Place(path, one.line), name, one.what, one.hint, code="bank.dead_reference")


def _changed(found: Read) -> Iterator[Finding]:
    root = checkout_of(found.project)
    for name, artifact in found.protocol.artifacts.items():
        data = look_at(root, artifact.path) if root and is_view(artifact) else None
        if data is None:
            continue
        there = data.decode(errors="replace")
        place, run = Place(artifact.path), run_of(there)
        if not run:
            hint = "nothing reads it; remove it, or keep it elsewhere, and it is made again when the run moves"
            yield Finding(place, name, "was changed by somebody, or is somebody's own", hint, code="bank.changed")
        elif run == found.run.id and there != found.texts[name][artifact.path] and not found.driven:
            hint = f"`treadle memory show {name}` has it as it is; it is made again when the run moves"
            yield Finding(place, name, "is older than the log", hint, level="warning", code="bank.stale")
