"""Words that people and agents write for the statuses of the Agentic Coding Protocol, and what they mean by them."""

from collections.abc import Iterable
from typing import Final

from treadle.protocol.findings import suggest

_MEANT: Final = {
    "pass": "done complete completed passing passed success succeeded successful ok green finished",
    "failing": "fail failed failure error red broken",
    "needs_human": "blocked stuck needs_review waiting question human",
    "running": "in_progress started working active",
    "pending": "todo queued open ready new",
    "timeout": "timed_out time_out",
}


def meant(word: str, known: Iterable[str]) -> str:
    """`did you mean 'pass'?`; empty if nobody can tell."""
    names, plain = list(known), word.strip().lower().replace("-", "_").replace(" ", "_")
    found = next((name for name, words in _MEANT.items() if name in names and plain in (name, *words.split())), "")
    return f"did you mean '{found}'?" if found else suggest(word[:100], names)
