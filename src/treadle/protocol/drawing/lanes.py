"""The layered net: boxes, and a slot in every layer that a link passes."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from treadle.protocol.drawing.geometry import Box
from treadle.protocol.drawing.ranks import End

SLOT = Box(2, 0)


class Net(NamedTuple):
    """Nodes are boxes first, then slots. Every segment leads one layer down."""

    boxes: int
    sizes: list[Box]
    layers: list[list[int]]
    level: list[int]
    above: list[list[int]]
    below: list[list[int]]
    chains: list[list[int]]
    """For each link the nodes it passes, downwards, its two boxes included."""
    labels: list[int]
    """For each link the slot of its label."""


def layered(
    boxes: Sequence[Box], labels: Sequence[Box], ends: Sequence[End], levels: Sequence[int], turned: Sequence[bool]
) -> Net:
    """Cuts links into segments between neighbouring layers."""
    net = Net(len(boxes), list(boxes), [[] for _ in range(max(levels) + 1)], list(levels), [], [], [], [])
    for box, level in enumerate(levels):
        net.layers[level].append(box)
    for (a, b), back in zip(ends, turned, strict=True):
        _add_chain(net, *((b, a) if back else (a, b)))
    _place_labels(net, labels)
    net.above.extend([] for _ in net.sizes)
    net.below.extend([] for _ in net.sizes)
    for chain in net.chains:
        for upper, lower in pairwise(chain):
            net.below[upper].append(lower)
            net.above[lower].append(upper)
    return net


def _add_chain(net: Net, top: int, bottom: int) -> None:
    slots = []
    for level in range(net.level[top] + 1, net.level[bottom]):
        slots.append(len(net.sizes))
        net.layers[level].append(len(net.sizes))
        net.sizes.append(SLOT)
        net.level.append(level)
    net.chains.append([top, *slots, bottom])


def _place_labels(net: Net, labels: Sequence[Box]) -> None:
    """Puts each label into the emptiest of the layers between boxes that its link passes, short links first."""
    filled = [0.0] * len(net.layers)
    chosen: dict[int, int] = {}
    for place in sorted(range(len(net.chains)), key=lambda place: len(net.chains[place])):
        slots = [slot for slot in net.chains[place][1:-1] if net.level[slot] % 2]
        slot = min(slots, key=lambda slot: filled[net.level[slot]])
        chosen[place] = slot
        if labels[place].width:
            net.sizes[slot] = labels[place]
            filled[net.level[slot]] += labels[place].width
    net.labels.extend(chosen[place] for place in range(len(net.chains)))
