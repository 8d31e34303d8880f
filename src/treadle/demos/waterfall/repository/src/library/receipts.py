"""What a borrower gets for a fine."""


def receipt(cents: int) -> str:
    """The receipt, in euros."""
    raise NotImplementedError
