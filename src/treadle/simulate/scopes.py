"""The scopes in which the shipped protocols are searched, by protocol and name.

The small ones are exhausted in seconds, the large ones in minutes; the last of the fractal is meant to be cut.
"""

from typing import Final

from treadle.simulate.scope import Scope

_ONE: Final[dict[str, tuple[int | None, ...]]] = {"childSpecs": (1,)}
_TWO: Final[dict[str, tuple[int | None, ...]]] = {"childSpecs": (2,)}
_NODE: Final[dict[str, tuple[str, ...]]] = {
    "scaffold": ("InitWork",),
    "tests": ("TestsReady",),
    "impl": ("TestsPassed",),
    "review": ("Approved",),
}
_STAY: Final[dict[str, tuple[str, ...]]] = {
    "stuck": ("retry", "replan"),
    "conflict": ("retry", "replan"),
    "lost_child": ("replan",),
    "verdict": ("ChildAccepted", "ChildRejected"),
    "clarify": ("Clarified",),
    "escalate": ("Clarified",),
}
"""Nobody gives up."""

SCOPES: Final[dict[str, dict[str, Scope]]] = {
    "waterfall": {
        "story": Scope(name="story", help="one executor", graph="story", values={"complexity": ("S",)}),
        "team": Scope(
            name="team",
            help="a lead, and one or two executors",
            graph="story",
            values={"complexity": ("L",)},
            items={"backend": (1,), "frontend": (0, 1), "test": (0,), "verify": (0,)},
            faults=("!gate",),
        ),
    },
    "riper": {"cycles": Scope(name="cycles", help="two cycles", items={"cycles": (2,)})},
    "dptr": {
        "batch": Scope(
            name="batch",
            help="two cycles at once",
            graph="batch",
            items={"cycles": (2,)},
            values={"parallel": (2,)},
        ),
    },
    "v3": {
        "leaf": Scope(name="leaf", help="no children, two attempts", depth=0, attempts=2),
        "merging": Scope(
            name="merging",
            help="two siblings: conflicts, rejections, refused merges",
            items=_TWO,
            faults=(),
            menus={**_NODE, **_STAY},
        ),
        "planning": Scope(
            name="planning",
            help="two siblings: more tests, questions",
            items=_TWO,
            faults=(),
            menus={
                **_NODE,
                **_STAY,
                "scaffold": ("InitWork", "ClarificationNeeded"),
                "review": ("Approved", "MoreTests"),
                "answer": ("Clarified",),
                "merge": ("MergeComplete",),
                "rebase": ("RebaseClean",),
                "judge": ("ChildAccepted",),
            },
        ),
        "child": Scope(name="child", help="a child, all exits and failures", items=_ONE, budgets=None),
    },
    "fractal": {
        "leaf": Scope(name="leaf", help="no children, two attempts", depth=0, attempts=2),
        "failures": Scope(
            name="failures",
            help="two children that get stuck, are lost, and are planned anew",
            items=_TWO,
            budgets=None,
            faults=(),
            menus={
                "planner": ("InitLeaf", "SpawnTree"),
                "test_author": ("EmitChallenge", "ConcludeSuite"),
                "implementer": ("TestPassed", "Stuck.SkillCeiling"),
                "reviewer": ("Approve",),
                "lock": ("Passed",),
                "rebase": ("RebaseClean",),
                "merger": ("MergeComplete",),
                "glue": ("GlueComplete",),
                "stuck": ("abort",),
                "lost_child": ("replan",),
            },
        ),
        "child": Scope(name="child", help="a child, all exits and failures", items=_ONE, budgets=None),
        "children": Scope(
            name="children", help="two children, all exits; larger than anybody's patience", items=_TWO, budgets=None
        ),
    },
}
