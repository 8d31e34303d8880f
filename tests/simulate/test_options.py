"""What a small scope lets happen: all that guards, spawns and maps can tell apart, and nothing twice."""

from tests.kernel.protocols import agent, graph, protocol, to
from treadle.protocol.items import Item
from treadle.protocol.load import load
from treadle.protocol.model import Exit, Field, Protocol, Record, Route, Spawn
from treadle.simulate.options import Menu
from treadle.simulate.scope import Scope
from treadle.simulate.state_keys import Canon

PARTS = Field(type="[Part]?", route="items")


def menu(table: Protocol, scope: Scope) -> Menu:
    return Menu(table, scope, Canon(table, scope).relevance)


def routed(**fields: Field) -> Protocol:
    rows = (
        Route(to="@end:Done", when="data.count > 2 and data.size == 'L' and data.done and data.name == 'x'"),
        Route(to="work", do=(Spawn(group="kids", graph="main", over="parts"),)),
    )
    types = {"Part": Record(fields={"id": Field(type="text")})}
    return protocol(graph({"work": agent({"Ready": rows})}), exits={"Ready": Exit(fields=fields)}, types=types)


def values(table: Protocol, field: str, scope: Scope | None = None, leaf: bool = False) -> set[object]:
    """The values of a field; lists as the keys of their items."""
    claims = menu(table, scope or Scope()).work("main", "work", leaf).claims
    found = [claim.envelope.fields[field] for claim in claims]
    return {tuple(map(key, value)) if isinstance(value, tuple) else value for value in found}


def key(part: Item | str) -> str:
    return part.key if isinstance(part, Item) else part


def test_a_field_has_the_values_that_guards_tell_apart() -> None:
    count = Field(type="[text]", route="value")
    assert values(routed(count=count), "count") == {0, 1, 2, 3}
    assert values(routed(size=Field(type="S | M | L?", route="value")), "size") == {None, "S", "M", "L"}
    assert values(routed(done=Field(type="bool", route="value")), "done") == {True, False}
    assert values(routed(name=Field(type="text", route="value")), "name") == {"x", "other"}
    assert values(routed(unread=count), "unread") == {None}
    assert values(routed(count=count), "count", Scope(values={"Ready.count": (7,)})) == {7}


def test_a_list_has_the_widths_of_the_scope() -> None:
    table = routed(parts=PARTS)
    assert values(table, "parts") == {None, (), ("a",)}
    assert values(table, "parts", Scope(items={"parts": (2, None)})) == {("a", "b"), None}
    assert values(table, "parts", leaf=True) == {None}
    assert values(routed(parts=Field(type="[text]", route="items")), "parts") == {(), ("a",)}


def test_failures_that_take_the_same_row_are_one() -> None:
    table = protocol(graph({"work": agent({"Ready": to("@end:Done"), "!timeout": to("@end:Failed")})}))
    assert menu(table, Scope()).work("main", "work", False).failures == ("!timeout",)
    other = protocol(graph({"work": agent({"Ready": to("@end:Done"), "!timeout": to("@end:Done")})}))
    assert menu(other, Scope()).work("main", "work", False).failures == ("!timeout", "!crash")


def test_checks_fail_in_every_way_that_has_a_row() -> None:
    work = menu(load("fractal"), Scope()).work("node", "lock", False)
    failing = [[result.check for result in verdict.results if not result.ok] for verdict in work.verdicts]
    assert failing == [[], ["build"], ["green"], ["contract"], ["manifest"], ["coverage_complete"], ["no_todo"]]


def test_a_refusal_is_looked_at_once_per_step() -> None:
    work = menu(load("v3"), Scope()).work("node", "review", True)
    assert sum(verdict.failed for claim in work.claims for verdict in claim.verdicts) == 2
    assert {claim.envelope.type for claim in work.claims} == {"Approved", "MoreTests", "Reject"}
