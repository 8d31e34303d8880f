"""That somebody could not be told is said where the run is watched."""

from collections.abc import Callable

from treadle.errors import PortError
from treadle.ports import Notifier


class TellingAloud:
    """`ports.Notifier` that says why nobody was told, each time; whoever looks decides whether it is news."""

    def __init__(self, told: Notifier, say: Callable[[str], None]) -> None:
        self._told, self._say = told, say

    async def notify(self, run: str, what: str, text: str) -> None:
        """Tell it; a `PortError` is said before it is raised."""
        try:
            await self._told.notify(run, what, text)
        except PortError as error:
            self._say(str(error))
            raise
