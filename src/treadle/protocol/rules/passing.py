"""Whether a story comes to its end when every step passes."""

from collections.abc import Mapping

from treadle.protocol.reading.source import Node


def circles(passes: Mapping[str, Node]) -> list[list[str]]:
    """Steps that passes lead through for ever; each circle begins and ends with the step that leads back."""
    order = list(passes)
    found = [way for name in order if (way := _circle(passes, name)) and order.index(way[1]) <= order.index(name)]
    return list({frozenset(way): way for way in reversed(found)}.values())


def _circle(passes: Mapping[str, Node], start: str) -> list[str]:
    way = [start]
    while (step := str(passes[way[-1]].value)) in passes and step not in way:
        way.append(step)
    return [*way, start] if step == start else []
