"""What an agent's program is told: the work may end, or it may not yet, and why."""

import json
from typing import Final

import msgspec

MAY_END: Final = 0
GOES_ON: Final = 2
"""The exit code by which a program lets its agent go on, with what stands on standard error as its next instruction."""
_LONGEST: Final = 9_000
"""Characters; the programs cut what is longer."""


class Reply(msgspec.Struct, frozen=True):
    """How a hook ends."""

    code: int = MAY_END
    words: str = ""
    """For the agent if it goes on, for the person who started it if it may end."""

    @property
    def out(self) -> str:
        """For standard output: words for a person, in the form that the programs show them."""
        told = self.words and self.code == MAY_END
        return json.dumps({"systemMessage": _cut(f"treadle: {self.words}")}) if told else ""

    @property
    def err(self) -> str:
        """For standard error: words for the agent."""
        return _cut(self.words) if self.code == GOES_ON else ""


NOTHING: Final = Reply()
"""The agent has nothing to do with a run."""


def hold(words: str, *, is_again: bool) -> Reply:
    """The agent is to go on; one that already does because of a hook may end, and the person is told."""
    return Reply(MAY_END if is_again else GOES_ON, words)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}\n[cut]"
