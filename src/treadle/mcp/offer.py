"""Offers: the tools that a connected client can use."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from treadle.memory import tools as memory_tools
from treadle.memory.dialogue import Dialogue, seat_of
from treadle.memory.knowledge_tools import LARGEST
from treadle.memory.store import Memory
from treadle.results import tools
from treadle.results.assignment import MEMORY, Assignment
from treadle.results.exits import mark_of
from treadle.results.tools import EMIT, ToolReply, ToolSpec

OF_A_STEP: Final = (
    f"When the work of this step is done, call {EMIT} with how it ended, then stop. If the tool cannot be reached, hand"
    " the answer in by the command `treadle emit`, or give it as the last line of your output."
)
OF_A_PROJECT: Final = "What is remembered of this project: a knowledge graph, and dialogues."


class ProjectMemory(NamedTuple):
    """The project's own graph, for users who add it to the configuration of their own agent."""

    memory: Memory
    token: str = ""
    """Empty: only the process that started the server can reach it."""
    badge: str = ""
    """The file with the address and the token."""
    instructions: str = OF_A_PROJECT
    limit: int = LARGEST
    """The maximum size of one text from the client, in bytes."""

    @property
    def limits(self) -> str:
        """The limit in words."""
        return f"a text that is remembered may have {LARGEST}"

    def tools(self) -> list[ToolSpec]:
        return list(memory_tools.TOOLS)

    def call(self, name: str, given: Mapping[str, Any]) -> ToolReply:
        tool = memory_tools.resolve_tool(name)
        if not tool:
            return ToolReply(f"MCP error -32602: Tool {name[:80]} not found", ok=False)
        return memory_tools.call(Dialogue(self.memory), tool, given)


# An activity with served tools.


class ServedActivity(NamedTuple):
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
        return max(self.task.step_exits.limit, LARGEST)

    @property
    def limits(self) -> str:
        return f"what is remembered may have {LARGEST}, an answer may have {self.task.step_exits.limit}"

    def tools(self) -> list[ToolSpec]:
        """Return the tools for its answer, its inputs, its files, and its dialogue."""
        payloads = [tools.PAYLOAD_TOOL] if tools.has_payloads(self.task.bundle) else []
        remembered = memory_tools.SEATED_TOOLS if self._dialogue() else ()
        files = tools.FILES_TOOLS if tools.may_read_files(self.task.bundle) else ()
        return [*tools.answer_tools(self.task), *payloads, *files, *remembered]

    def call(self, name: str, given: Mapping[str, Any]) -> ToolReply:
        """Call a tool. On any arguments, even invalid ones, the model gets a helpful text."""
        if name == tools.PAYLOAD_GET and tools.has_payloads(self.task.bundle):
            return tools.call_payload_tool(self.task.bundle, given)
        if tools.is_files_tool(name) and tools.may_read_files(self.task.bundle):
            return tools.call_files_tool(self.task.lane or Path.cwd(), self.task.bundle, name, given)
        if (tool := memory_tools.resolve_tool(name)) and self.memory:
            dialogue = self._dialogue()
            return memory_tools.call(dialogue, tool, given) if dialogue else _NO_SEAT
        return tools.call_answer_tool(self.task, self.env, name, given)

    def _dialogue(self) -> Dialogue | None:
        """Return the activity's dialogue; looked up each time, as the seat is lost when the activity ends."""
        seat = seat_of(self.memory, mark_of(self.task.token)) if self.memory else None
        return Dialogue(self.memory, seat) if self.memory and seat else None


Offer = ProjectMemory | ServedActivity
"""Tools and their implementation, which may read files briefly; over HTTP only for programs that know the token."""

_NO_SEAT = ToolReply(
    "this session has no dialogue: its step has ended or was started again, or the token is not the one it was started"
    " with; nothing was read or stored",
    ok=False,
)


def memory_in(env: Mapping[str, str]) -> Path | None:
    """Return the memory of an activity; None where it cannot be reached, as inside a box or a container."""
    path = Path(env.get(MEMORY, ""))
    is_there = bool(env.get(MEMORY)) and path.is_file() and os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)
    return path if is_there else None
