"""Texts inside of a line: as they are where nobody can misread them, as JSON strings everywhere else.

So every text comes back exactly, whatever is in it, and a line stays one line in which nothing is hidden.
"""

import json
import re
from typing import Final

_HIDDEN: Final = re.compile("[\U000e0000-\U000e0fff]")
"""Invisible, though `isprintable` says otherwise."""
_RUN: Final = re.compile(r"`{3,}|~{3,}")
"""What would begin a fence in Markdown."""
_DECODER: Final = json.JSONDecoder()


def said(text: str, special: str) -> str:
    """A text as it stands in a line where `special` characters mean something."""
    return text if is_plain(text, special) else quoted(text)


def is_plain(text: str, special: str) -> bool:
    """Whether a text can stand there as it is."""
    return bool(text) and is_clean(text) and not _RUN.search(text) and not any(char in special for char in text)


def is_clean(text: str) -> bool:
    """Whether a text is on one line, shows all that is in it, and has no blanks around it."""
    return text.isprintable() and text == text.strip() and not _HIDDEN.search(text)


def quoted(text: str) -> str:
    """A text as a JSON string on one line, in which nothing is hidden."""
    whole = json.dumps(text, ensure_ascii=False)
    if not (whole.isprintable() and not _HIDDEN.search(whole)):
        whole = "".join(
            char if char.isprintable() and not _HIDDEN.match(char) else _written_out(char) for char in whole
        )
    return _RUN.sub(lambda run: "".join(f"\\u{ord(mark):04x}" for mark in run[0]), whole)


def unquoted(text: str, at: int = 0) -> tuple[str, int] | None:
    """The JSON string that begins at a place, and where it ends; None if none does."""
    if text[at : at + 1] != '"':
        return None
    try:
        value, end = _DECODER.raw_decode(text, at)
    except ValueError:
        return None
    return value, end


def _written_out(char: str) -> str:
    return json.dumps(char)[1:-1]
