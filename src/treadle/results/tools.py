"""The tools that agents are offered, as data: to answer, to fetch payloads, and to read files without a shell.

They are served over stdio or HTTP elsewhere.
"""

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from treadle.git.globs import naming
from treadle.protocol.answers.claim import answer_from_tool
from treadle.protocol.answers.schema import TOOL, Schema, schema, tool_schemas
from treadle.protocol.findings import suggest
from treadle.protocol.items import canonical, content_ref
from treadle.protocol.paths import clean_path
from treadle.results.assignment import RECEIVED, Assignment
from treadle.results.intake import Faulty, read_file


class ToolSpec(msgspec.Struct, frozen=True):
    """A tool: its name, its description, its parameters."""

    name: str
    about: str
    takes: Schema
    title: str = ""
    gives: Schema | None = None
    """The shape of the structured part of its answer; None: it answers in words only."""
    hints: dict[str, bool] = {}
    """The annotations of the Model Context Protocol."""


class ToolReply(msgspec.Struct, frozen=True):
    """The reply of a tool call to the model."""

    text: str
    ok: bool = True
    data: Any = None
    """The same for programs."""


# `payload_get`: payloads by their address, in pieces; only those of this activity.
#
# `payloads.json` in the bundle lists them; a file's content is trusted only if it hashes to that address.

PAYLOAD_GET: Final = "payload_get"
PAYLOADS_FILE: Final = "payloads.json"
PIECE: Final = 50_000
"""Characters of a payload per call, by default."""
_TEXT_PREFIX: Final = "text:"
_PAYLOAD_SCHEMA: Final[Schema] = {
    "type": "object",
    "properties": {
        "ref": {"type": "string", "description": "sha256:…, or the name of an input. Without it, the tool lists all."},
        "offset": {"type": "integer", "minimum": 0, "description": "The first character to return."},
        "limit": {"type": "integer", "minimum": 1, "description": f"How many characters, at most {PIECE}."},
    },
}
PAYLOAD_TOOL: Final = ToolSpec(
    PAYLOAD_GET,
    "The inputs of this step, by address, as canonical JSON; long ones in pieces.",
    _PAYLOAD_SCHEMA,
    hints={"readOnlyHint": True},
)


class PayloadPlace(msgspec.Struct, frozen=True, kw_only=True):
    """The place of a payload in the bundle."""

    ref: str
    input: str
    file: str
    at: int | None
    """Its place in the file's list; None: it is the whole file."""


def has_payloads(bundle: Path) -> bool:
    """Whether an activity's bundle lists its payloads."""
    return (bundle / PAYLOADS_FILE).is_file()


def call_payload_tool(bundle: Path, arguments: Mapping[str, Any]) -> ToolReply:
    """Return a piece of a payload, or the list of all payloads."""
    ref, offset, limit = arguments.get("ref", ""), arguments.get("offset", 0), arguments.get("limit", PIECE)
    if not isinstance(ref, str) or not _is_count(offset, 0) or not _is_count(limit, 1):
        return ToolReply("`ref` is a text, `offset` a whole number from 0, `limit` one from 1", ok=False)
    try:
        places = msgspec.convert(_json(bundle, PAYLOADS_FILE), list[PayloadPlace])
    except msgspec.ValidationError:
        places = []
    if not ref:
        return _reply({"payloads": [{"ref": place.ref, "input": place.input} for place in places]})
    found = [place for place in places if ref in (place.ref, place.input)]
    if not found:
        near = suggest(ref, [name for place in places for name in (place.ref, place.input)])
        return ToolReply(
            f"{ref[:80]!r} is not an input of this step; {near or 'call the tool without `ref` to list them'}", ok=False
        )
    refs = sorted({place.ref for place in found})
    if len(refs) > 1:
        return ToolReply(f"there are several of {ref[:80]!r}: {', '.join(refs)}", ok=False)
    text = _payload_text(bundle, found[0])
    if text is None:
        return ToolReply(f"{found[0].file} of the bundle was changed, so it cannot be returned", ok=False)
    end = offset + min(limit, PIECE)
    rest = {"next_offset": end} if end < len(text) else {}
    return _reply({"ref": found[0].ref, "total": len(text), "offset": offset, "text": text[offset:end], **rest})


