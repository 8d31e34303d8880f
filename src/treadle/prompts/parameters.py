"""The parameter line of a prompt: `[S:…,R:2,C:TDD₁,P:ℜ,CTX:design=…, plan=…]`, from what its role declares."""

import re
from collections.abc import Mapping
from typing import Final

from treadle.prompts.foreign import inline
from treadle.protocol.items import Json
from treadle.protocol.model import Protocol, Role, Step

_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_SEPARATOR: Final = ", "
_MAX: Final = 300


def parameters(role: Role | None, known: Mapping[str, Json]) -> dict[str, str]:
    """Letter → text. A part of a text (they are separated by `, `) with a name that is not known is left out."""
    found = {letter: _text(text, known) for letter, text in (role.params if role else {}).items()}
    return {letter: text for letter, text in found.items() if text}


def line(found: Mapping[str, str]) -> str:
    """Parameters as prompts show them."""
    return f"[{','.join(f'{letter}:{text}' for letter, text in found.items())}]" if found else "none"


def phase(protocol: Protocol, name: str, step: Step) -> str:
    """What a protocol calls the phase that a step is: the symbol of its mode or its own, else its name."""
    role = protocol.roles.get(step.role)
    mode = role.modes.get(step.mode) if role else None
    return (mode.symbol if mode else "") or step.symbol or step.mode or name


def _text(text: str, known: Mapping[str, Json]) -> str:
    parts = [_part(part, known) for part in text.split(_SEPARATOR)]
    return _SEPARATOR.join(part for part in parts if part)


def _part(text: str, known: Mapping[str, Json]) -> str:
    if any(known.get(name) in (None, "", []) for name in _PLACEHOLDER.findall(text)):
        return ""
    return _PLACEHOLDER.sub(lambda found: _shown(known[found[1]]), text)


def _shown(value: Json) -> str:
    return inline(value, _MAX)
