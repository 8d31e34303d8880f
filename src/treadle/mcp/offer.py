"""What somebody who is connected can use."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple, Protocol

from treadle.memory import tools as memory_tools
from treadle.memory.dialogue import Dialogue
from treadle.memory.inputs import LARGEST
from treadle.memory.store import Memory
from treadle.results.mcp_tool import EMIT
from treadle.results.offered import Offered, Said

OF_A_STEP: Final = (
    f"When the work of this step is done, call {EMIT} with how it ended, then stop. If the tool cannot be reached, hand"
    " the answer in by the command `treadle emit`, or give it as the last line of your output."
)
OF_A_PROJECT: Final = "What is remembered of this project: a knowledge graph, and dialogues."


class Offer(Protocol):
    """Tools, and what they do; both may look at files for a moment."""

    def tools(self) -> list[Offered]: ...

    def call(self, name: str, given: Mapping[str, Any]) -> Said: ...


class Guarded(Offer, Protocol):
    """Tools that a program elsewhere on this machine may use if it knows the token."""

    @property
    def token(self) -> str: ...

    @property
    def instructions(self) -> str: ...

    @property
    def badge(self) -> str:
        """Which file has address and token."""
        ...

    @property
    def limit(self) -> int:
        """Bytes of what it may be told in one text."""
        ...

    @property
    def limits(self) -> str:
        """The same in words."""
        ...


class ProjectMemory(NamedTuple):
    """The project's own graph, for whoever has it in the configuration of an agent of their own."""

    memory: Memory
    token: str = ""
    """Empty: it is reached by nobody but who has started it."""
    badge: str = ""
    instructions: str = OF_A_PROJECT
    limit: int = LARGEST

    @property
    def limits(self) -> str:
        return f"a text that is remembered may have {LARGEST}"

    def tools(self) -> list[Offered]:
        return list(memory_tools.TOOLS)

    def call(self, name: str, given: Mapping[str, Any]) -> Said:
        tool = memory_tools.named(name)
        if not tool:
            return Said(f"MCP error -32602: Tool {name[:80]} not found", ok=False)
        return memory_tools.call(Dialogue(self.memory), tool, given)
