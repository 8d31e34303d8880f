def billed(grams: int, length: int, width: int, height: int) -> int:
    """The grams that a parcel is billed by; its sides are in centimetres."""
    raise NotImplementedError
