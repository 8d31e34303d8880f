"""How a step was left, in words that people know: `failing (scope_warning)`, not `failing_measured.scope_warning`."""

from typing import Final

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


def exit_name(protocol: Protocol | None, tag: str) -> str:
    """A kind of another exit by that one's name, which agents use too: `pass_red`, also accepted as `pass`, is a pass.

    Any other name that an exit is also accepted by is a spelling, and people know it by its own.
    """
    declared = protocol.exits.get(tag) if protocol else None
    kinds = (name for name in declared.also if tag.startswith(f"{name}_")) if declared else ()
    return next(iter(kinds), tag)
