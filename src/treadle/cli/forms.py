"""An example input in the form that the name of its file asks for: YAML, Markdown with front matter, or JSON."""

import re
from pathlib import Path
from typing import Final

import msgspec

from treadle.errors import TreadleError
from treadle.protocol.reading.source import read

BODY: Final = "description"
_BLOCK: Final = re.compile(rf"^{BODY}:.*\n(?:[ \t]+.*\n|[ \t]*\n)*", re.MULTILINE)
"""The description with all its lines: those below it that are indented or empty."""


def in_form(text: str, file: Path) -> str:
    """A commented YAML example as what the file is to hold."""
    match file.suffix.lower():
        case ".yaml" | ".yml":
            return text
        case ".md" | ".markdown":
            return _markdown(text)
        case ".json":
            return msgspec.json.format(msgspec.json.encode(read(text, str(file)).plain()), indent=2).decode() + "\n"
        case other:
            what = f"nothing is known of files named *{other}" if other else "the name does not say which form it has"
            raise TreadleError(f"{file}: {what}; let it end in .yaml, .md or .json", code="spec.format")


def keeps_notes(file: Path) -> bool:
    """Whether the comments of the example are in the file: JSON has none."""
    return file.suffix.lower() != ".json"


def _markdown(text: str) -> str:
    """The description is the text below, everything else the front matter, comments included."""
    value = read(text, "").plain()
    body = value.get(BODY) if isinstance(value, dict) else None
    if not isinstance(body, str):
        return f"---\n{text}---\n"
    return f"---\n{_BLOCK.sub('', text, count=1)}---\n\n{body.strip()}\n"
