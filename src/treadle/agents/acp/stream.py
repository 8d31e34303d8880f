"""What the client of an ACP agent prints (`client`): a JSON object on each line."""

import re
from typing import Any, Final

from treadle.agents.outages import outage_of, wait_of
from treadle.agents.told import Told, money, text, whole
from treadle.kernel.events import Outages, Usage
from treadle.ports import Progress

AUTH_REQUIRED: Final = -32000
"""The protocol's own number for: log in first."""
NAME: Final = re.compile(r"[0-9A-Za-z][0-9A-Za-z._:-]{0,199}", re.ASCII)
"""A conversation's name that is handed on; an agent may call it anything."""
_ANYTHING: Final = 500
"""What Gemini says of every failure that has no status: words tell more."""
_STOPPED: Final = {
    "max_tokens": "its answer was cut off: the model's limit of tokens was reached",
    "max_turn_requests": "it has reached its own limit of requests",
    "refusal": "its model refuses to go on",
    "cancelled": "its turn was cancelled",
}
_STATUS: Final = re.compile(r"\b(?:status(?:Code)?|code)\W{1,4}([45]\d\d)\b", re.ASCII)
_MOST_NOTES: Final = 20


class AcpReader:
    """Reads the stream. What went wrong once is not made good by anything that comes later."""

    def __init__(self) -> None:
        self._session = self._final = self._trouble = ""
        self._usage = Usage()
        self._is_over = False
        self._outage: Outages | None = None
        self._notes: dict[str, None] = {}
        self._refused: dict[str, None] = {}

    def take(self, event: dict[str, Any]) -> Progress | None:
        """The next event; what of it shows that the agent lives."""
        match text(event, "type"):
            case "session":
                name = text(event, "id")
                self._session = self._session or (name if NAME.fullmatch(name) else "")
            case "progress":
                return Progress(text(event, "text"))
            case "note":
                return self._note(text(event, "text"))
            case "refused":
                what = f"{text(event, 'what')}: {text(event, 'why')}"
                if len(self._refused) < _MOST_NOTES:
                    self._refused[what] = None
                return self._note(f"it was refused {what}")
            case "usage":
                self._usage = _usage(event)
                return Progress(usage=self._usage)
            case "error":
                self._fail(event)
            case "ended":
                self._end(event)
        return None

    def told(self) -> Told:
        """What all events so far say."""
        return Told(
            session=self._session,
            final=self._final,
            usage=self._usage,
            is_over=self._is_over,
            trouble=self._trouble,
            outage=self._outage,
            wait=wait_of(self._trouble) if self._outage else 0,
            refused=tuple(self._refused),
            notes=tuple(self._notes),
        )

    def _note(self, words: str) -> Progress:
        if words in self._notes or len(self._notes) >= _MOST_NOTES:
            return Progress()
        self._notes[words] = None
        return Progress(note=words)

    def _end(self, event: dict[str, Any]) -> None:
        self._is_over = True
        self._final = text(event, "final") or self._final
        why = text(event, "stop_reason")
        if why != "end_turn" and not self._trouble:
            self._trouble = _STOPPED.get(why, "it does not say why it stopped")
            self._outage = "budget" if why == "max_turn_requests" else None

    def _fail(self, event: dict[str, Any]) -> None:
        if self._trouble:
            return
        code = event.get("code")
        said = text(event, "message") or "it failed, and does not say why"
        more = text(event, "data")
        self._trouble = (f"{said} ({more})" if more and more not in said else said)[:4000]
        if text(event, "during") == "start":
            return  # the program itself, not its service
        if code == AUTH_REQUIRED:
            self._outage = "login"
            self._trouble = f"it is not logged in: {self._trouble}; start the program yourself and log in"
            return
        found = _STATUS.search(self._trouble)
        status = code if isinstance(code, int) and 400 <= code < 600 else int(found[1]) if found else None
        by_words = outage_of(self._trouble) if status == _ANYTHING else None
        self._outage = by_words or outage_of(self._trouble, status)


def _usage(event: dict[str, Any]) -> Usage:
    """A price of nothing for tokens that were used is no price: agents say so of models that they do not know."""
    tokens_in, tokens_out = whole(event, "tokens_in"), whole(event, "tokens_out")
    cost = money(event, "cost") or 0.0
    unpriced = 0 if cost else tokens_in + tokens_out
    return Usage(tokens_in, tokens_out, cost, min(whole(event, "cached"), tokens_in), unpriced)
