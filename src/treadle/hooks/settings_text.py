"""Settings as text in which only one member is written anew; the others stay letter by letter."""

import json
import re
from typing import Any, Final

_SPACE: Final = re.compile(r"\s*")
_FIRST: Final = re.compile(r"\{[ \t]*\r?\n([ \t]+)")


def rewritten(before: str, settings: dict[str, Any], name: str) -> str:
    """A text of settings, as it was but for the member of this name; written as a whole where that cannot be."""
    indent = found[1] if (found := _FIRST.search(before)) else "  "
    text = _with_member(before, settings, name, indent)
    return text if _says(text, settings) else json.dumps(settings, indent=indent, ensure_ascii=False) + "\n"


def _says(text: str, settings: dict[str, Any]) -> bool:
    try:
        return list(json.loads(text).items()) == list(settings.items())
    except (ValueError, AttributeError):
        return False


def _with_member(before: str, settings: dict[str, Any], name: str, indent: str) -> str:
    spans = _spans(before)
    others = [span for key, span in spans.items() if key != name]
    if not others:
        return ""
    start, end = spans.get(name, (0, 0))
    if name not in settings:
        return _without(before, start, end) if end else before
    said = json.dumps({name: settings[name]}, indent=indent, ensure_ascii=False)[2:-2].removeprefix(indent)
    if end:
        return before[:start] + said + before[end:]
    last = max(stop for _, stop in others)
    return f"{before[:last]},\n{indent}{said}{before[last:]}"


def _without(before: str, start: int, end: int) -> str:
    """The text without a member, and without the comma that set it apart."""
    head, rest = before[:start].rstrip(), before[end:]
    if head.endswith(","):
        return head[:-1] + rest
    return before[:start] + rest.lstrip().removeprefix(",").lstrip()


def _spans(text: str) -> dict[str, tuple[int, int]]:
    """Where each member of an object begins and ends; none if it is no object."""
    decoder, found = json.JSONDecoder(), dict[str, tuple[int, int]]()
    at = _after_space(text, 0)
    while at < len(text) and text[at] in "{,":
        start = _after_space(text, at + 1)
        try:
            key, colon = decoder.raw_decode(text, start)
            _, end = decoder.raw_decode(text, _after_space(text, _after_space(text, colon) + 1))
        except ValueError:
            return {}
        found[str(key)] = (start, end)
        at = _after_space(text, end)
    return found


def _after_space(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    return space.end() if space else at
