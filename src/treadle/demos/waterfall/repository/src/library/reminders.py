"""What a borrower is told."""

from datetime import date


def reminder(title: str, lent: date, kind: str) -> str:
    """The line on the card."""
    raise NotImplementedError
