"""What goes into a drawing and what comes out of it."""

from typing import NamedTuple


class Box(NamedTuple):
    """The size of something drawn."""

    width: float
    height: float


class Point(NamedTuple):
    x: float
    y: float


class Link(NamedTuple):
    """A line from one box to another, with the size of its label."""

    source: str
    target: str
    label: Box = Box(0, 0)


class Path(NamedTuple):
    """Where a link runs: points to pass, every second stretch straight down or up; and its label's centre."""

    points: tuple[Point, ...]
    label: Point


class Drawing(NamedTuple):
    """The centres of the boxes, and the links in the order they were given."""

    size: Box
    boxes: dict[str, Point]
    paths: list[Path]
