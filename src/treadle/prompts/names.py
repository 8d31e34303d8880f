"""What an instance is called outside of the kernel: its branch, and its dialogue."""

from typing import Final

from treadle.git.names import DEFAULT_PREFIX, Names
from treadle.kernel.state import Instance
from treadle.protocol.model import Protocol, Role

_LOOP: Final = "_loop"
_SESSION: Final = "{session}"
_BELOW: Final = "+"
"""No instance has it in its name, and no line of parameters splits at it."""


PREFIX: Final = "branch_prefix"
"""Under which name the texts of a project have what its branches begin with."""


def branch(run: str, inst: str, prefix: str = DEFAULT_PREFIX) -> str:
    """The branch on which the accepted work of an instance comes together."""
    return Names(run, prefix).integration(inst).removeprefix("refs/heads/") if inst else ""


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
