"""How a step was left, in words that people know: `failing (scope_warning)`, not `failing_measured.scope_warning`."""

from typing import Final

from treadle.protocol.model import Protocol
from treadle.views.refusal import WORDS

_PLAIN: Final = "none"
"""The variant that says nothing."""


def exit_words(protocol: Protocol | None, left: str) -> str:
    """An exit by the first of its other names, which agents use too; what the orchestrator made of it, in words."""
    tag, _, variant = left.partition(".")
    if left.startswith("!"):
        return WORDS.get(tag, tag)
    declared = protocol.exits.get(tag) if protocol else None
    name = next(iter(declared.also), tag) if declared else tag
    return f"{name} ({variant})" if variant not in ("", _PLAIN) else name