def _payload_text(bundle: Path, place: PayloadPlace) -> str | None:
    """Return a payload as canonical JSON, or a text of the kernel's own; None if its file was changed or removed."""
    if place.ref.startswith(_TEXT_PREFIX):
        return place.ref.removeprefix(_TEXT_PREFIX)
    value = _json(bundle, place.file)
    if place.at is not None:
        value = value[place.at] if isinstance(value, list) and place.at < len(value) else None
    return canonical(value).decode(errors="replace") if content_ref(value) == place.ref else None


def _json(bundle: Path, name: str) -> Any:
    data = read_file(bundle, name)
    try:
        return None if data is None or isinstance(data, Faulty) else json.loads(data)
    except (ValueError, RecursionError):
        return None


def _is_count(value: object, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _reply(data: dict[str, Any]) -> ToolReply:
    return ToolReply(json.dumps(data, indent=2, ensure_ascii=False), data=data)


# Read tools for agents that may not run commands: the files of their lane and of their bundle, and no others.

LIST, READ, SEARCH = "files_list", "files_read", "files_search"
BUNDLE: Final = "$TREADLE_BUNDLE"
"""The name of the bundle in prompts; paths that begin with it lie there."""
MOST_FILES: Final = 1_000
MOST_LINES: Final = 200
_LARGEST: Final = 8 << 20
_SEARCHED: Final = 64 << 20
"""Bytes that one search reads."""
_LONGEST: Final = 300
_CONTEXT: Final = "context.json"
_HIDDEN: Final = frozenset({".git"})
_READING: Final = {"readOnlyHint": True}


def _takes(*required: str, **properties: Schema) -> Schema:
    return {"type": "object", "properties": properties, "required": list(required)}


_GLOB: Final[Schema] = {
    "type": "string",
    "description": f"Which files: `src/**`, `**/*.py`. Without it, all. `{BUNDLE}/**` are those of the bundle.",
}
FILES_TOOLS: Final = (
    ToolSpec(
        LIST, f"The files of your working tree, at most {MOST_FILES} at once.", _takes(glob=_GLOB), hints=_READING
    ),
    ToolSpec(
        READ,
        "A file of your working tree or bundle; a long one in pieces.",
        _takes(
            "path",
            path={"type": "string", "description": f"From the root of the tree, or `{BUNDLE}/…`."},
            line={"type": "integer", "minimum": 1, "description": "The first line to return."},
        ),
        hints=_READING,
    ),
    ToolSpec(
        SEARCH,
        f"The lines that hold a text, at most {MOST_LINES}; capitals make no difference.",
        _takes("text", text={"type": "string", "minLength": 1}, glob=_GLOB),
        hints=_READING,
    ),
)


def may_read_files(bundle: Path) -> bool:
    """Whether the bundle belongs to a role that may not run commands, and so cannot read files in another way."""
    context = _json(bundle, _CONTEXT)
    try:
        return "run_commands" not in context["permissions"]["may"]
    except (TypeError, LookupError):
        return False


def is_files_tool(name: str) -> bool:
    """Whether a tool is one of these."""
    return name in _CALLS


def call_files_tool(lane: Path, bundle: Path, name: str, arguments: Mapping[str, Any]) -> ToolReply:
    """Call a file tool; bad arguments get a helpful reply, not an exception."""
    return _CALLS[name](lane, bundle, arguments)


def _list(lane: Path, bundle: Path, arguments: Mapping[str, Any]) -> ToolReply:
    found = _find_files(lane, bundle, arguments)
    if isinstance(found, ToolReply):
        return found
    files = [path for path, _, _ in found]
    more = {"left_out": len(files) - MOST_FILES} if len(files) > MOST_FILES else {}
    return _reply({"files": files[:MOST_FILES], **more})


def _read(lane: Path, bundle: Path, arguments: Mapping[str, Any]) -> ToolReply:
    path, first = arguments.get("path"), arguments.get("line", 1)
    if not isinstance(path, str) or not isinstance(first, int) or isinstance(first, bool) or first < 1:
        return ToolReply("`path` is a text, `line` a whole number from 1", ok=False)
    root, inside = _resolve(lane, bundle, path)
    data = read_file(root, inside, path[:200], _LARGEST) if _is_below(inside) else None
    if isinstance(data, Faulty):
        return ToolReply("; ".join(data.problems), ok=False)
    if data is None:
        known = [shown for shown, _, _ in _files(lane, bundle, path)]
        near = suggest(path, known) or f"{LIST} lists the files"
        return ToolReply(f"there is no file {path[:200]!r}; {near}", ok=False)
    lines = data.decode(errors="replace").splitlines()
    text, last = _lines_piece(lines, first)
    rest = {"next_line": last + 1} if last < len(lines) else {}
    return _reply({"path": path, "lines": len(lines), "line": first, "text": text, **rest})


def _search(lane: Path, bundle: Path, arguments: Mapping[str, Any]) -> ToolReply:
    wanted, found = arguments.get("text"), _find_files(lane, bundle, arguments)
    if not isinstance(wanted, str) or not wanted:
        return ToolReply("`text` must be the text to search for", ok=False)
    if isinstance(found, ToolReply):
        return found
    hits: list[str] = []
    room = _SEARCHED
    for path, root, inside in found:
        data = read_file(root, inside, limit=_LARGEST)
        if not isinstance(data, bytes):
            continue
        room -= len(data)
        if room < 0 or len(hits) > MOST_LINES:
            break
        for number, line in enumerate(data.decode(errors="replace").splitlines(), 1):
            if wanted.lower() in line.lower():
                hits.append(f"{path}:{number}: {line.strip()[:_LONGEST]}")
    is_all = room >= 0 and len(hits) <= MOST_LINES
    more = {} if is_all else {"more": "there may be more; use a narrower glob"}
    return _reply({"lines": hits[:MOST_LINES], **more})


_CALLS: Final[dict[str, Callable[[Path, Path, Mapping[str, Any]], ToolReply]]] = {
    LIST: _list,
    READ: _read,
    SEARCH: _search,
}


def _lines_piece(lines: list[str], first: int) -> tuple[str, int]:
    """Return as many lines as fit and the number of the last; cut a line that is too long by itself."""
    taken: list[str] = []
    room = PIECE
    for line in lines[first - 1 :]:
        if taken and len(line) >= room:
            break
        taken.append(line if len(line) <= PIECE else f"{line[:PIECE]}[cut: {len(line) - PIECE} more characters]")
        room -= len(line) + 1
    return "\n".join(taken), first - 1 + len(taken)


# Resolve paths to files of the lane or the bundle.


def _find_files(lane: Path, bundle: Path, arguments: Mapping[str, Any]) -> list[tuple[str, Path, str]] | ToolReply:
    glob = arguments.get("glob", "**")
    if not isinstance(glob, str) or not glob:
        return ToolReply("`glob` is a text such as `src/**`", ok=False)
    is_named = naming((_resolve(lane, bundle, glob)[1],))
    return [one for one in _files(lane, bundle, glob) if is_named(one[2])]


def _files(lane: Path, bundle: Path, like: str) -> Iterator[tuple[str, Path, str]]:
    """Yield the files of the folder in which a path lies: the shown path, that folder, and the path below it."""
    root, _ = _resolve(lane, bundle, like)
    start = f"{BUNDLE}/" if root == bundle else ""
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in _HIDDEN)
        for name in sorted(names):
            path = Path(folder, name)
            if name not in _HIDDEN and path.is_file() and not path.is_symlink():
                inside = path.relative_to(root).as_posix()
                yield f"{start}{inside}", root, inside


