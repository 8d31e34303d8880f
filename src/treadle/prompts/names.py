"""What an instance is called outside of the kernel: its branch, and its dialogue."""

from typing import Final

from treadle.git.names import Names, shown
from treadle.kernel.state import Instance
from treadle.protocol.model import Protocol, Role

_LOOP: Final = "_loop"
_SESSION: Final = "{session}"
_BELOW: Final = "+"
"""No instance has it in its name, and no line of parameters splits at it."""


def branch(run: str, inst: str) -> str:
    """The ref on which the accepted work of an instance comes together, as git and people know it."""
    return shown(Names(run).integration(inst)) if inst else ""


def has_dialogue(role: Role) -> bool:
    """Whether the agents of a role are told a session."""
    return any(_SESSION in text for text in role.params.values())


def dialogue_kind(protocol: Protocol, inst: Instance) -> str:
    """What kind of dialogue an instance has."""
    return protocol.graphs[inst.graph].dialogue or f"{inst.graph}{_LOOP}"


def dialogue(protocol: Protocol, run: str, inst: Instance) -> str:
    """The name under which an instance's dialogue is kept: one for each plan, one for each cycle."""
    kind = dialogue_kind(protocol, inst).removesuffix(_LOOP).upper()
    return f"{kind}_{run}_{inst.id.replace('/', _BELOW)}"
