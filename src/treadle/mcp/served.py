"""An activity whose tools are served."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from treadle.mcp.offer import OF_A_STEP
from treadle.memory import tools as memory_tools
from treadle.memory.dialogue import Dialogue, seat_of
from treadle.memory.inputs import LARGEST
from treadle.memory.store import Memory
from treadle.results import files_tool, mcp_tool, payload_tool
from treadle.results.assignment import MEMORY, Assignment
from treadle.results.exits import mark_of
from treadle.results.offered import Offered, Said


class Served(NamedTuple):
    """The activity, the variables that its agent was started with, and the memory in which it may have a dialogue."""

    task: Assignment
    env: Mapping[str, str]
    memory: Memory | None = None

    @property
    def token(self) -> str:
        return self.task.token

    @property
    def instructions(self) -> str:
        return OF_A_STEP

    @property
    def badge(self) -> str:
        return "`mcp.json` of your own bundle"

    @property
    def limit(self) -> int:
        return max(self.task.ways.limit, LARGEST)

    @property
    def limits(self) -> str:
        return f"what is remembered may have {LARGEST}, an answer may have {self.task.ways.limit}"

    def tools(self) -> list[Offered]:
        """Those by which it answers, and those by which it learns what it was given and what was said."""
        payloads = [payload_tool.TOOL] if payload_tool.is_offered(self.task.bundle) else []
        remembered = memory_tools.TOOLS if self._dialogue() else ()
        files = files_tool.TOOLS if files_tool.is_offered(self.task.bundle) else ()
        return [*mcp_tool.offered(self.task), *payloads, *files, *remembered]

    def call(self, name: str, given: Mapping[str, Any]) -> Said:
        """What a tool does. Whatever it is given, the model gets words that help."""
        if name == payload_tool.NAME and payload_tool.is_offered(self.task.bundle):
            return payload_tool.call(self.task.bundle, given)
        if files_tool.named(name) and files_tool.is_offered(self.task.bundle):
            return files_tool.call(self.task.lane or Path.cwd(), self.task.bundle, name, given)
        if (tool := memory_tools.named(name)) and self.memory:
            dialogue = self._dialogue()
            return memory_tools.call(dialogue, tool, given) if dialogue else _NO_SEAT
        return mcp_tool.call(self.task, self.env, name, given)

    def _dialogue(self) -> Dialogue | None:
        """Asked each time: a seat is lost when the activity ends."""
        seat = seat_of(self.memory, mark_of(self.task.token)) if self.memory else None
        return Dialogue(self.memory, seat) if self.memory and seat else None


_NO_SEAT = Said(
    "this session has no dialogue: its step has ended or was started again, or the token is not the one it was started"
    " with; nothing was read or stored",
    ok=False,
)


def memory_in(env: Mapping[str, str]) -> Path | None:
    """The memory of an activity, where it can be reached: from inside of a box or a container it cannot."""
    path = Path(env.get(MEMORY, ""))
    is_there = bool(env.get(MEMORY)) and path.is_file() and os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)
    return path if is_there else None
