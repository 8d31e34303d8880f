"""The parameters of a prompt: `[S:…,R:2,C:TDD₁,P:ℜ,CTX:design=…, plan=…]`, from what its role declares."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from treadle.prompts.foreign import inline
from treadle.protocol.items import Json
from treadle.protocol.lines.parameters import CONTEXT, Parameters, Part, context, render
from treadle.protocol.model import Protocol, Role, Step

_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_NAMED = re.compile(r"([^\W\d][\w.-]*)=(.*)", re.DOTALL)
_SEPARATOR: Final = ", "
_QUOTE: Final = '"'


def parameters(role: Role | None, known: Mapping[str, Json]) -> Parameters:
    """What a role is told. A part of a text (they are separated by `, `) with a name that is not known is left out."""
    declared = role.params if role else {}
    texts = {letter: [*_filled(text, known)] for letter, text in declared.items()}
    letters = {letter: _SEPARATOR.join(map(_whole, parts)) for letter, parts in texts.items() if letter != CONTEXT}
    return Parameters({letter: text for letter, text in letters.items() if text}, tuple(texts.get(CONTEXT, ())))


def line(found: Parameters) -> str:
    """Parameters as prompts show them."""
    return render(found)


def by_letter(found: Parameters) -> dict[str, str]:
    """Letter → text; the context as it stands in the line."""
    return found.letters | ({CONTEXT: context(found.context)} if found.context else {})


def phase(protocol: Protocol, name: str, step: Step) -> str:
    """What a protocol calls the phase that a step is: the symbol of its mode or its own, else its name."""
    role = protocol.roles.get(step.role)
    mode = role.modes.get(step.mode) if role else None
    return (mode.symbol if mode else "") or step.symbol or step.mode or name


def _filled(text: str, known: Mapping[str, Json]) -> Iterator[Part]:
    for part in text.split(_SEPARATOR):
        if not any(known.get(name) in (None, "", []) for name in _PLACEHOLDER.findall(part)):
            named = _NAMED.fullmatch(part)
            key, value = (named[1], named[2]) if named else ("", part)
            is_quoted = len(value) > 1 and value[0] == value[-1] == _QUOTE
            inner = value[1:-1] if is_quoted else value
            filled = _PLACEHOLDER.sub(lambda found: _shown(known[found[1]]), inner)
            if filled:
                yield Part(key, filled, is_quoted)


def _whole(part: Part) -> str:
    return f"{part.key}={part.value}" if part.key else part.value


def _shown(value: Json) -> str:
    """A text exactly; anything else as a sentence would say it."""
    return value if isinstance(value, str) else inline(value)
