"""Agents that take no time and grow a tree: every role, played in this process."""

import json
from typing import Any

from bench.lane_project import write
from bench.tree_nodes import Shape, node_of
from bench.tree_turns import turn
from tests.fakes import Instant
from treadle.ports import Work


def growing(shape: Shape) -> Instant:
    """A runner that grows a tree of a shape."""

    def play(work: Work) -> dict[str, Any]:
        told = json.loads((work.bundle / "context.json").read_bytes())
        files, exit_ = turn(work.step, node_of(told["spec"]["id"], shape), work.bundle, work.lane)
        write(work.lane, files)
        return exit_

    return Instant(play)
