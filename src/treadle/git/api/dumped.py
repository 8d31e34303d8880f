"""What a project's own command prints about its exports, for languages that nobody here can read."""

import re
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec

from treadle.git.api.symbol import WHOLE, Api, symbol

Dump = Callable[[Path], Awaitable[str]]
"""What the command prints in a checkout; nothing if it fails."""
_OBJECT = re.compile(r"^\{.*\}", re.MULTILINE | re.DOTALL)


class Dumped(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One exported name, as the command prints it."""

    signature: str
    body: str = ""


def dumped(printed: str) -> Api:
    """The names in what was printed, each with its signature; a `ValueError` says what else it is."""
    found = _OBJECT.search(printed)
    try:
        names = msgspec.json.decode(found[0] if found else "", type=dict[str, str | Dumped])
    except (msgspec.MsgspecError, RecursionError) as error:
        said = str(error) if found else "it prints no JSON object"
        raise ValueError(f"{said}; it should print {{NAME: SIGNATURE, …}}") from None
    given = {name: Dumped(one) if isinstance(one, str) else one for name, one in names.items()}
    return {name: symbol(one.signature, one.body) for name, one in given.items()}


def completed(read: Api, printed: Api) -> Api:
    """What was read here, with what the command says in the place of files that count as one name each."""
    return printed | {name: one for name, one in read.items() if one.signature != WHOLE}
