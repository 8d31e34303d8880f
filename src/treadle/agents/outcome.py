"""How a program ended, as far as what lies on disk tells."""

import signal
from pathlib import Path
from typing import Final

from treadle.agents.answer import answered
from treadle.agents.kept import Kept
from treadle.agents.tail import MAX_FINAL, end_of, escaped, text_of
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
    if code is not None and code >= 0:
        return Ended(how="done", final=final, code=code, detail=last_words(kept.stderr, f"it ended with code {code}"))
    if code is not None:
        detail = last_words(kept.stderr, f"it was ended by {_signal_name(-code)}")
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


def last_words(log: Path, what: str) -> str:
    """What happened, and the end of what the program has complained about."""
    words = text_of(end_of(log, _LAST_WORDS)).strip()
    return f"{what}; its last words: {words}" if words else what


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
