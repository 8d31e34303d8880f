from itertools import combinations, pairwise

from hypothesis import given
from hypothesis import strategies as st

from treadle.protocol.drawing.layout import Box, Drawing, Link, Point, layout

Area = tuple[float, float, float, float]
SLACK = 0.01


@st.composite
def nets(draw: st.DrawFn) -> tuple[dict[str, Box], list[Link]]:
    """Any boxes and any links between different ones, cycles and lonely boxes included."""
    sizes = st.builds(Box, st.integers(10, 240), st.integers(10, 90))
    names = [f"n{number}" for number in range(draw(st.integers(1, 12)))]
    boxes = {name: draw(sizes) for name in names}
    pairs = [(a, b) for a in names for b in names if a != b]
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=30)) if pairs else []
    labels = st.one_of(st.just(Box(0, 0)), sizes)
    return boxes, [Link(a, b, draw(labels)) for a, b in chosen]


def around(at: Point, box: Box) -> Area:
    return at.x - box.width / 2, at.y - box.height / 2, at.x + box.width / 2, at.y + box.height / 2


def overlap(a: Area, b: Area) -> bool:
    return a[0] + SLACK < b[2] and b[0] + SLACK < a[2] and a[1] + SLACK < b[3] and b[1] + SLACK < a[3]


def everything(boxes: dict[str, Box], links: list[Link], drawn: Drawing) -> list[Area]:
    found = [around(drawn.boxes[name], box) for name, box in boxes.items()]
    labelled = [(path, link) for path, link in zip(drawn.paths, links, strict=True) if link.label.width]
    return found + [around(path.label, link.label) for path, link in labelled]


@given(nets())
def test_boxes_and_labels_never_overlap_and_stay_on_the_paper(net: tuple[dict[str, Box], list[Link]]) -> None:
    boxes, links = net
    drawn = layout(boxes, links, "n0")
    areas = everything(boxes, links, drawn)
    assert not [pair for pair in combinations(areas, 2) if overlap(*pair)]
    for left, top, right, bottom in areas:
        assert min(left, top) >= -SLACK
        assert right <= drawn.size.width + SLACK
        assert bottom <= drawn.size.height + SLACK


@given(nets())
def test_links_run_from_edge_to_edge_and_through_no_other_box(net: tuple[dict[str, Box], list[Link]]) -> None:
    boxes, links = net
    drawn = layout(boxes, links, "n0")
    for path, link in zip(drawn.paths, links, strict=True):
        for name, end in ((link.source, path.points[0]), (link.target, path.points[-1])):
            left, top, right, bottom = around(drawn.boxes[name], boxes[name])
            assert left - SLACK <= end.x <= right + SLACK
            assert min(abs(end.y - top), abs(end.y - bottom)) < SLACK
        for start, stop in pairwise(path.points):
            stretch = (min(start.x, stop.x), min(start.y, stop.y), max(start.x, stop.x), max(start.y, stop.y))
            assert not [name for name in boxes if overlap(stretch, around(drawn.boxes[name], boxes[name]))]


@given(nets())
def test_every_second_stretch_is_straight_and_the_label_lies_on_one(net: tuple[dict[str, Box], list[Link]]) -> None:
    boxes, links = net
    for path in layout(boxes, links, "n0").paths:
        straight = list(pairwise(path.points))[::2]
        assert all(start.x == stop.x for start, stop in straight)
        on = [
            start.x == path.label.x and min(start.y, stop.y) <= path.label.y <= max(start.y, stop.y)
            for start, stop in straight
        ]
        assert any(on)


def test_successors_stand_below_the_first_box_and_the_way_back_leads_up() -> None:
    boxes = {name: Box(40, 20) for name in "abc"}
    drawn = layout(boxes, [Link("a", "b"), Link("b", "c"), Link("c", "a")], "a")
    assert drawn.boxes["a"].y < drawn.boxes["b"].y < drawn.boxes["c"].y
    assert drawn.paths[2].points[0].y > drawn.paths[2].points[-1].y


def test_an_interrupting_signal_is_not_drawn_above_the_start() -> None:
    boxes = {name: Box(40, 20) for name in ("start", "plan", "end", "signal", "rebase")}
    links = [Link("start", "plan"), Link("plan", "end"), Link("signal", "rebase"), Link("rebase", "plan")]
    drawn = layout(boxes, links, "start")
    assert drawn.boxes["start"].y == min(point.y for point in drawn.boxes.values())
    assert drawn.boxes["signal"].y < drawn.boxes["rebase"].y


def test_avoidable_crossings_are_avoided() -> None:
    boxes = {name: Box(40, 20) for name in ("top", "a", "b", "c", "d")}
    links = [Link("top", "a"), Link("top", "b"), Link("b", "c"), Link("a", "d")]
    drawn = layout(boxes, links, "top")
    assert (drawn.boxes["a"].x < drawn.boxes["b"].x) == (drawn.boxes["d"].x < drawn.boxes["c"].x)


def test_a_chain_is_straight() -> None:
    boxes = {name: Box(width, 20) for name, width in (("a", 40), ("b", 90), ("c", 20))}
    drawn = layout(boxes, [Link("a", "b", Box(70, 12)), Link("b", "c")], "a")
    assert len({point.x for point in drawn.boxes.values()}) == 1
