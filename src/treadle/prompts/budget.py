"""What one rendering may use: steps, and characters."""

from typing import Final

from treadle.prompts.foreign import MAX_FENCED

MAX_OUTPUT: Final = 600_000
MAX_FOREIGN: Final = 300_000
"""Characters of fenced text in all; beyond it, each fence shows only a beginning."""
MAX_CALLS: Final = 50_000
"""Calls of macros, and includes; a template that needs more calls itself."""
MAX_ROUNDS: Final = 10_000
"""Rounds of all loops together: fewer than calls, so that long lists are cut before they count as a fault."""
MAX_ITEMS: Final = 500
"""Rounds of one loop."""
_BEGINNING: Final = 300


class TooMuch(Exception):
    """The template does too much; its message ends the sentence `template T, line N …`."""


class Full(Exception):
    """There is no room for more text."""


class Budget:
    """Counts what a rendering has used so far."""

    def __init__(self) -> None:
        self.calls, self.turns, self.output, self.foreign = 0, 0, 0, 0
        self.rests: list[int] = []
        """How many items the loops that are under way do not see."""

    def call(self) -> None:
        """Take a step into a macro or another template, or raise `TooMuch`."""
        self.calls += 1
        if self.calls > MAX_CALLS:
            raise TooMuch(f"makes more than {MAX_CALLS} calls; does something include or call itself?")

    def rounds(self, wanted: int) -> int:
        """How many of its items a loop may see."""
        granted = min(wanted, MAX_ITEMS, MAX_ROUNDS - self.turns)
        self.turns += granted
        return granted

    def write(self, length: int) -> None:
        """Use room for text, or raise `Full`."""
        self.output += length
        if self.output > MAX_OUTPUT:
            raise Full

    def quote(self, length: int) -> int:
        """How much of a foreign text may be shown."""
        granted = min(length, MAX_FENCED, max(_BEGINNING, MAX_FOREIGN - self.foreign))
        self.foreign += granted
        return granted
