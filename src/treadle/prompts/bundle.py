"""The dispatch bundle: the folder with everything that an agent gets.

`prompt.md`, `schema.json`, `context.json`, `inputs/*.json` by slot, `payloads.json` with the place of each payload in
them, `handoff.md`, and the caller's own files. The folder appears atomically, and writing it again changes nothing.
"""

import asyncio
import json
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import Final
from urllib.parse import quote

from treadle.errors import PortError
from treadle.kernel.commands import RunAgent
from treadle.kernel.state import State
from treadle.ports import Payloads, Work
from treadle.prompts.agent_prompt import prompt
from treadle.prompts.scope import permissions
from treadle.prompts.variables import input_values, parameters_of, variables
from treadle.protocol.answers.schema import schema
from treadle.protocol.items import Json
from treadle.protocol.model import Protocol
from treadle.results.tools import PAYLOADS_FILE

# The facts of a dispatch for programs: `context.json`.


def context(protocol: Protocol, state: State, command: RunAgent, payloads: Payloads) -> dict[str, Json]:
    """Return the facts of an activity: run, step, role, attempt, input, parameters and permissions."""
    role = protocol.roles[command.role]
    allowed = permissions(protocol, command, payloads)
    return {
        "run": state.run,
        "protocol": protocol.name,
        "instance": command.inst,
        "graph": command.graph,
        "step": command.step,
        "role": command.role,
        "mode": command.mode,
        "attempt": command.attempt,
        "max_attempts": command.attempts,
        "spec": input_values(command.inputs, payloads),
        "parameters": {**parameters_of(protocol, state, command, payloads)},
        "permissions": {
            "may": list(role.perms),
            "reads": list(allowed.reads),
            "writes": list(allowed.writes),
            "stubs": list(allowed.stubs),
            "hidden": list(allowed.hidden),
            "refused": list(allowed.refused),
        },
    }


FOLDER: Final = "bundle"
_LONGEST_NAME: Final = 120


def contents(
    protocol: Protocol,
    state: State,
    command: RunAgent,
    payloads: Payloads,
    toolchain: Mapping[str, str],
    *,
    handoff: str = "",
    by_hand: bool = False,
    notes: Mapping[str, str] | None = None,
    files: Mapping[str, bytes] | None = None,
) -> dict[str, bytes]:
    """Return path below the bundle → bytes; `files` are the caller's, e.g. `mcp.json`, and come last.

    `by_hand`: the agent is a person; `notes`: the project's own notes for agents, by path.
    """
    step = protocol.graphs[command.graph].steps[command.step]
    known = variables(protocol, state, command, payloads, toolchain)
    found = {
        "prompt.md": _utf8(prompt(protocol, step, known, by_hand_in=state.run if by_hand else "", notes=notes)),
        "schema.json": _json(schema(protocol, step)),
        "context.json": _json(context(protocol, state, command, payloads)),
        "handoff.md": _utf8(handoff),
    }
    every = {str(need).rstrip("*") for need in step.needs if need.every}
    places: list[Json] = []
    for slot, name in zip(command.inputs, input_names(command.inputs), strict=True):
        refs = command.inputs[slot]
        values = [payloads.get(ref) if ref else None for ref in refs]
        listed = slot in every or slot == "signals" or len(values) != 1
        found[f"inputs/{name}"] = _json(list(values) if listed else values[0])
        places += [
            {"ref": ref, "input": slot, "file": f"inputs/{name}", "at": n if listed else None}
            for n, ref in enumerate(refs)
            if ref
        ]
    return found | {PAYLOADS_FILE: _json(places)} | dict(files or {})


def input_names(slots: Iterable[str]) -> list[str]:
    """Return a file name for each slot, valid on any file system and unique regardless of case."""
    names: list[str] = []
    seen: set[str] = set()
    for slot in slots:
        name = quote(slot, safe="!@+", errors="replace")
        is_dotted = not name.strip(".") or name.startswith("..")
        if is_dotted or len(name) > _LONGEST_NAME or name.lower() in seen:
            name = f"{name.lstrip('.')[: _LONGEST_NAME - 20]}~{sha256(slot.encode(errors='replace')).hexdigest()[:12]}"
        seen.add(name.lower())
        names.append(f"{name}.json")
    return names


def environment(work: Work) -> dict[str, str]:
    """Return the environment variables that the agent contract promises."""
    return {
        "TREADLE_BUNDLE": str(work.bundle),
        "TREADLE_RUN": work.run,
        "TREADLE_ACT": work.act,
        "TREADLE_ROLE": work.role,
        "TREADLE_MODE": work.mode,
        "TREADLE_STEP": work.step,
        "TREADLE_ATTEMPT": str(work.attempt),
        "TREADLE_TOKEN": work.token,
        "TREADLE_OUT": str(work.out),
    }


async def write(home: Path, files: Mapping[str, bytes]) -> Path:
    """Write the bundle into an activity's folder, which is created if necessary; return the folder of the bundle."""
    try:
        return await asyncio.to_thread(_write, home, files)
    except OSError as error:
        raise PortError(
            f"the bundle cannot be written to {home}: {error}", retryable=True, code="file.unwritable"
        ) from error


def _write(home: Path, files: Mapping[str, bytes]) -> Path:
    goal = home / FOLDER
    home.mkdir(parents=True, exist_ok=True)
    if _holds(goal, files):
        return goal
    # A whole folder takes the place of the old one by a rename, so that no agent finds half a bundle.
    fresh = Path(tempfile.mkdtemp(prefix=".bundle-", dir=home))
    try:
        for name, body in files.items():
            inside = PurePosixPath(name)
            if inside.is_absolute() or ".." in inside.parts or not inside.parts:
                raise ValueError(f"'{name}' is not a file of the bundle")
            path = fresh / inside
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(body)
        fresh.chmod(0o755)
        if goal.is_symlink():
            goal.unlink()
        elif goal.exists():  # renamed first, atomically; then its files are deleted
            old = Path(tempfile.mkdtemp(prefix=".bundle-", dir=home))
            goal.rename(old / FOLDER)
            shutil.rmtree(old)
        fresh.rename(goal)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return goal


def _holds(folder: Path, files: Mapping[str, bytes]) -> bool:
    """Whether a bundle is there already, with these files and no others."""
    if folder.is_symlink() or not folder.is_dir():
        return False
    found = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if not path.is_dir()}
    return found.keys() == files.keys() and all(
        not path.is_symlink() and path.read_bytes() == files[name] for name, path in found.items()
    )


def _utf8(text: str) -> bytes:
    return text.encode(errors="replace")


def _json(value: Json) -> bytes:
    return _utf8(json.dumps(value, indent=2, ensure_ascii=False) + "\n")
