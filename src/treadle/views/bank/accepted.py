"""The documents that agents have written into the bank: those of accepted exits, as the log has them."""

from treadle.evidence.documents import documents_of
from treadle.protocol.artifact_place import place_of
from treadle.protocol.model import Protocol
from treadle.views.bank.course import Course
from treadle.views.bank.standing import payload_ref
from treadle.views.evidence_records import payload
from treadle.views.payload import Get

Texts = dict[str, dict[str, str]]
"""Artifact → path → text."""


def accepted_documents(protocol: Protocol, course: Course, get: Get) -> Texts:
    """Of several at one place, the last."""
    found: Texts = {}
    for deed in course.deeds():
        if deed.left and not deed.left.startswith("!"):
            given = payload(get, course.state.insts[deed.command.inst].input.ref)
            for name, text in documents_of(protocol, deed.left, payload(get, payload_ref(deed))).items():
                if place := place_of(protocol.artifacts[name], given):
                    found.setdefault(name, {})[place] = text
    return found
