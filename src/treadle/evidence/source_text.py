"""The text of source files, as every reader of them sees it: without a byte order mark, in its declared encoding."""

import codecs
import io
import tokenize
from pathlib import PurePosixPath
from typing import Final

_READABLE: Final = frozenset({"utf-8", "utf-8-sig", "iso8859-1", "ascii"})
"""Encodings that read the same for people, their tools and Treadle: no escapes, and no shifts of meaning."""
_PYTHON: Final = frozenset({".py", ".pyi", ".pyw"})
_WIDE: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)


def decode_source(path: str, data: bytes) -> str:
    """Decode a file; replace undecodable bytes, as another finding reports them."""
    text = data.decode(_declared(data) if is_python(path) else "utf-8", errors="replace")
    return text.removeprefix("\ufeff")


def encoding_fault(path: str, data: bytes) -> str:
    """Return the reason why a person may misread a source file, as a predicate; empty if it is readable."""
    if data.startswith(_WIDE) or (not is_python(path) and b"\0" in data):
        return "is neither UTF-8 nor Latin-1"
    if not is_python(path):
        return ""
    try:
        declared = codecs.lookup(tokenize.detect_encoding(io.BytesIO(data).readline)[0]).name
    except (SyntaxError, LookupError) as error:
        return f"has an encoding that cannot be read: {error}"
    if declared not in _READABLE:
        return f"declares the encoding {declared}"
    try:
        data.decode(declared)
    except UnicodeDecodeError as error:
        return f"is not {declared}: {error.reason} at byte {error.start}"
    return ""


def is_python(path: str) -> bool:
    """Whether a file is Python's by its name."""
    return PurePosixPath(path).suffix in _PYTHON


def _declared(data: bytes) -> str:
    """Return the encoding of a Python file, if it is one that Treadle reads; else UTF-8."""
    try:
        name = codecs.lookup(tokenize.detect_encoding(io.BytesIO(data).readline)[0]).name
    except (SyntaxError, LookupError):
        return "utf-8"
    return name if name in _READABLE else "utf-8"
