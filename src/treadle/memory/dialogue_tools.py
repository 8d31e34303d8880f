"""INIT, STORE, QUERY and READ of the published protocols, as tools of their own: a query here is not one substring."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from treadle.memory.dialogue import Dialogue, Read
from treadle.memory.inputs import refused
from treadle.memory.record import Record, bars, obs
from treadle.protocol.answers.schema import Schema
from treadle.protocol.findings import suggest
from treadle.protocol.lines.observations import ANYTHING
from treadle.protocol.lines.observations import pattern as pattern_of
from treadle.results.offered import Offered, Said

_SESSION: Final[Schema] = {
    "type": "string",
    "description": "The id of the dialogue (S in your parameters). Yours, if it is left out.",
}
_FORM: Final[Schema] = {
    "type": "string",
    "enum": ["bars", "obs"],
    "description": "How records are written: R{round}|P{phase}|{agent}|{status}|{content}, or OBS[…]: {content}.",
}
_INIT: Final = "memory_init"
_ROUND: Final = re.compile(r"R:?([0-9]{1,9})", re.IGNORECASE)
_BREAKS: Final = re.compile(r"[|\n\r]")


def _text(about: str) -> Schema:
    return {"type": "string", "description": about}


def _takes(properties: Mapping[str, Schema], *required: str) -> Schema:
    return {"type": "object", "properties": dict(properties)} | ({"required": list(required)} if required else {})


TOOLS: Final = (
    Offered(
        _INIT,
        "INIT: begin a dialogue. That of your step is there already; this says what it is called.",
        _takes({"session": _SESSION, "type": _text("What kind of dialogue: plan_loop, tdd_loop, …")}),
    ),
    Offered(
        "memory_store",
        "STORE: say something in the dialogue that the other side must know. It is kept exactly as you write it.",
        _takes(
            {
                "session": _SESSION,
                "content": _text("What you say; your name, round and phase are put in front of it."),
                "status": _text("A status code, if it is about one: →PR."),
            },
            "content",
        ),
    ),
    Offered(
        "memory_query",
        "QUERY: what was said in the dialogue that fits everything you ask for; all of it if you ask for nothing.",
        _takes(
            {
                "session": _SESSION,
                "pattern": _text(
                    "R3 (a round), OBS[S…,R3,A:QA,*]: text (* is anything, the text may be missing), or a piece of text"
                    " in any case."
                ),
                "round": _text("Only this round: 3."),
                "agent": _text("Only what this agent said, by name or symbol: QA."),
                "form": _FORM,
            }
        ),
    ),
    Offered(
        "memory_read",
        "READ: the whole dialogue, oldest first.",
        _takes({"session": _SESSION, "form": _FORM}),
    ),
)
_TAKES: Final = {tool.name: tool.takes for tool in TOOLS}


def call(dialogue: Dialogue, name: str, given: Mapping[str, Any]) -> Said:
    """What one of the four does. Where one has a dialogue of one's own, no other may be meant."""
    if wrong := refused(name, _TAKES[name], given):
        return Said(wrong, ok=False)
    own = dialogue.seat.session if dialogue.seat else ""
    session: str = given.get("session", "") or own
    if not session:
        return Said("say which dialogue: give its id as `session`", ok=False)
    if own and session != own:
        return _another(session, own)
    if name == _INIT:
        return _begun(dialogue, session, given.get("type", "dialogue"))
    found = dialogue.read(session)
    if found is None:
        near = suggest(session, dialogue.names())
        words = f"there is no dialogue {session[:80]!r}; {near + ' ' if near else ''}{_INIT} begins one"
        return Said(words, ok=False)
    return _CALLS[name](dialogue, found, given)


def _begun(dialogue: Dialogue, session: str, kind: str) -> Said:
    is_new = dialogue.begin(session, kind)
    found = dialogue.read(session)
    count = len(found.records) if found else 0
    words = "has begun" if is_new else f"is there, with {count} {'entry' if count == 1 else 'entries'}"
    return Said(f"the dialogue {session} {words}", data={"session": session, "new": is_new})


def _another(session: str, own: str) -> Said:
    return Said(
        f"{session[:80]!r} is not your dialogue: an agent reads and writes its own only, which is {own!r};"
        " leave `session` out",
        ok=False,
    )


def _stored(dialogue: Dialogue, found: Read, given: Mapping[str, Any]) -> Said:
    status: str = given.get("status", "")
    if _BREAKS.search(status):
        return Said("a status is a code, such as →PR: no bars and no lines; say the rest in `content`", ok=False)
    if status and not dialogue.seat:
        words = f"nobody knows here who says it: write R{{round}}|{{agent}}|{status}|… into `content`, and no `status`"
        return Said(words, ok=False)
    text = dialogue.say(found.session, given["content"], status)
    if text is None:
        return Said(f"the dialogue {found.session[:80]!r} was deleted meanwhile; nothing was stored", ok=False)
    return Said("stored", data={"session": found.session, "stored": text})


def _queried(_dialogue: Dialogue, found: Read, given: Mapping[str, Any]) -> Said:
    wanted = _wanted(found.session, given)
    if wanted.session not in ("", found.session):
        return _another(wanted.session, found.session)
    if wanted.round and not wanted.round.isdecimal():
        return Said(f"{wanted.round[:80]!r} is no round: give a number, as R3, or * for all", ok=False)
    fitting = [record for record in found.records if _fits(record, wanted)]
    return _shown(msgspec.structs.replace(found, records=fitting), given)


def _shown(found: Read, given: Mapping[str, Any]) -> Said:
    is_obs = given.get("form") == "obs"
    lines = [obs(found.session, record) if is_obs else _barred(record) for record in found.records]
    return Said("\n".join(lines) or "nothing was said that fits", data=msgspec.to_builtins(found))


def _barred(record: Record) -> str:
    return bars(record) if record.agent or record.status or record.round else record.content


class _Wanted(msgspec.Struct, frozen=True):
    round: str = ""
    agent: str = ""
    text: str = ""
    session: str = ""


def _wanted(session: str, given: Mapping[str, Any]) -> _Wanted:
    pattern = _without(session, given.get("pattern", ""))
    round_, agent = _number(given.get("round", "")), _plain(given.get("agent", "").removeprefix("A:"))
    if found := _ROUND.fullmatch(pattern):
        return _Wanted(round_ or found[1], agent)
    if asked := pattern_of(pattern):
        return _Wanted(round_ or asked.round, agent or asked.agent, asked.content.lower(), asked.session)
    return _Wanted(round_, agent, _plain(pattern).lower())


def _without(session: str, pattern: str) -> str:
    """A pattern without the dialogue's id, which is published as its beginning."""
    return "" if pattern == session else pattern.removeprefix(f"{session} ")


def _number(round_: str) -> str:
    found = _ROUND.fullmatch(round_)
    return found[1] if found else _plain(round_)


def _plain(text: str) -> str:
    return "" if text == ANYTHING else text


def _fits(record: Record, wanted: _Wanted) -> bool:
    return (
        wanted.round in ("", record.round)
        and wanted.agent.lower() in ("", record.agent.lower())
        and wanted.text in _barred(record).lower()
    )


_CALLS: Final[Mapping[str, Callable[[Dialogue, Read, Mapping[str, Any]], Said]]] = {
    "memory_store": _stored,
    "memory_query": _queried,
    "memory_read": lambda _, found, given: _shown(found, given),
}
