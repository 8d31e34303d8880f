"""How a program ended, as far as what lies on disk tells."""

import signal
from pathlib import Path
from typing import Final

from treadle.agents.answer import answered
from treadle.agents.kept import Kept
from treadle.agents.tail import MAX_FINAL, end_of, escaped, text_of
from treadle.enclosures.container import NOT_STARTED, signal_in
from treadle.ports import Ended, Work

_LAST_WORDS: Final = 2_000
STOPPED: Final = "stopped"
UNHEARD: Final = "lost"


def outcome(work: Work, longest: int = MAX_FINAL) -> Ended | None:
    """How the program ended; None if nothing tells."""
    kept = Kept.of(work)
    final = escaped(end_of(kept.stdout, longest))
    how, code, detail = kept.ended()
    if answered(work):
        return Ended(how="done", final=final, code=code)
    if code in NOT_STARTED and kept.farewell_words():
        return Ended(how="failed", final=final, code=code, detail=last_words(NOT_STARTED[code], kept.stderr))
    if code is not None and kept.is_enclosed():
        code = signal_in(code)
    if code == 0:
        return Ended(how="done", final=final, code=code, detail=last_words("", kept.stderr))
    if code is not None and code > 0:
        detail = last_words(f"it ended with code {code}", kept.stderr, kept.stdout)
        return Ended(how="done", final=final, code=code, detail=detail)
    if code is not None:
        detail = last_words(f"it was ended by {_signal_name(-code)}", kept.stderr, kept.stdout)
        return Ended(how="lost", final=final, code=code, detail=detail)
    match how:
        case _ if how == STOPPED:
            return Ended(how="lost", final=final, detail="it was ended on request")
        case _ if how == UNHEARD:
            why = f"its last output could not be kept: {detail.lower()}"
            return Ended(how="lost", final=final, detail=f"{why}; make room on the disk of {kept.root}")
        case "error":
            return Ended(how="failed", final=final, detail=f"{detail}; check the agent's command")
        case _:
            return None


def last_words(what: str, *logs: Path) -> str:
    """What happened, and the end of what the program has said: in the first of these logs that has anything."""
    found = (text_of(end_of(log, _LAST_WORDS)).strip() for log in logs)
    words = next((f"its last words: {text}" for text in found if text), "")
    return "; ".join(part for part in (what, words) if part)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
