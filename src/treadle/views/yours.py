"""Work that lies in a person's hands: somebody is the agent, and nothing hurries them."""

import shlex

import msgspec


class Yours(msgspec.Struct, frozen=True, kw_only=True):
    """A step whose agent you are."""

    id: str
    instance: str
    step: str
    attempt: int
    prompt: str
    """The file that says what is to be done."""
    lane: str
    """The folder to do it in."""


def told(run: str, work: Yours) -> tuple[str, ...]:
    """What to do, line by line."""
    return (
        f"{work.step} of {work.instance} is yours: read {work.prompt},",
        f"  work in {work.lane}, then `treadle done {shlex.quote(run)}`",
    )
