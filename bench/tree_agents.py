"""Agents that take no time and grow a tree by V3: every role, played in this process."""

import json
from typing import Any

from bench.lane_project import write
from bench.tree_nodes import Node, Shape, code, node_of, plan, scaffold, tests
from treadle.agents.answer import put_answer
from treadle.agents.played import record_of, start_playing
from treadle.ports import Abilities, Ended, Session, Watch, Work


class Growing:
    """`ports.Runner`."""

    abilities = Abilities()

    def __init__(self, shape: Shape) -> None:
        self._shape = shape

    async def start(self, work: Work, watch: Watch) -> Session:  # noqa: ARG002
        async def play() -> Ended:
            told = json.loads((work.bundle / "context.json").read_bytes())
            put_answer(work, turn(work, node_of(told["spec"]["id"], self._shape)))
            return Ended(how="done", code=0)

        return await start_playing(work, play)

    async def attach(self, work: Work, watch: Watch) -> Session | None:  # noqa: ARG002
        return None

    async def harvest(self, work: Work) -> Ended | None:
        return record_of(work)


def turn(work: Work, node: Node) -> dict[str, Any]:
    """Do the work of a step in its lane; the exit."""
    match work.step:
        case "scaffold":
            write(work.lane, scaffold(node))
            return {"type": "InitWork", **plan(node)}
        case "tests":
            write(work.lane, tests(node))
            return {"type": "TestsReady"}
        case "impl":
            write(work.lane, code(node))
            return {"type": "TestsPassed"}
        case "review":
            return {"type": "Approved", "signOff": "The value is right."}
        case "judge":
            child = json.loads((work.bundle / "inputs" / "signals.json").read_bytes())[0]["author"]
            return {"type": "ChildAccepted", "child": child, "reason": "Its value is right.", "provides": ["value"]}
    raise AssertionError(f"nobody plays {work.step}")
