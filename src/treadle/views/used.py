"""What was consumed, with every key."""

from typing import Final

import msgspec

from treadle.kernel.events import Usage

CURRENCY: Final = "USD"
"""Every price is in it: agents report US dollars, and `prices.AGENT` is set in them."""


class Used(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens, and what they cost."""

    tokens_in: int
    tokens_out: int
    cost: float
    currency: str = CURRENCY
    cached: int
    """How many of the tokens that went in came from the service's cache."""
    unpriced: int
    """How many tokens have a price that nobody told; the cost does not count them."""


def used(usage: Usage) -> Used:
    """The same, for programs that read it."""
    return Used(**msgspec.structs.asdict(usage))


def price(cost: float, unpriced: int) -> str:
    """A cost with its currency; a price that no agent told is unknown, not 0."""
    if not unpriced:
        return f"{cost:.2f} {CURRENCY}"
    return f"{cost:.2f} {CURRENCY} + unknown" if cost else "unknown"
