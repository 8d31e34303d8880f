"""What a question to a person leaves open besides its choices: unclear requirements, each with a suggestion."""

import msgspec

from treadle.kernel.commands import AskHuman
from treadle.ports import Payloads
from treadle.protocol.items import Json

FIELD = "clarifications"
"""The field of an exit that lists them."""


class Clarification(msgspec.Struct, frozen=True):
    """Something that only a person knows."""

    question: str
    suggestion: str = ""
    """The answer that counts if nobody gives another."""


def clarifications(command: AskHuman, payloads: Payloads) -> tuple[Clarification, ...]:
    """Those that the steps before a question have left open."""
    refs = [ref for slot, some in command.inputs.items() if slot != "in" for ref in some if ref.startswith("sha256:")]
    return tuple(dict.fromkeys(one for ref in refs for one in _listed(payloads.get(ref))))


def _listed(payload: Json) -> list[Clarification]:
    listed = payload.get(FIELD) if isinstance(payload, dict) else None
    found = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    return [Clarification(_text(it.get("question")), _text(it.get("suggestion"))) for it in found if it.get("question")]


def _text(value: Json) -> str:
    return value.strip() if isinstance(value, str) else ""
