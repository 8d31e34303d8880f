"""What an instance is called outside of the kernel: its branch, and its dialogue."""

from treadle.git.names import Names, slug
from treadle.kernel.state import Instance


def branch(run: str, inst: str) -> str:
    """The branch on which the accepted work of an instance comes together."""
    return Names(run).integration(inst).removeprefix("refs/heads/") if inst else ""


def dialogue(run: str, inst: Instance) -> str:
    """The name under which an instance's dialogue is kept: one for each plan, one for each cycle."""
    return f"{inst.graph.upper()}_{run}_{slug(inst.id)}"
