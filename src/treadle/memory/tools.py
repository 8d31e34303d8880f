"""The tools of a memory: the nine of the public server, and four for dialogues.

INIT, STORE, QUERY and READ of the published protocols are tools of their own: a query of a dialogue is not one
substring.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from treadle.errors import TreadleError
from treadle.memory import knowledge_tools
from treadle.memory.dialogue import (
    Dialogue,
    DialogueExcerpt,
    DialogueRecord,
    format_bars,
    format_observation,
    is_record,
)
from treadle.memory.knowledge_tools import text_schema
from treadle.memory.store import KnowledgeGraph
from treadle.protocol.agent_lines import ANYTHING, parse_pattern
from treadle.protocol.answers.schema import Schema
from treadle.protocol.findings import suggest
from treadle.results.tools import ToolReply, ToolSpec

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


def _takes(properties: Mapping[str, Schema], *required: str) -> Schema:
    return {"type": "object", "properties": dict(properties)} | ({"required": list(required)} if required else {})


DIALOGUE_TOOLS: Final = (
    ToolSpec(
        _INIT,
        "INIT: begin a dialogue, or get the name of the one that your step already has.",
        _takes({"session": _SESSION, "type": text_schema("What kind of dialogue: plan_loop, tdd_loop, …")}),
    ),
    ToolSpec(
        "memory_store",
        "STORE: add something to the dialogue that the other side must know. It is stored exactly as you write it.",
        _takes(
            {
                "session": _SESSION,
                "content": text_schema("The text; the tool puts your name, round and phase in front of it."),
                "status": text_schema("A status code, if it is about one: →PR."),
            },
            "content",
        ),
    ),
    ToolSpec(
        "memory_query",
        "QUERY: the entries of the dialogue that match all given arguments; without arguments, all entries.",
        _takes(
            {
                "session": _SESSION,
                "pattern": text_schema(
                    "R3 (a round), OBS[S…,R3,A:QA,*]: text (* is anything, the text may be missing), or a piece of text"
                    " in any case."
                ),
                "round": text_schema("Only entries of this round: 3."),
                "agent": text_schema("Only entries of this agent, by name or symbol: QA."),
                "form": _FORM,
            }
        ),
    ),
    ToolSpec(
        "memory_read",
        "READ: the whole dialogue, oldest first.",
        _takes({"session": _SESSION, "form": _FORM}),
    ),
)
TOOLS: Final = (*knowledge_tools.TOOLS, *DIALOGUE_TOOLS)
NAMES: Final = frozenset(tool.name for tool in TOOLS)

# An agent of a run reads a graph in which others have written, so the tool shows the author of each statement.
_SOURCED: Final = frozenset({"read_graph", "search_nodes", "open_nodes"})
_SOURCES: Final[Schema] = {
    "type": "array",
    "description": "Who made each statement, as Treadle knows it; `claim` names a fact that contradicts it.",
    "items": {"type": "object"},
}
SEATED_TOOLS: Final = tuple(
    msgspec.structs.replace(tool, gives={**tool.gives, "properties": {**tool.gives["properties"], "sources": _SOURCES}})
    if tool.name in _SOURCED and tool.gives
    else tool
    for tool in TOOLS
)
_TAKES: Final = {tool.name: tool.takes for tool in DIALOGUE_TOOLS}
_PREFIX: Final = re.compile(r"mcp__[A-Za-z0-9-]+__")
"""The prefix with which clients distinguish the tools of several servers; the published protocols write
`mcp__filesystem__…`.
"""


def resolve_tool(name: str) -> str:
    """Return the tool of this memory that a name means; empty if there is none."""
    plain = _PREFIX.sub("", name, count=1) if _PREFIX.match(name) else name
    return plain if plain in NAMES else ""


def call(dialogue: Dialogue, name: str, arguments: Mapping[str, Any]) -> ToolReply:
    """Call a tool; on any arguments, even invalid ones, the model gets a helpful text."""
    try:
        if name in _TAKES:
            return _call_dialogue_tool(dialogue, name, arguments)
        if dialogue.seat and name in ("delete_entities", "delete_observations"):
            asked = arguments.get("entityNames" if name == "delete_entities" else "deletions")
            deleted = [it.get("entityName") if isinstance(it, dict) else it for it in _list(asked)]
            if dialogue.seat.session in deleted:
                words = f"{dialogue.seat.session} is the dialogue itself: its entries cannot be deleted"
                return ToolReply(words, ok=False)
        if dialogue.seat and name == "add_observations" and isinstance(arguments.get("observations"), list):
            arguments = {**arguments, "observations": [_sign(dialogue, each) for each in arguments["observations"]]}
        reply = knowledge_tools.call(dialogue.space, name, arguments)
        return _with_sources(dialogue, reply) if dialogue.seat and name in _SOURCED and reply.ok else reply
    except TreadleError as error:
        return ToolReply(str(error), ok=False)


def _with_sources(dialogue: Dialogue, reply: ToolReply) -> ToolReply:
    """A part of the graph with the sources of its statements."""
    sources = dialogue.space.sources(msgspec.convert(reply.data, KnowledgeGraph))
    if not sources:
        return reply
    data = {**(reply.data or {}), "sources": msgspec.to_builtins(sources)}
    return msgspec.structs.replace(reply, text=json.dumps(data, indent=2, ensure_ascii=False), data=data)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _sign(dialogue: Dialogue, added: Any) -> Any:
    """Sign the observations that an agent adds to its dialogue, so that no agent can speak for another."""
    is_own = isinstance(added, dict) and dialogue.seat and added.get("entityName") == dialogue.seat.session
    if not is_own or not isinstance(added.get("contents"), list):
        return added
    contents = [dialogue.signed(it) if isinstance(it, str) else it for it in added["contents"]]
    return {**added, "contents": contents}


def _call_dialogue_tool(dialogue: Dialogue, name: str, arguments: Mapping[str, Any]) -> ToolReply:
    """Call one of the four tools. An agent with a dialogue of its own cannot use another one."""
    if wrong := knowledge_tools.refusal(name, _TAKES[name], arguments):
        return ToolReply(wrong, ok=False)
    own = dialogue.seat.session if dialogue.seat else ""
    session: str = arguments.get("session", "") or own
    if not session:
        return ToolReply("name the dialogue: give its id as `session`", ok=False)
    if own and session != own:
        return _refuse_other(session, own)

    is_new = name == _INIT and dialogue.begin(session, arguments.get("type", "dialogue"))
    excerpt = dialogue.read(session)
    if name == _INIT:
        count = len(excerpt.records) if excerpt else 0
        words = "has begun" if is_new else f"is there, with {count} {'entry' if count == 1 else 'entries'}"
        return ToolReply(f"the dialogue {session} {words}", data={"session": session, "new": is_new})
    if excerpt is None:
        near = suggest(session, dialogue.names())
        words = f"there is no dialogue {session[:80]!r}; {near + ' ' if near else ''}{_INIT} begins one"
        return ToolReply(words, ok=False)
    if name == "memory_store":
        return _store(dialogue, excerpt.session, arguments["content"], arguments.get("status", ""))
    return _query(excerpt, arguments) if name == "memory_query" else _show(excerpt, arguments)


def _refuse_other(session: str, own: str) -> ToolReply:
    return ToolReply(
        f"{session[:80]!r} is not your dialogue: an agent reads and writes its own only, which is {own!r};"
        " leave `session` out",
        ok=False,
    )


def _store(dialogue: Dialogue, session: str, content: str, status: str) -> ToolReply:
    if re.search(r"[|\n\r]", status):
        return ToolReply("a status is a code, such as →PR: no bars and no lines; say the rest in `content`", ok=False)
    if status and not dialogue.seat:
        hint = f"write R{{round}}|{{agent}}|{status}|… into `content`, and leave `status` out"
        words = f"this dialogue does not know its author: {hint}"
        return ToolReply(words, ok=False)
    text = dialogue.say(session, content, status)
    if text is None:
        return ToolReply(f"the dialogue {session[:80]!r} was deleted meanwhile; nothing was stored", ok=False)
    return ToolReply("stored", data={"session": session, "stored": text})


def _query(excerpt: DialogueExcerpt, arguments: Mapping[str, Any]) -> ToolReply:
    pattern, round_, agent = arguments.get("pattern", ""), arguments.get("round", ""), arguments.get("agent", "")
    if number := _ROUND.fullmatch(round_):
        round_ = number[1]
    round_ = "" if round_ == ANYTHING else round_
    agent = agent.removeprefix("A:")
    agent = "" if agent == ANYTHING else agent

    # The published patterns begin with the dialogue's id.
    text = "" if pattern == excerpt.session else pattern.removeprefix(f"{excerpt.session} ")
    if number := _ROUND.fullmatch(text):
        round_, text = round_ or number[1], ""
    elif asked := parse_pattern(text):
        round_, agent, text = round_ or asked.round, agent or asked.agent, asked.content
        if asked.session not in ("", excerpt.session):
            return _refuse_other(asked.session, excerpt.session)
    elif text == ANYTHING:
        text = ""
    if round_ and not round_.isdecimal():
        return ToolReply(f"{round_[:80]!r} is not a round: give a number, such as R3, or * for all", ok=False)

    fitting = [
        record
        for record in excerpt.records
        if round_ in ("", record.round)
        and agent.lower() in ("", record.agent.lower())
        and text.lower() in _in_bars(record).lower()
    ]
    return _show(msgspec.structs.replace(excerpt, records=fitting), arguments)


def _show(excerpt: DialogueExcerpt, arguments: Mapping[str, Any]) -> ToolReply:
    is_obs = arguments.get("form") == "obs"
    lines = [
        _as_one(format_observation(excerpt.session, record) if is_obs else _in_bars(record)) + _marked(record)
        for record in excerpt.records
    ]
    return ToolReply("\n".join(lines) or "no entry matches", data=msgspec.to_builtins(excerpt))


def _as_one(text: str) -> str:
    """Mark the further lines of a record, so that no reader takes them for records of others."""
    first, *rest = text.split("\n")
    return "\n".join([first, *(f"  > {line}" if is_record(line) else line for line in rest)])


def _marked(record: DialogueRecord) -> str:
    """Format the real author of a message under another name, and the fact that contradicts it."""
    by = record.source
    if by is None:
        return ""
    other = f"\n  [said by {by.role}, step {by.step}, {by.act}]" if record.agent not in ("", by.role) else ""
    return f"{other}\n  [a claim of {by.role}, step {by.step}, {by.act}: {by.claim}]" if by.claim else other


def _in_bars(record: DialogueRecord) -> str:
    return format_bars(record) if record.agent or record.status or record.round else record.content
