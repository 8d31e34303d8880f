"""A small protocol with one of everything that a table or a drawing shows."""

from treadle.protocol.model import (
    Becomes,
    Budget,
    CheckRef,
    Exit,
    Field,
    Graph,
    Handler,
    Mode,
    Protocol,
    Record,
    ResetThread,
    Role,
    Route,
    Rows,
    Send,
    Spawn,
    Step,
    Tier,
    Wait,
)


def rows(to: str) -> Rows:
    return (Route(to=to),)


def gate(back: str) -> Step:
    """An ask as the loader clones it for its caller."""
    return Step(kind="ask", asks="human", routes={"retry": rows(back), "abort": rows("@end:Aborted")})


def checks(names: str) -> tuple[CheckRef, ...]:
    return tuple(CheckRef(name=name.rstrip("?"), advisory=name.endswith("?")) for name in names.split())


NODE = Graph(
    start="plan",
    input=("spec", "Spec"),
    ends={"Merged": (), "Aborted": ()},
    ok={"children": ("Merged",)},
    vars={"round": 0},
    budgets={"reviews": Budget(max=5, to="stuck@review", resets=("plan",))},
    handlers={
        "ContextShift": Handler(step="rebase", prio=0, coalesce=True),
        "ChildMerged": Handler(step="judge", reply=True, preempt=0),
    },
    steps={
        "plan": Step(
            kind="agent",
            role="planner",
            symbol="Ω₁ᴰ",
            exits=("InitWork",),
            gates={"InitWork": checks("commit scope")},
            routes={
                "InitWork": (Route(to="tests", do=(Spawn(group="children", graph="node", over="childSpecs"),)),),
                "!*": rows("stuck@plan"),
            },
        ),
        "tests": Step(
            kind="agent",
            role="tdd",
            mode="WriteTests",
            exits=("TestsReady",),
            gates={"TestsReady": checks("commit red")},
            attempts=3,
            routes={"TestsReady": rows("impl"), "!*": rows("stuck@tests")},
        ),
        "impl": Step(
            kind="agent",
            role="impl",
            exits=("TestsPassed", "RequestRetry", "Stuck"),
            attempts=5,
            becomes=(Becomes(key="Stuck.SkillCeiling"),),
            wait=(Wait(kind="group", group="children"),),
            gates={"TestsPassed": checks("green minimal?")},
            routes={
                "TestsPassed": rows("review"),
                "RequestRetry": rows("impl"),
                "Stuck.SkillCeiling": (
                    Route(to="impl", do=(Tier(by=1),), charge="reviews", over="stuck@impl", fresh=True),
                ),
                "Stuck": (Route(to="plan", do=(ResetThread(),)),),
                "!crash": rows("@end:Aborted"),
                "!*": rows("stuck@impl"),
            },
        ),
        "review": Step(
            kind="agent",
            role="tdd",
            mode="Review",
            exits=("Approved", "MoreTests"),
            gates={"Approved": checks("readonly")},
            routes={
                "Approved": rows("merge"),
                "MoreTests": (
                    Route(
                        to="tests",
                        when="data.additionalTests > 0",
                        charge="reviews",
                        over="stuck@review",
                        sets={"round": "round + 1"},
                    ),
                    Route(to="impl", charge="reviews", over="stuck@review"),
                ),
                "!*": rows("stuck@review"),
            },
        ),
        "merge": Step(
            kind="effect",
            effect="merge",
            exits=("MergeComplete", "MergeRejected"),
            routes={
                "MergeComplete": (
                    Route(
                        to="@end:Merged",
                        do=(Send(signal="ContextShift", to="siblings"), Send(signal="ChildMerged", to="parent")),
                    ),
                ),
                "MergeRejected": rows("impl"),
                "!*": rows("stuck@merge"),
            },
        ),
        "rebase": Step(
            kind="effect",
            effect="rebase",
            exits=("RebaseClean", "RebaseConflict"),
            routes={"RebaseClean": rows("@resume"), "RebaseConflict": rows("^plan"), "!*": rows("@end:Aborted")},
        ),
        "judge": Step(
            kind="check",
            checks=checks("contract"),
            routes={"Passed": (Route(to="@resume", do=(Send(signal="Yes", to="sender"),)),), "Failed": rows("^plan")},
        ),
        "stuck@plan": gate("plan"),
        "stuck@tests": gate("tests"),
        "stuck@impl": gate("impl"),
        "stuck@review": gate("review"),
        "stuck@merge": gate("merge"),
    },
    system={"!crash": rows("@end:Aborted")},
)

STORIES = Graph(
    start="sdd-delta",
    input=("epic", ""),
    ends={"Done": (), "Failed": ()},
    ok={"each": ("Merged",)},
    steps={
        "sdd-delta": Step(
            kind="agent",
            role="planner",
            wait=(Wait(kind="manual"),),
            exits=("InitWork",),
            routes={"InitWork": rows("each"), "!*": rows("@end:Failed")},
        ),
        "each": Step(
            kind="map",
            graph="node",
            over="sdd-delta.InitWork.childSpecs",
            window="3",
            routes={"AllOk": rows("@end:Done"), "SomeFailed": rows("@end:Failed"), "!limit": rows("@end:Failed")},
        ),
    },
)

SAMPLE = Protocol(
    name="sample",
    version="1",
    root="stories",
    title="A sample",
    types={"Spec": Record(fields={"id": Field(type="text"), "title": Field(type="text", help="What to build.")})},
    exits={
        "InitWork": Exit(fields={"childSpecs": Field(type="[Spec]?", route="items")}),
        "TestsReady": Exit(fields={"commit": Field(type="text", by="git")}, proves="red"),
        "TestsPassed": Exit(proves="green"),
        "Stuck": Exit(route_on="variant", fields={"variant": Field(type="SkillCeiling | SpecImpossible")}),
    },
    roles={
        "planner": Role(display="Planner", writes=("docs/**",)),
        "tdd": Role(modes={"WriteTests": Mode(exits=("TestsReady",)), "Review": Mode(exits=("Approved", "MoreTests"))}),
        "impl": Role(models=("small", "large"), writes=("src/**",)),
    },
    graphs={"stories": STORIES, "node": NODE},
)
