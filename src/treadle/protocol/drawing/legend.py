"""What the signs of a drawing mean."""

from collections.abc import Iterator
from typing import Final

from treadle.protocol.drawing.layout import Point
from treadle.protocol.drawing.letters import width
from treadle.protocol.drawing.picture import Node, Picture
from treadle.protocol.drawing.shapes import SMALL, box_of, draw, n, words

GAP = 24.0

KINDS: Final = {
    "agent": "agent",
    "effect": "orchestrator's own work",
    "check": "checks",
    "ask": "asks a person or the parent",
    "map": "a child per item",
    "group": "group of children",
    "signal": "signal that interrupts",
}
STYLES: Final = {"interrupt": "interrupts or goes on after it", "system": "system exit", "spawn": "spawns, waits for"}


def legend(pictures: list[Picture], inner: float) -> tuple[str, float]:
    """A sample of each sign that the drawing uses, in as many lines as they need."""
    body, x, y = "", 0.0, 24.0
    for across, sample in _samples(pictures):
        if x and x + across > inner:
            x, y = 0.0, y + 48
        body += f'<g transform="translate({n(x)} {n(y)})">{sample}</g>'
        x += across + GAP
    return body, y + 36


def _samples(pictures: list[Picture]) -> Iterator[tuple[float, str]]:
    kinds = {node.kind for drawn in pictures for part in drawn.parts for node in part.nodes}
    styles = {edge.style for drawn in pictures for part in drawn.parts for edge in part.edges}
    for kind, meaning in KINDS.items():
        if kind in kinds:
            node = Node(id="", kind=kind, title=meaning)
            yield box_of(node).width, draw(node, Point(box_of(node).width / 2, 0))
    for style, meaning in STYLES.items():
        if style in styles:
            line = f'<path class="link {style}" d="M0 0H44" marker-end="url(#tip-{style})"/>'
            yield 52 + width(meaning, SMALL), line + words(meaning, 52, 4, "note")