def _resolve(lane: Path, bundle: Path, path: str) -> tuple[Path, str]:
    """Return the folder in which a path lies, and the path below it."""
    for root, names in ((bundle, (BUNDLE, str(bundle))), (lane, (str(lane),))):
        for name in names:
            if path == name or path.startswith(f"{name}/"):
                return root, clean_path(path.removeprefix(name))
    return lane, clean_path(path)


def _is_below(inside: str) -> bool:
    return inside.isprintable() and not {*inside.split("/")} & {"..", ".", *_HIDDEN}


# The tools that an agent answers with, as data; they are served over stdio or HTTP.

SERVER: Final = "treadle"
EMIT: Final = "emit_exit"
STATUS: Final = "status"
HANDOFF: Final = "handoff"
_VARIABLE: Final = "TREADLE_"
_NOTHING: Final[Schema] = {"type": "object", "properties": {}, "additionalProperties": False}
_TEXT_SCHEMA: Final[Schema] = {
    "type": "object",
    "properties": {"text": {"type": "string", "description": "Markdown; replaces what you left before."}},
    "required": ["text"],
    "additionalProperties": False,
}


HERE: Final = (sys.executable, "-P", "-m", "treadle", "mcp")
"""The server's command on this machine; `-P` keeps Python from importing modules of the current folder."""
INSIDE: Final = ("treadle", "mcp")
"""The server's command in a container; its image has its own treadle."""


