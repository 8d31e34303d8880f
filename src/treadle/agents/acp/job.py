"""What the client of an ACP agent is told by the runner, and what of it says what it may do."""

from pathlib import Path
from typing import Any, Final

import msgspec

from treadle.git.globs import matches

_WRITING: Final = ("edit", "delete", "move")
_NEEDS: Final = {"execute": ("run_commands", "run commands"), "fetch": ("web", "use the web")}
"""Kinds of tool calls that a role has to have leave for, and what that is called."""
_PATHS: Final = ("path", "file_path", "filePath", "filepath", "abs_path")
_GIT: Final = ".git"


class Job(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One turn of an agent, as words of a command line can tell it: no prompt, no secrets."""

    lane: str
    bundle: str
    out: str
    session: str = ""
    """The conversation to continue or (`fork`) to branch off from, as the agent calls it."""
    fork: bool = False
    model: str = ""
    writes: tuple[str, ...] | None = None
    """Globs of what may be written in the lane; None: everything."""
    perms: tuple[str, ...] | None = None
    """What its role may do; None: everything."""
    is_enclosed: bool = False
    """Whether something else keeps the agent to what it may write."""
    ledger: str = ""
    """Files below its HOME in which it writes down its tokens, as a glob."""
    silence: float = 20.0
    """Seconds without a sign of life after which an agent that complains about its service is ended."""


def why_not(job: Job, path: str) -> str:
    """Why a file may not be written; empty if it may. Links are followed: what counts is where the file would be."""
    try:
        place = (Path(job.lane) / path).resolve()
        lane, out = Path(job.lane).resolve(), Path(job.out).resolve()
    except (OSError, ValueError, RuntimeError):
        return "its path makes no sense"
    if place.is_relative_to(out):
        return ""
    if not place.is_relative_to(lane):
        return "it is outside of the lane"
    inside = place.relative_to(lane)
    if _GIT in inside.parts:
        return "git's own files are not for agents"
    if job.writes is not None and not matches(inside.as_posix(), job.writes):
        return "it is not among the files of this step"
    return ""


def refusal(job: Job, call: dict[str, Any]) -> str:
    """Why a tool call that an agent asks about is refused; empty if it is allowed. The commands of a role that may run
    any are: nothing here reads them, so it is the box and the checks that keep them.
    """
    kind = call.get("kind")
    if kind == "switch_mode":
        return "it keeps the mode that it was started in"
    perm, what = _NEEDS.get(kind, ("", "")) if isinstance(kind, str) else ("", "")
    if perm and not _may(job, perm):
        return f"this role may not {what}"
    paths = _paths(call)
    is_writing = kind in _WRITING or any(part.get("type") == "diff" for part in _objects(call.get("content")))
    if not is_writing or (job.is_enclosed and _may(job, "modify")):
        return ""
    if not paths:
        return "it does not say which file it would write"
    return next((f"{path}: {why}" for path in paths if (why := why_not(job, path))), "")


def _may(job: Job, perm: str) -> bool:
    return job.perms is None or perm in job.perms


def _paths(call: dict[str, Any]) -> list[str]:
    """All files that a call names: where it says so, in what it would change, and in what the tool is given."""
    given = call.get("rawInput")
    found = [part.get("path") for name in ("locations", "content") for part in _objects(call.get(name))]
    found += [given.get(name) for name in _PATHS] if isinstance(given, dict) else []
    return list(dict.fromkeys(path for path in found if isinstance(path, str) and path))


def _objects(value: object) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
