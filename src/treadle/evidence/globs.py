"""Whether two globs can name the same path."""

from functools import cache


def overlap(one: str, other: str) -> bool:
    """Whether some path is named by both; `*` and `?` stay inside a folder, `**` does not."""
    return _segments(tuple(_parts(one)), tuple(_parts(other)))


def _parts(glob: str) -> list[str]:
    return [part for part in glob.removeprefix("./").rstrip("/").split("/") if part]


@cache
def _segments(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    if not one and not other:
        return True
    if one and one[0] == "**":
        return _any_depth(one, other)
    if other and other[0] == "**":
        return _any_depth(other, one)
    if not one or not other:
        return False
    return _characters(one[0], other[0]) and _segments(one[1:], other[1:])


def _any_depth(deep: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """`**` stands for any number of folders; at the end, for at least a name."""
    if len(deep) == 1:
        return bool(other)
    return _segments(deep[1:], other) or (bool(other) and _segments(deep, other[1:]))


@cache
def _characters(one: str, other: str) -> bool:
    if not one and not other:
        return True
    if one.startswith("*"):
        return _characters(one[1:], other) or (bool(other) and _characters(one, other[1:]))
    if other.startswith("*"):
        return _characters(other, one)
    if not one or not other:
        return False
    return (one[0] == other[0] or "?" in (one[0], other[0])) and _characters(one[1:], other[1:])
