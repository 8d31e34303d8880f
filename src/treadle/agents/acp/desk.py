"""What an ACP agent may ask of its client, and where its news arrive; only the client's program imports the SDK."""

import time
from pathlib import Path
from typing import Any, Final

from acp import RequestError
from acp.schema import (
    AllowedOutcome,
    DeniedOutcome,
    PermissionOption,
    ReadTextFileResponse,
    RequestPermissionResponse,
    ToolCallUpdate,
    WriteTextFileResponse,
)
from pydantic import BaseModel

from treadle.agents.acp.complaints import Complaints
from treadle.agents.acp.job import Job, refusal, why_not
from treadle.agents.acp.telling import short, tell
from treadle.agents.lane_files import LaneFiles
from treadle.agents.tail import MAX_FINAL
from treadle.agents.told import part, text
from treadle.errors import PortError

_OFTEN: Final = 0.5
_LAST: Final = 800
_DONE: Final = ("completed", "failed")
_ALLOW: Final = ("allow_once", "allow_always")
_REJECT: Final = ("reject_once", "reject_always")


class Desk:
    """What an agent may ask of its client, and where its news arrive."""

    def __init__(self, job: Job, complaints: Complaints) -> None:
        self.job, self.complaints = job, complaints
        self.is_heard = False
        """Whether news count: what comes before the prompt is a replay of what was said long ago."""
        self.last_news = 0.0
        self.cost = 0.0
        self._said = ""
        self._shown, self._shown_at = "", 0.0
        self._calls: dict[str, dict[str, Any]] = {}
        self._refused: set[str] = set()

    @property
    def final(self) -> str:
        """What it has said since its last tool call."""
        return self._said.encode()[-MAX_FINAL:].decode(errors="ignore")

    async def request_permission(
        self, session_id: str, tool_call: ToolCallUpdate, options: list[PermissionOption], **_: Any
    ) -> RequestPermissionResponse:
        """Allow once, or refuse: so it asks each time."""
        del session_id
        self.complaints.sign_of_life()
        call = plain(tool_call)
        self._work(call)
        why = refusal(self.job, call)
        if why:
            self._refuse(call, why)
        kinds = _REJECT if why else _ALLOW
        chosen = [one for kind in kinds for one in options if one.kind == kind]
        if not chosen:
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=chosen[0].option_id))

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        """Show what it does."""
        del session_id
        self.last_news = time.monotonic()
        if not self.is_heard:
            return
        news = plain(update)
        kind = text(news, "sessionUpdate")
        if kind != "available_commands_update":
            self.complaints.sign_of_life()
        match kind:
            case "agent_message_chunk":
                self._say(text(part(news, "content"), "text"))
            case "tool_call" | "tool_call_update":
                self._work(news)
            case "usage_update":
                amount = part(news, "cost").get("amount")
                self.cost = float(amount) if isinstance(amount, int | float) else self.cost

    async def write_text_file(self, session_id: str, path: str, content: str, **_: Any) -> WriteTextFileResponse:
        """Write a file for it, if it may."""
        del session_id
        self.complaints.sign_of_life()
        if why := why_not(self.job, path):
            tell("refused", what=f"writing {short(path)}", why=why)
            raise RequestError.invalid_params({"details": f"{path} may not be written: {why}"})
        root = next(root for root in (self.job.out, self.job.lane) if _below(path, root))
        try:
            LaneFiles(Path(root)).write(_below(path, root), content)
        except (OSError, PortError) as error:
            raise RequestError.internal_error({"details": str(error)}) from None
        return WriteTextFileResponse()

    async def read_text_file(
        self, session_id: str, path: str, line: int | None = None, limit: int | None = None, **_: Any
    ) -> ReadTextFileResponse:
        """It reads by itself."""
        del session_id, path, line, limit
        raise RequestError.method_not_found("fs/read_text_file")

    async def ext_method(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Nothing but the protocol is spoken here."""
        del params
        raise RequestError.method_not_found(method)

    async def ext_notification(self, method: str, params: dict[str, Any]) -> None:
        """What only some clients understand."""

    def show(self) -> None:
        """Tell the last line of what it has said."""
        self._shown_at = time.monotonic()
        line = short(self._said[-_LAST:].strip().rpartition("\n")[2])
        if line and line != self._shown:
            self._shown = line
            tell("progress", text=line)

    def _say(self, words: str) -> None:
        self._said += words
        if len(self._said) > 4 * MAX_FINAL:
            self._said = self._said[-2 * MAX_FINAL :]
        if time.monotonic() - self._shown_at > _OFTEN:
            self.show()

    def _work(self, news: dict[str, Any]) -> None:
        """Some agents tell of a call only when they ask about it, or when it is done."""
        name, before = text(news, "toolCallId"), self._calls.get(text(news, "toolCallId"))
        if before is None:
            self.show()
            self._said = ""
        call = self._calls[name] = {**(before or {}), **news}
        if (title := text(call, "title")) and title != text(before or {}, "title"):
            tell("progress", text=short(title))
        self.complaints.tool(name, is_at_work=text(call, "status") not in _DONE)
        if text(news, "status") == "failed" and (why := refusal(self.job, call)):
            self._refuse(call, why)  # by the agent's own rules

    def _refuse(self, call: dict[str, Any], why: str) -> None:
        name = text(call, "toolCallId")
        if name not in self._refused:
            self._refused.add(name)
            tell("refused", what=short(text(call, "title") or "a tool"), why=short(why))


def plain(one: BaseModel) -> dict[str, Any]:
    """A message of the protocol as it looks on the wire."""
    return one.model_dump(mode="json", by_alias=True, exclude_none=True)


def _below(path: str, root: str) -> str:
    """A path from a folder on; empty if it is not below it."""
    try:
        place = (Path(root) / path).resolve()
        return place.relative_to(Path(root).resolve()).as_posix()
    except (OSError, ValueError, RuntimeError):
        return ""
