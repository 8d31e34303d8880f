"""Small protocols for the kernel's tests, written as model values."""

from typing import Any

from treadle.protocol.model import (
    Budget,
    CheckRef,
    Exit,
    Field,
    Graph,
    Handler,
    Limits,
    Need,
    Protocol,
    Role,
    Route,
    Rows,
    Send,
    Spawn,
    Step,
    Wait,
)


def to(target: str, **more: Any) -> Rows:
    return (Route(to=target, **more),)


def agent(routes: dict[str, Rows], gates: str = "", role: str = "worker", **more: Any) -> Step:
    exits = tuple(dict.fromkeys(key.partition(".")[0] for key in routes if not key.startswith("!")))
    words = [(word.rstrip("?").partition(":"), word.endswith("?")) for word in gates.split()]
    checks = tuple(CheckRef(name=name, arg=arg, advisory=advisory) for (name, _, arg), advisory in words)
    gated = {exits[0]: checks} if checks else {}
    return Step(kind="agent", role=role, exits=exits, routes=routes, gates=gated, **more)


def ask(**routes: str) -> Step:
    return Step(kind="ask", asks="human", routes={choice: to(place) for choice, place in routes.items()})


def need(text: str) -> Need:
    optional, every = text.endswith("?"), text.endswith("*")
    parts = text.rstrip("?*").split(".")
    up = parts[0] == "up"
    parts = parts[1:] if up else parts
    return Need(exit=parts[-1], step=parts[0] if len(parts) > 1 else "", up=up, optional=optional, every=every)


def graph(steps: dict[str, Step], **more: Any) -> Graph:
    more.setdefault("system", {"!*": to("@end:Failed")})
    return Graph(start=next(iter(steps)), ends={"Done": (), "Failed": ()}, steps=steps, **more)


def protocol(*graphs: tuple[str, Graph] | Graph, **more: Any) -> Protocol:
    named = dict(g if isinstance(g, tuple) else ("main", g) for g in graphs)
    names = [exit_ for g in named.values() for step in g.steps.values() for exit_ in step.exits]
    exits = {name: Exit() for name in names} | more.pop("exits", {})
    return Protocol(
        name="test", version="1", root=next(iter(named)), exits=exits, graphs=named, roles={"worker": Role()}, **more
    )


WORK_AND_REVIEW = protocol(
    graph(
        {
            "work": agent(
                {"Ready": to("review"), "Retry": to("work"), "Stuck": to("human")},
                gates="scope green minimal?",
                attempts=3,
                needs=(need("review.More?"), need("work.Retry*")),
            ),
            "review": agent(
                {"Good": to("@end:Done"), "More": to("work", charge="reviews", over="human")},
                needs=(need("work.Ready"),),
            ),
            "human": ask(retry="work", abort="@end:Failed"),
        },
        budgets={"reviews": Budget(max=2, to="human", resets=("human",))},
    )
)

TREE = protocol(
    graph(
        {
            "plan": agent(
                {"Plan": to("work", do=(Spawn(group="children", graph="main", over="parts"),)), "Ask": to("clarify")}
            ),
            "clarify": Step(kind="ask", asks="parent", signal="Question", routes={"Answer": to("plan")}),
            "work": agent({"Worked": to("merge")}, gates="green", wait=(Wait(kind="group", group="children"),)),
            "merge": Step(
                kind="effect",
                effect="merge",
                exits=("Merged",),
                pools=("parent:branch",),
                routes={
                    "Merged": (
                        Route(to="@end:Done", when="root"),
                        Route(to="verdict", do=(Send(signal="Shift", to="siblings"),)),
                    )
                },
            ),
            "verdict": Step(
                kind="ask", asks="parent", signal="Judge", routes={"Accept": to("@end:Done"), "Reject": to("work")}
            ),
            "judge": agent(
                {
                    "Yes": to("@resume", do=(Send(signal="Accept", to="sender"),)),
                    "No": to("@resume", do=(Send(signal="Reject", to="sender"),)),
                }
            ),
            "rebase": Step(
                kind="effect",
                effect="rebase",
                exits=("Clean", "Conflict"),
                routes={"Clean": to("@resume"), "Conflict": to("^plan")},
            ),
            "explain": agent({"Explained": to("@resume", do=(Send(signal="Answer", to="sender"),))}),
            "lost": ask(replan="^plan", abort="@end:Failed"),
        },
        ok={"children": ("Done",)},
        handlers={
            "Shift": Handler(step="rebase", prio=0, coalesce=True),
            "Judge": Handler(step="judge", prio=1, reply=True),
            "Question": Handler(step="explain", prio=1, reply=True),
            "child:Failed": Handler(step="lost", prio=1),
            "child:Aborted": Handler(step="lost", prio=1),
        },
    ),
    exits={"Plan": Exit(fields={"parts": Field(type="[Part]?", route="items")})},
    pools={"branch": 1},
    limits=Limits(depth=2, children=3, instances=6),
)

BATCH = protocol(
    graph(
        {
            "all": Step(
                kind="map",
                graph="cycle",
                over="in.cycles",
                window="in.parallel",
                routes={"AllOk": to("@end:Done"), "SomeFailed": to("@end:Failed")},
            )
        },
        ok={"all": ("Done",)},
    ),
    (
        "cycle",
        graph(
            {
                "red": agent({"Red": to("green", sync=True)}, gates="red", attempts=2),
                "green": agent({"Green": to("review", sync=True), "Issue": to("adjust")}),
                "adjust": agent({"Adjusted": to("green")}),
                "review": agent({"Fine": to("@end:Done"), "Again": to("red", sync=True)}),
            }
        ),
    ),
)
