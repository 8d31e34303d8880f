"""Ids: what identifies an item becomes part of branch names, file names and commands, so it is a plain word."""

import re
from typing import Final

MAX_ID: Final = 100
_MAX_BYTES: Final = 200
"""Of a file name of 255, with room for what comes before and after an id in it."""
ID_RULE: Final = f"use up to {MAX_ID} letters, digits, _ . # and -, a letter or digit first"
_PLAIN = re.compile(rf"\w[\w.#-]{{0,{MAX_ID - 1}}}")
_ENDINGS: Final = (".", ".lock")
"""Git keeps these endings to itself."""


def id_of(text: str) -> str:
    """An id that is as near to a text as one can be."""
    plain = re.sub(r"\.{2,}", ".", re.sub(r"[^\w.#-]+", "-", text))[:MAX_ID]
    plain = plain.encode(errors="replace")[:_MAX_BYTES].decode(errors="ignore").strip(".#-")
    return "project" if id_fault(plain) else plain


def id_fault(text: str) -> str:
    """Why a text cannot be an id, as the end of a sentence; empty if it can."""
    if len(text) > MAX_ID:
        return f"has {len(text)} characters, the limit is {MAX_ID}"
    if (size := len(text.encode(errors="replace"))) > _MAX_BYTES:
        return f"has {size} bytes, which is too long for the name of a file; the limit is {_MAX_BYTES}"
    if not text.isprintable():
        return f"holds a character that cannot be seen; {ID_RULE}"
    if not _PLAIN.fullmatch(text):
        return f"cannot be an id; {ID_RULE}"
    if ".." in text or text.lower().endswith(_ENDINGS):
        return "cannot be an id; it must not hold .. or end with . or .lock"
    return ""
