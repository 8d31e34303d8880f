"""A call of a hook: the input from an agent's program, and the reply."""

import json
from typing import Any, Final

import msgspec

from treadle.results.intake import Faulty, decode, faulty

LARGEST: Final = 16 * 1024 * 1024
"""Bytes; the last message of an agent is among them."""
_WHAT: Final = "what the agent's program has said"


class HookCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call of a hook; missing fields and fields of another type are empty."""

    event: str = ""
    """`Stop`, `SubagentStop`, `TaskCompleted` or `TeammateIdle`; Treadle ignores all others."""
    cwd: str = ""
    session: str = ""
    transcript: str = ""
    is_again: bool = False
    """Whether the agent goes on only because of a hook: a hook does not stop it from ending a second time."""
    last: str = ""
    """The agent's last message."""
    task: str = ""
    """The name of the completed task."""
    mate: str = ""
    """Which agent of a team it is."""


def read_call(data: bytes) -> HookCall | Faulty:
    """Read a call from the bytes of standard input."""
    value = decode(data, _WHAT, LARGEST)
    if isinstance(value, Faulty):
        return value
    if not isinstance(value, dict):
        return faulty(f"{_WHAT} is not a JSON object; `treadle hook` is for the hooks of agents' programs")
    return HookCall(
        event=_text(value, "hook_event_name"),
        cwd=_text(value, "cwd"),
        session=_text(value, "session_id"),
        transcript=_text(value, "agent_transcript_path") or _text(value, "transcript_path"),
        is_again=value.get("stop_hook_active") is True,
        last=_text(value, "last_assistant_message"),
        task=_text(value, "task_subject"),
        mate=_text(value, "teammate_name") or _text(value, "agent_id"),
    )


def _text(value: dict[str, Any], name: str) -> str:
    found = value.get(name)
    return found if isinstance(found, str) and "\0" not in found else ""


# The reply to an agent's program: the work may end, or not yet, and why.

MAY_END: Final = 0
GOES_ON: Final = 2
"""The exit code with which a program lets its agent go on, with the text of standard error as its next instruction."""
_LONGEST: Final = 9_000
"""Characters; the programs cut longer texts."""


class Reply(msgspec.Struct, frozen=True):
    """How a hook ends."""

    code: int = MAY_END
    words: str = ""
    """A text: for the agent if it has to go on, for the person at the program if it may end."""

    @property
    def out(self) -> str:
        """For standard output: words for a person, in the form that the programs show them."""
        is_for_person = self.words and self.code == MAY_END
        return json.dumps({"systemMessage": _cut(f"treadle: {self.words}")}) if is_for_person else ""

    @property
    def err(self) -> str:
        """For standard error: words for the agent."""
        return _cut(self.words) if self.code == GOES_ON else ""


NO_REPLY: Final = Reply()
"""The agent has nothing to do with a run."""


def hold(words: str, *, is_again: bool) -> Reply:
    """Make the agent go on; if it already goes on because of a hook, let it end and inform the person."""
    return Reply(MAY_END if is_again else GOES_ON, words)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}\n[cut]"
