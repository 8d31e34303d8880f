"""What it costs to be late."""


def fine(days: int, kind: str) -> int:
    """The fine in cents for so many days."""
    raise NotImplementedError
