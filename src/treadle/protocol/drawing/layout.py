"""Where to draw boxes and the links between them: in layers, top to bottom, so that nothing overlaps.

The classic four steps (Sugiyama): turn some links round so that no cycle is left, give every box a layer, order each
layer so that few links cross, then choose coordinates (Brandes and Köpf). A link that spans layers passes each of them
in a slot of its own, and its label is such a slot, so labels never cover boxes, links or each other. Everything is
decided by the order of the input: the same input gives the same picture.
"""

from treadle.protocol.drawing.geometry import Box, Drawing, Link, Path, Point
from treadle.protocol.drawing.lanes import layered
from treadle.protocol.drawing.order import ordered
from treadle.protocol.drawing.place import columns
from treadle.protocol.drawing.ranks import ranks
from treadle.protocol.drawing.route import routed

__all__ = ["Box", "Drawing", "Link", "Path", "Point", "layout"]


def layout(boxes: dict[str, Box], links: list[Link], first: str) -> Drawing:
    """Draws boxes and links with `first` on top. A link must not start and end at the same box."""
    names = list(boxes)
    number = {name: place for place, name in enumerate(names)}
    ends = [(number[link.source], number[link.target]) for link in links]
    levels, turned = ranks(len(names), ends, number[first])
    net = layered([boxes[name] for name in names], [link.label for link in links], ends, levels, turned)
    rows = ordered(net)
    return routed(net, rows, columns(net, rows), names, turned)
