"""What an agent's log says of its service, while the agent itself says nothing."""

import asyncio
import re
from typing import Final

from treadle.agents.outages import outage_of

_LOOK: Final = 0.25
_QUOTED: Final = re.compile(r'error="([^"]{5,})"')
"""What a line of a log calls the error."""
_COMPLAINING: Final = ("error", "fail", "retry")


class Complaints:
    """What an agent's log says of its service since it last gave a sign of life.

    Some agents ask a service that is busy again and again, and tell only their log. The run waits better than they do.
    """

    def __init__(self, silence: float) -> None:
        self._silence = silence
        self._last, self._count, self._since = "", 0, 0.0
        self._busy: set[str] = set()

    def sign_of_life(self) -> None:
        self._last, self._count, self._since = "", 0, asyncio.get_running_loop().time()

    def tool(self, name: str, *, is_at_work: bool) -> None:
        """While a tool works, nobody asks the service."""
        (self._busy.add if is_at_work else self._busy.discard)(name)

    def hear(self, line: str) -> None:
        if any(word in line.lower() for word in _COMPLAINING) and outage_of(line):
            told = _QUOTED.search(line)
            self._last, self._count = told[1] if told else line, self._count + 1

    async def lasting(self) -> str:
        """Wait until there were several, and nothing else for too long; the last one."""
        while not (said := self.verdict()):
            await asyncio.sleep(_LOOK)
        return said

    def verdict(self) -> str:
        is_long = asyncio.get_running_loop().time() - self._since >= self._silence
        return self._last if is_long and self._count > 1 and not self._busy else ""
