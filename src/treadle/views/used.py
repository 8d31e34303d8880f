"""What was consumed, with every key."""

import msgspec

from treadle.kernel.events import Usage


class Used(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens, and what they cost."""

    tokens_in: int
    tokens_out: int
    cost: float


def used(usage: Usage) -> Used:
    """The same, for programs that read it."""
    return Used(tokens_in=usage.tokens_in, tokens_out=usage.tokens_out, cost=usage.cost)
