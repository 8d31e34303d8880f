"""Commands that a message advises: whoever copies one into a shell gets what was meant."""

import shlex
from pathlib import Path


def word(text: str | Path) -> str:
    """A name or a path as one word of a command: quoted for the shell, and never taken for an option."""
    plain = str(text)
    return shlex.quote(f"./{plain}" if plain.startswith("-") and plain != "-" else plain)
