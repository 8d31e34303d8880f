"""What is wrong with an answer, in words that the agent can act on."""

import msgspec


class Faulty(msgspec.Struct, frozen=True):
    """Something is there and cannot be taken."""

    problems: tuple[str, ...]


class Stale(msgspec.Struct, frozen=True):
    """Something is there that does not belong to this activity; it counts as absent and is recorded."""

    why: str


def faulty(*problems: str) -> Faulty:
    """A fault in one or a few sentences."""
    return Faulty(problems)
