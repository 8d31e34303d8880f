"""Renders a template of a protocol, within bounds, into text whose structure foreign values cannot change."""

import re
from collections.abc import Mapping
from functools import lru_cache
from traceback import walk_tb
from typing import Any, Final

from jinja2 import TemplateNotFound, TemplateSyntaxError

from treadle.errors import ProtocolError
from treadle.prompts.budget import MAX_OUTPUT, Full, TooMuch
from treadle.prompts.foreign import CLOSE, OPEN, Reader
from treadle.prompts.sandbox import Sandbox

CUT: Final = f"\n[cut: this text has more than {MAX_OUTPUT} characters]\n"
_FENCE = re.compile(f"[ \t]*\n?{OPEN}([^{CLOSE}]*){CLOSE}\n?")
_HEADING = re.compile(r"\n(?=#{1,6} )")
_BLANKS = re.compile(r"\n[ \t]*(?:\n[ \t]*)+\n")


def render(templates: Mapping[str, str], name: str, variables: Mapping[str, Any], reader: Reader = "agent") -> str:
    """The text of a template; a `ProtocolError` that names template and line if it cannot be rendered.

    Values are plain JSON. What is too long is cut, and says so.
    """
    sandbox = _sandbox(tuple(sorted(templates.items())), reader)
    sandbox.begin()
    chunks: list[str] = []
    try:
        # One at a time, so that what was written before the room ran out is kept.
        for chunk in sandbox.get_template(name).generate(**variables):
            chunks.append(chunk)  # noqa: PERF402
    except Full:
        chunks.append(CUT)
    except Exception as error:
        raise _explained(error, name, templates) from error
    return finished("".join(chunks))


@lru_cache(maxsize=8)
def _sandbox(templates: tuple[tuple[str, str], ...], reader: Reader) -> Sandbox:
    """A protocol's templates are compiled once for each kind of reader."""
    return Sandbox(dict(templates), reader)


def finished(text: str) -> str:
    """Fences on lines of their own, a blank line before each heading, never more than one, and none around."""
    parts = _FENCE.split(text)
    prose = f"\n{OPEN}\n".join(part.replace(OPEN, "").replace(CLOSE, "") for part in parts[::2])
    pieces = _BLANKS.sub("\n\n", _HEADING.sub("\n\n", prose)).strip("\n").split(OPEN)
    joined = "".join(piece for pair in zip(pieces, [*parts[1::2], ""], strict=True) for piece in pair)
    return joined.strip("\n") + "\n"


def _explained(error: Exception, name: str, templates: Mapping[str, str]) -> ProtocolError:
    where, line = name, 0
    for frame, number in walk_tb(error.__traceback__):
        if frame.f_code.co_filename in templates:
            where, line = frame.f_code.co_filename, number
    if isinstance(error, TemplateSyntaxError):
        where, line = error.name or where, error.lineno
    place = f"template {where}, line {line}" if line else f"template {where}"
    return ProtocolError(f"{place}: {_reason(error)}; mend it, then `treadle protocol check`", code="protocol.template")


def _reason(error: Exception) -> str:
    match error:
        case TooMuch():
            return f"it {error}"
        case RecursionError():
            return "it is nested too deeply, or includes or calls itself without end"
        case TemplateNotFound():
            return f"there is no template '{error.name}'"
        case _:
            return (str(error) or type(error).__name__).rstrip(".")
