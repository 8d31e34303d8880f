def label(recipient: str, grams: int, length: int, width: int, height: int) -> str:
    """The label of a parcel."""
    raise NotImplementedError
