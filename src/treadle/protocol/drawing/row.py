"""One row of a protocol's edge table."""

from typing import Final

import msgspec

ANY_STEP: Final = "*"
SELF: Final = "@self"
BACK: Final = "@back"


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One edge: who leaves by which exit, where that leads, and what happens on the way."""

    graph: str
    step: str
    kind: str
    """The step's kind; `signal` for a handler, `system` for a row of all steps."""
    who: str = ""
    symbol: str = ""
    wait: tuple[str, ...] = ()
    exit: str
    """A routing key; a signal's name; several system exits are joined by a space."""
    to: str
    when: str = ""
    do: tuple[str, ...] = ()
    charge: str = ""
    max: int = 0
    """How often: the charged budget, or for a step that tries again its attempts."""
    then: str = ""
    """Where the edge leads, or what the exit becomes, once that is spent."""
    gates: tuple[str, ...] = ()
