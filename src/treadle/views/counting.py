"""Numbers of things, as people say them."""


def counted(count: int, noun: str, many: str = "") -> str:
    """`1 event`, `2 events`; `many` is the plural of a noun that does not just take an s."""
    return f"{count} {noun if count == 1 else many or noun + 's'}"
