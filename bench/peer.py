"""LangGraph doing what `bench/kernel.py` does: nodes that only count, in memory."""

from typing import Any, TypedDict

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Send


class Count(TypedDict):
    n: int


def langgraph_loop(length: int, *, saver: bool) -> int:
    """Go round two nodes until `length` of them have run."""
    graph = counting_ring(length).compile(checkpointer=InMemorySaver() if saver else None)
    config = {"recursion_limit": length + 10, "configurable": {"thread_id": "1"}}
    result = graph.invoke({"n": 0}, config)
    return int(result["n"])


def langgraph_fan_out(width: int, length: int, *, saver: bool) -> int:
    """`width` loops of `length` nodes each, as sub-graphs sent to at once."""
    inner = counting_ring(length).compile()
    counts: list[int] = []

    def run(state: Count) -> dict[str, int]:
        counts.append(int(inner.invoke(state, {"recursion_limit": length + 10})["n"]))
        return {}

    outer = StateGraph(Count)
    outer.add_node("run", run)
    outer.add_conditional_edges(START, lambda _: [Send("run", {"n": 0}) for _ in range(width)])
    outer.add_edge("run", END)
    graph = outer.compile(checkpointer=InMemorySaver() if saver else None)
    graph.invoke({"n": 0}, {"configurable": {"thread_id": "1"}})
    return sum(counts)


def counting_ring(length: int) -> Any:
    """Two nodes that count, in turn, up to `length`; not yet compiled."""

    def node(state: Count) -> dict[str, int]:
        return {"n": state["n"] + 1}

    def after(other: str) -> Any:
        return lambda state: END if state["n"] >= length else other

    ring = StateGraph(Count)
    ring.add_node("a", node)
    ring.add_node("b", node)
    ring.add_edge(START, "a")
    ring.add_conditional_edges("a", after("b"), ["b", END])
    ring.add_conditional_edges("b", after("a"), ["a", END])
    return ring
