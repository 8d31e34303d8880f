"""What an agent that grows a tree does in each step of V3 and of the fractal, whoever plays it."""

import json
from pathlib import Path
from typing import Any

from bench.tree_nodes import Files, Node, code, plan, scaffold, tests

Turn = tuple[Files, dict[str, Any]]


def turn(step: str, node: Node, bundle: Path, lane: Path) -> Turn:
    """What is written in a step, and how it ends."""
    match step:
        case "scaffold":
            return scaffold(node), {"type": "InitWork", **plan(node)}
        case "planner":
            kind = {"type": "SpawnTree", "interfaces": []} if node.children else {"type": "InitLeaf"}
            return scaffold(node, parts=True), {**kind, **plan(node, parts=True)}
        case "tests":
            return tests(node), {"type": "TestsReady"}
        case "test_author":
            if (lane / node.tests / f"test_{node.name}.py").exists():
                return {}, {"type": "ConcludeSuite"}
            return tests(node), {"type": "EmitChallenge", "intent": "It has a value."}
        case "impl":
            return code(node), {"type": "TestsPassed"}
        case "implementer":
            return code(node), {"type": "TestPassed"}
        case "glue":
            return code(node), {"type": "GlueComplete"}
        case "review":
            return {}, {"type": "Approved", "signOff": "The value is right."}
        case "reviewer":
            return {}, {"type": "Approve", "signOff": "The value is right."}
        case "judge":
            child = json.loads((bundle / "inputs" / "signals.json").read_bytes())[0]["author"]
            return {}, {"type": "ChildAccepted", "child": child, "reason": "It is right.", "provides": ["value"]}
    raise AssertionError(f"nobody plays {step}")
