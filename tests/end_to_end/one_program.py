"""An agent that plays every role of V3 and of the fractal: it reads its bundle, does its step, and says how it ended.

It is started by `command:` with the file in which it notes what it did, and the shape of the tree: `4x5`.
"""

import json
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from bench.tree_nodes import node_of
from bench.tree_turns import turn


def main(journal: str, shape: str) -> None:
    note(journal, "begins")
    bundle = Path(os.environ["TREADLE_BUNDLE"])
    told = json.loads((bundle / "context.json").read_bytes())
    node = node_of(told["spec"]["id"], tuple(map(int, shape.split("x"))))
    files, exit_ = turn(told["step"], node, bundle, Path())
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


if __name__ == "__main__":
    main(*sys.argv[1:])
