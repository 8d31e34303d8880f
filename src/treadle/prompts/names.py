"""What an instance is called outside of the kernel: its branch, and its dialogue."""

from treadle.kernel.state import Instance


def slug(inst: str) -> str:
    """An instance's id as one part of a path: a branch `x` and a branch `x/y` cannot both exist."""
    return inst.replace("/", "+").replace(":", "=").replace("#", "-")


def branch(run: str, inst: str) -> str:
    """The branch on which the accepted work of an instance comes together."""
    return f"treadle/{run}/{slug(inst)}/int" if inst else ""


def dialogue(run: str, inst: Instance) -> str:
    """The name under which an instance's dialogue is kept: one for each plan, one for each cycle."""
    return f"{inst.graph.upper()}_{run}_{slug(inst.id)}"
