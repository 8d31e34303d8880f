"""A question is told once, however often the run is taken up before somebody answers."""

from pathlib import Path
from typing import Final

from treadle.engines.notifier import QUESTION
from treadle.errors import writing
from treadle.ports import Notifier

_FILE: Final = "told"
_VISIT: Final = "#"
"""In the id of a question that is asked once; those of the run itself come back under the same name."""


class TellingOnce:
    """`ports.Notifier` that remembers, in the run's folder, which questions people were told."""

    def __init__(self, told: Notifier, folder: Path) -> None:
        self._told, self._file = told, folder / _FILE

    async def notify(self, run: str, what: str, text: str) -> None:
        """Tell it, unless it is a question that was told before; one that could not be told is told again."""
        if what != QUESTION or _VISIT not in text:
            await self._told.notify(run, what, text)
        elif text not in self._known():
            await self._told.notify(run, what, text)
            with writing(self._file):
                self._file.parent.mkdir(parents=True, exist_ok=True)
                with self._file.open("a", encoding="utf-8") as file:
                    file.write(f"{text}\n")

    def _known(self) -> list[str]:
        try:
            return self._file.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError):
            return []
