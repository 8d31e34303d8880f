"""What a trial has shown of an agent: the document, and its lines."""

from collections.abc import Mapping
from typing import Final, Literal

import msgspec

from treadle.cli.output import harmless, say
from treadle.kernel.commands import RunAgent
from treadle.views.chronicle import Chronicle, Deed
from treadle.views.moment import duration, seconds

RUN: Final = "trial"
"""The name of the run in the scratch repository."""
_FREE: Final = ("command", "scripted")
"""Agents that may answer as they like: nobody has told them of tools."""
_CHANNELS: Final = {
    "": "not tried",
    "mcp": "yes",
    "emit": "no, by `treadle emit`",
    "executor-result": "no, by .ai/executor-result",
    "handoff": "no, by HANDOFF.md",
    "final": "no, by its last words",
}

Seen = Literal["yes", "no", "not tried"]


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """What was seen of an agent: `treadle agents try --json`."""

    schema: Literal[1] = 1
    agent: str
    version: str
    """As its program tells it; empty if it does not."""
    played: bool
    """Whether its model was played."""
    works: bool
    """Whether it came to the end, wrote its file and answered by its tools."""
    outcome: str
    """How the run ended; empty: it did not."""
    writes: Seen
    """Whether it wrote the file that it was asked for, and said so."""
    channel: str
    """How its answer came: `mcp` is the tool `emit_exit`."""
    fits: Seen
    """Whether its answers were what the schemas of the steps ask for, and none was sent back."""
    resume: Seen
    """Whether it knew in a continued conversation what it was told before."""
    fork: Seen
    """Whether it knew that in a conversation that branches off."""
    kept_in: Seen
    """Whether something kept it from writing where it may not; if not, the check on the diff has found it."""
    sandbox: str
    """What was in force to keep it in: a box, something of its own, or `none`."""
    tokens: int
    cost: float
    unpriced: int
    """Those of the tokens that nobody has told a price of."""
    seconds: float
    trouble: str
    """What went wrong, in words; empty: nothing."""
    folder: str
    """The scratch repository, which is kept."""


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a trial besides its log."""

    agent: str
    kind: str
    version: str
    sandbox: str
    played: bool
    folder: str
    trouble: str = ""
    known: frozenset[str] = frozenset()
    """The steps whose conversations had the word from the beginning."""


def deeds_of(chronicle: Chronicle) -> dict[str, Deed]:
    """What each step's agent has done."""
    return {deed.command.step: deed for deed in chronicle.deeds.values() if isinstance(deed.command, RunAgent)}


def judged(chronicle: Chronicle, facts: Facts) -> Trial:
    """The verdict on an agent."""
    deeds, usage = deeds_of(chronicle), chronicle.state.usage
    note, astray = deeds.get("note"), deeds.get("astray")
    wrote = bool(note and note.left == "Noted")
    channel = note.claim.channel if note and note.claim else ""
    return Trial(
        agent=facts.agent,
        version=facts.version,
        played=facts.played,
        works=wrote and not facts.trouble and (channel == "mcp" or facts.kind in _FREE),
        outcome=chronicle.state.outcome,
        writes=_seen(wrote),
        channel=channel,
        fits=_fits(deeds),
        resume=_recalled(deeds.get("recall"), facts),
        fork=_recalled(deeds.get("branch"), facts),
        kept_in=_seen(astray.left == "Tried") if astray and astray.claim else "not tried",
        sandbox=facts.sandbox,
        tokens=usage.tokens_in + usage.tokens_out,
        cost=usage.cost,
        unpriced=usage.unpriced,
        seconds=seconds(chronicle.state.started, chronicle.state.now),
        trouble=facts.trouble,
        folder=facts.folder,
    )


def _seen(it: bool) -> Seen:
    return "yes" if it else "no"


def _fits(deeds: Mapping[str, Deed]) -> Seen:
    is_refused = any(failure.why == "invalid" for deed in deeds.values() for failure in deed.failures)
    return _seen(not is_refused) if is_refused or any(deed.claim for deed in deeds.values()) else "not tried"


def _recalled(deed: Deed | None, facts: Facts) -> Seen:
    """Whether a conversation was really continued: then it knows the word."""
    return "not tried" if deed is None or deed.claim is None else _seen(deed.command.step in facts.known)


def print_trial(found: Trial) -> None:
    """What was seen, a line each."""
    tools = _CHANNELS.get(found.channel, f"no, by {found.channel}")
    kept = {"no": "no; the check on the diff has found it"}.get(found.kept_in, found.kept_in)
    lines = {
        "version": harmless(found.version) or "not told",
        "writes a file in its scope": found.writes,
        "answers by the tool emit_exit": tools,
        "keeps to the schema of a step": found.fits,
        "goes on with a conversation": found.resume,
        "branches off from one": found.fork,
        "is kept out of other files": kept,
        "what is in force for that": found.sandbox,
        "used": _used(found),
    }
    for what, seen in lines.items():
        say(f"{what:31} {seen}")
    if found.trouble:
        say(harmless(f"it went wrong: {found.trouble}"))
    say(f"to look closer: cd {found.folder} && treadle log {RUN}")


def _used(found: Trial) -> str:
    price = "price not told" if found.unpriced and not found.cost else f"{found.cost:.2f} US dollars"
    return f"{found.tokens:,} tokens, {price}, {duration(found.seconds)}"
