"""What an agent's program says on standard input when it calls a hook."""

from typing import Any, Final

import msgspec

from treadle.results.faulty import Faulty, faulty
from treadle.results.strict_json import decode

LARGEST: Final = 16 * 1024 * 1024
"""Bytes; the last message of an agent is among them."""
_WHAT: Final = "what the agent's program has said"


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """A call of a hook; whatever the program has not said, or said in another shape, is empty."""

    event: str = ""
    """`Stop`, `SubagentStop`, `TaskCompleted`, `TeammateIdle`; others are nobody's business here."""
    cwd: str = ""
    session: str = ""
    transcript: str = ""
    is_again: bool = False
    """The agent goes on only because a hook has told it to: it is not told so a second time."""
    last: str = ""
    """The agent's last message."""
    task: str = ""
    """What the task is called that was marked as completed."""
    mate: str = ""
    """Which agent of a team it is."""


def read_call(data: bytes) -> Call | Faulty:
    """A call from the bytes of standard input."""
    value = decode(data, _WHAT, LARGEST)
    if isinstance(value, Faulty):
        return value
    if not isinstance(value, dict):
        return faulty(f"{_WHAT} is no JSON object; `treadle hook` is for the hooks of agents' programs")
    return Call(
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
