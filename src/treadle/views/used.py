"""What was consumed, with every key."""

import msgspec

from treadle.kernel.events import Usage


class Used(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens, and what they cost."""

    tokens_in: int
    tokens_out: int
    cost: float
    cached: int
    """How many of the tokens that went in came from the service's cache."""
    unpriced: int
    """How many tokens have a price that nobody told; the cost does not count them."""


def used(usage: Usage) -> Used:
    """The same, for programs that read it."""
    return Used(**msgspec.structs.asdict(usage))


def price(cost: float, unpriced: int) -> str:
    """A cost in words: what nobody has told is unknown, and never nothing."""
    if not unpriced:
        return f"{cost:.2f}"
    return f"{cost:.2f} + unknown" if cost else "unknown"
