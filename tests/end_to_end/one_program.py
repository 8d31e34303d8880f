"""An agent that plays every role of V3 and of the fractal: it reads its bundle, does its step, and says how it ended.

It is started by `command:` with the file in which it notes what it did, and the shape of the tree: `4x5`.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from bench.tree_nodes import Files, Node, code, node_of, plan, scaffold, tests

Turn = tuple[Files, dict[str, Any]]


def main(journal: str, shape: str) -> None:
    note(journal, "begins")
    bundle = Path(os.environ["TREADLE_BUNDLE"])
    told = json.loads((bundle / "context.json").read_bytes())
    node = node_of(told["spec"]["id"], tuple(map(int, shape.split("x"))))
    files, exit_ = turn(told["step"], node, bundle)
    for name, text in files.items():
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    sys.stdout.write(json.dumps({"exit": exit_}) + "\n")
    sys.stdout.flush()
    note(journal, "ends")


def note(journal: str, what: str) -> None:
    """One line, written at once: other agents note theirs in the same file."""
    line = f"{what} {os.environ['TREADLE_ACT']} {os.environ['TREADLE_TOKEN']}\n"
    file = os.open(journal, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(file, line.encode())
    os.close(file)


def turn(step: str, node: Node, bundle: Path) -> Turn:
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
            if Path(node.tests, f"test_{node.name}.py").exists():
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
    sys.exit(f"nobody plays {step}")


if __name__ == "__main__":
    main(*sys.argv[1:])
