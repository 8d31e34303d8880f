"""YAML from a stranger, as plain data."""

from typing import Final

from treadle.errors import ProtocolError
from treadle.protocol.reading.source import read
from treadle.results.faulty import Faulty, faulty

MAX_YAML: Final = 64 * 1024
"""In characters. Reading YAML takes its time; whoever has more to say can write JSON."""


def parse(text: str, what: str) -> object | Faulty:
    """The value of a YAML text."""
    if len(text) > MAX_YAML:
        return faulty(f"{what} has {len(text)} characters of YAML, the limit is {MAX_YAML}; shorten it, or write JSON")
    try:
        value: object = read(text, what).plain()
    except ProtocolError as error:
        return Faulty(tuple(str(finding) for finding in error.findings) or (error.message,))
    return value
