"""The name by which people know an exit."""

from treadle.protocol.model import Protocol


def exit_name(protocol: Protocol | None, tag: str) -> str:
    """A kind of another exit by that one's name, which agents use too: `pass_red`, also accepted as `pass`, is a pass.

    Any other name that an exit is also accepted by is a spelling, and people know it by its own.
    """
    declared = protocol.exits.get(tag) if protocol else None
    kinds = (name for name in declared.also if tag.startswith(f"{name}_")) if declared else ()
    return next(iter(kinds), tag)
