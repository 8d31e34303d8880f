"""What somebody who is connected can use."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from treadle.memory import tools as memory_tools
from treadle.memory.dialogue import Dialogue
from treadle.memory.store import Memory
from treadle.results.offered import Offered, Said


class Offer(Protocol):
    """Tools, and what they do; both may look at files for a moment."""

    def tools(self) -> list[Offered]: ...

    def call(self, name: str, given: Mapping[str, Any]) -> Said: ...


class ProjectMemory(NamedTuple):
    """The project's own graph, for whoever has it in the configuration of an agent of their own."""

    memory: Memory

    def tools(self) -> list[Offered]:
        return list(memory_tools.TOOLS)

    def call(self, name: str, given: Mapping[str, Any]) -> Said:
        tool = memory_tools.named(name)
        if not tool:
            return Said(f"MCP error -32602: Tool {name[:80]} not found", ok=False)
        return memory_tools.call(Dialogue(self.memory), tool, given)