def mcp_config(env: Mapping[str, str], server: Sequence[str] = HERE) -> dict[str, Any]:
    """Return the content of `mcp.json`: the command that starts the server, with the activity's own variables."""
    variables = {name: value for name, value in env.items() if name.startswith(_VARIABLE)}
    started = {"type": "stdio", "command": server[0], "args": list(server[1:]), "env": variables}
    return {"mcpServers": {SERVER: started}}


def mcp_config_at(address: str, token: str, server: str = SERVER) -> dict[str, Any]:
    """Return the content of `mcp.json` for a server that already runs: its address and its token."""
    reached = {"type": "http", "url": address, "headers": {"Authorization": f"Bearer {token}"}}
    return {"mcpServers": {server: reached}}


def answer_tools(task: Assignment) -> list[ToolSpec]:
    """Return the tools of an activity."""
    protocol, exits = task.step_exits.protocol, task.step_exits.exits
    several = tool_schemas(protocol, exits)
    about = {name: protocol.exits[name.removeprefix(TOOL)].help for name in several}
    return [
        ToolSpec(
            EMIT, "End this step: hand in how it ended. Call it once, when your work is done.", schema(protocol, exits)
        ),
        *(ToolSpec(name, f"End this step. {about[name]}".strip(), takes) for name, takes in several.items()),
        ToolSpec(STATUS, "Where you are: the step, its exits, and whether an answer has been handed in.", _NOTHING),
        ToolSpec(
            HANDOFF, "Leave notes for the next agent: what is done, what is open, what to watch out for.", _TEXT_SCHEMA
        ),
    ]


def call_answer_tool(task: Assignment, env: Mapping[str, str], name: str, arguments: Mapping[str, Any]) -> ToolReply:
    """Call an answer tool; bad arguments get a helpful reply, not an exception."""
    known = [tool.name for tool in answer_tools(task)]
    if name not in known:
        return ToolReply(f"there is no tool {name[:60]!r}; the tools are {', '.join(known)}", ok=False)
    if name == STATUS:
        return ToolReply(_status(task, env))
    if name == HANDOFF:
        text = arguments.get("text")
        if not isinstance(text, str) or not text.strip():
            return ToolReply("not kept: give the notes as `text`", ok=False)
        fault = task.leave_notes(text)
        return _refusal(fault) if fault else ToolReply("kept")
    answer = dict(arguments) if name == EMIT else answer_from_tool(name, arguments)
    found = task.hand_in(answer, "mcp")
    return _refusal(found) if isinstance(found, Faulty) else ToolReply(f"{found.key}: {RECEIVED}")


def _refusal(fault: Faulty) -> ToolReply:
    lines = "\n".join(f"- {problem}" for problem in fault.problems)
    return ToolReply(f"not accepted:\n{lines}\nCorrect this and call the tool again.", ok=False)


def _status(task: Assignment, env: Mapping[str, str]) -> str:
    place = " ".join(
        f"{name.lower()} {env[_VARIABLE + name]}"
        for name in ("STEP", "ROLE", "MODE", "ATTEMPT")
        if env.get(_VARIABLE + name)
    )
    answer = task.handed_in()
    state = f"handed in: {answer}" if answer else "no answer has been handed in yet"
    return f"{place or task.act}\nthis step ends with {' or '.join(task.step_exits.exits)}\n{state}"
