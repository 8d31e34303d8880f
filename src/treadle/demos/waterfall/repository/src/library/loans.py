"""When something is due."""

from datetime import date


def due(lent: date, kind: str) -> date:
    """The day on which it has to be back."""
    raise NotImplementedError
