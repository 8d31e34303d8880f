"""A process that drives a run and serves its agent's tools: `python -m tests.mcp.driver ROOT`.

The agent is a program that puts a file `begun` into its lane and works until there is a file `done`, also when the
driver is killed; started again with the same root, the driver finds it. At its end it prints how the run ended.
"""

import asyncio
import sys
from pathlib import Path

from tests.runtime.stage import ONE_STEP, Stage, with_role
from treadle.agents.command import CommandRunner
from treadle.mcp.http import HttpTools
from treadle.ports import Abilities

WORKS = "touch begun; while [ ! -e done ]; do sleep 0.02; done"


def staged(root: Path, tools: HttpTools) -> Stage:
    runner = CommandRunner(argv=("/bin/sh", "-c", WORKS), root=root, abilities=Abilities(survives=True, mcp="http"))
    return Stage(root, with_role(ONE_STEP), runner, tools=tools)


def main(root: Path) -> None:
    with HttpTools() as tools:
        stage = staged(root, tools)
        state = asyncio.run(stage.drive())
        stage.store.close()
    sys.stdout.write(state.outcome)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
