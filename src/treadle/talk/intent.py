"""What a sentence asks for: the words that can be said, and what they stand for."""

from collections.abc import Mapping
from typing import Final, Literal

import msgspec

Action = Literal[
    "continue", "status", "retry", "skip", "abort", "stop", "approve", "agree", "reject", "level", "answer", "help"
]


class Intent(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody wants, before anybody has looked whether it can be done."""

    action: Action
    project: str = ""
    """As it is registered; empty: none was named."""
    params: Mapping[str, str] = {}
    """`target` (a story, run or step), `note`, `text` (an answer in words of one's own), `level`."""

    def param(self, name: str) -> str:
        return self.params.get(name, "")


class Unclear(msgspec.Struct, frozen=True):
    """A sentence that nobody may act on: what is not clear, and what could be said instead."""

    why: str
    say: tuple[str, ...] = ()
    code: str = "say.unclear"

    def __str__(self) -> str:
        return "\n".join([self.why, *(f"  {line}" for line in self.say)])


PHRASES: Final[Mapping[Action, tuple[str, ...]]] = {
    "continue": ("continue", "go on", "go ahead", "carry on", "proceed", "resume", "go", "next"),
    "status": (
        *("status", "progress", "report", "how is it going", "how far are you", "where are we", "what is going on"),
        *("what's up", "whats up"),
    ),
    "retry": ("retry", "try again", "try it again", "once more", "again"),
    "skip": ("skip",),
    "abort": ("abort", "give up", "give it up", "cancel"),
    "stop": ("stop", "pause", "enough", "that is all", "that's all", "good night"),
    "approve": ("approve", "approved", "accept", "accepted", "lgtm"),
    "agree": (
        *("ok", "okay", "yes", "fine", "looks good", "all good", "all ok", "all fine", "that is fine"),
        "everything ok",
    ),
    "reject": ("reject", "rejected", "not ok", "no"),
    "level": ("level",),
    "answer": ("answer", "my answer"),
    "help": ("help", "what can i say", "what can i do"),
}
"""How each action is said; upper and lower case and punctuation do not matter."""

SAYABLE: Final = (
    "continue [PROJECT] [STORY]   let what waits go on",
    "status [PROJECT]             how things stand",
    "approve | ok                 to a review; `approve: NOTE` sends a note along",
    "30 seconds, others OK        answers the open question of a review, and approves the rest",
    "1: 30 seconds; 2: no; others OK   the same, by number, where several are open",
    "reject: WHY                  to a review; `reject scope warning: WHY` names the reason",
    "retry | skip [STORY][: NOTE] to a step that is stuck",
    "abort [STORY]                give a story up, or everything: `abort everything`",
    "stop for today               nothing new starts; says how far the project is",
    "level 0 | 1 | 2              you are the agents | every agent waits for `continue` | by itself",
)
"""What can be said, for people who were not understood."""


def is_said(word: str) -> bool:
    """Whether a word is an action by itself, and so no good name."""
    return any(word.lower() == phrase for said in PHRASES.values() for phrase in said)
