"""What comes of a dispatch: an agent is at work, something holds the project up, a person is needed, or all is done."""

import msgspec


class Dispatched(msgspec.Struct, frozen=True, tag_field="type", tag="dispatched"):
    """An agent works, or is to."""

    step: str
    attempt: int
    story: str = ""


class Blocked(msgspec.Struct, frozen=True, tag_field="type", tag="blocked"):
    """Nothing can start, and no answer would change that: a pause, an outage, a time."""

    reason: str


class NeedsHuman(msgspec.Struct, frozen=True, tag_field="type", tag="needs_human"):
    """Only a person can move it."""

    message: str


class Done(msgspec.Struct, frozen=True, tag_field="type", tag="done"):
    """The run has ended."""

    summary: str


DispatchResult = Dispatched | Blocked | NeedsHuman | Done
