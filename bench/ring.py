"""The work that is measured: a protocol whose agents only count."""

from treadle.kernel.events import RunStarted
from treadle.protocol.items import Item
from treadle.protocol.model import Exit, Graph, Limits, Protocol, Role, Route, Rows, Step


def ring(length: int) -> Protocol:
    """Instances that go round two steps, counting, until they have made `length` transitions."""
    count = {"n": "n + 1"}
    done = Route(to="@end:Done", when=f"n >= {length - 1}")
    steps = {
        name: Step(kind="agent", role="worker", exits=("Next",), routes={"Next": (done, Route(to=other, sets=count))})
        for name, other in (("a", "b"), ("b", "a"))
    }
    rows: dict[str, Rows] = {key: (Route(to="@end:Done"),) for key in ("AllOk", "SomeFailed")}
    every = Step(kind="map", graph="ring", over="in.items", routes=rows)
    graphs = {
        "top": Graph(start="every", ends={"Done": ()}, ok={"every": ("Done",)}, steps={"every": every}),
        "ring": Graph(start="a", ends={"Done": ()}, steps=steps, vars={"n": 0}),
    }
    roles, limits = {"worker": Role()}, Limits(instances=10**6, agents=10**6)
    return Protocol(
        name="ring", version="1", root="top", exits={"Next": Exit()}, roles=roles, graphs=graphs, limits=limits
    )


def first_event(run: str, width: int, now: int = 0, protocol: str = "digest") -> RunStarted:
    """The first event of a run with `width` instances that go round."""
    given = Item("root", "", {"items": tuple(Item(f"k{number}", "") for number in range(width))})
    return RunStarted(id="start", ts=now, run=run, protocol=protocol, input=given)
