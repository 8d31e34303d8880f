"""How a step was left, in words that people know: `failing (scope_warning)`, not `failing_measured.scope_warning`."""

from typing import Final

from treadle.protocol.exit_name import exit_name
from treadle.protocol.model import Protocol
from treadle.views.refusal import WORDS

_PLAIN: Final = "none"
"""The variant that says nothing."""


def exit_words(protocol: Protocol | None, left: str) -> str:
    """An exit by the name that people know; what the orchestrator made of it, in words."""
    tag, _, variant = left.partition(".")
    if left.startswith("!"):
        return WORDS.get(tag, tag)
    name = exit_name(protocol, tag)
    return f"{name} ({variant})" if variant not in ("", _PLAIN) else name
