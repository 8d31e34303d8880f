"""Install the hook in the settings of agent programs, remove it, and ask whether it is in force."""

import asyncio
import json
import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any, Final

import msgspec

from treadle.errors import TreadleError
from treadle.hooks.settings import format_settings, hook_commands, is_ours, read_settings, with_hook, without_hook
from treadle.results.intake import Faulty, read_file, remove_file, replace_file

_LONG: Final = 600
"""Seconds until a hook times out: it runs the project's tests."""


class HookProgram(msgspec.Struct, frozen=True, kw_only=True):
    """A program, the file with its hooks, and its events that concern a run."""

    name: str
    title: str
    file: Path
    events: tuple[str, ...]
    is_users: bool
    """Whether the file is the user's own, for all projects; otherwise it is the project's."""
    timeout: int = _LONG


def claude(root: Path) -> HookProgram:
    """Claude Code: the project's own settings, which lanes have, too, once they are committed."""
    return _claude(root / ".claude" / "settings.json", is_users=False)


def users_claude() -> HookProgram:
    """Claude Code: the user's settings, for all projects."""
    folder = os.environ.get("CLAUDE_CONFIG_DIR")
    return _claude((Path(folder) if folder else Path.home() / ".claude") / "settings.json", is_users=True)


def codex() -> HookProgram:
    """Codex: the user's file. It trusts a hook by the path of its file, so one in each lane would never be trusted."""
    folder = os.environ.get("CODEX_HOME")
    file = (Path(folder) if folder else Path.home() / ".codex") / "hooks.json"
    return HookProgram(name="codex", title="Codex", file=file, events=("Stop", "SubagentStop"), is_users=True)


def _claude(file: Path, *, is_users: bool) -> HookProgram:
    events = ("Stop", "SubagentStop", "TaskCompleted", "TeammateIdle")
    return HookProgram(name="claude", title="Claude Code", file=file, events=events, is_users=is_users)


# Install the hook in the settings of agents' programs, remove it, and report whether it is installed.

_LARGEST: Final = 4 * 1024 * 1024


class SettingsChange(msgspec.Struct, frozen=True):
    """A settings file before and after a change."""

    program: HookProgram
    before: str
    after: str
    """Empty: the file is removed, for nothing but our hook was in it."""

    @property
    def is_none(self) -> bool:
        return self.before == self.after


def to_install(program: HookProgram, command: str) -> SettingsChange:
    """Plan the change that adds our hook."""
    before, file = _text(program), str(program.file)
    ours = format_settings(with_hook({}, file, program.events, command, program.timeout), "")
    settings = _read(program, before, f", or put this into it by hand:\n{ours}".rstrip())
    changed = with_hook(settings, file, program.events, command, program.timeout)
    return SettingsChange(program, before, before if changed == settings else format_settings(changed, before))


def to_uninstall(program: HookProgram) -> SettingsChange:
    """Plan the change that removes our hook."""
    before, file = _text(program), str(program.file)
    settings = _read(program, before)
    changed = without_hook(settings, file)
    if changed == settings:
        return SettingsChange(program, before, before)
    return SettingsChange(program, before, format_settings(changed, before) if changed else "")


def _read(program: HookProgram, text: str, otherwise: str = "") -> dict[str, Any]:
    """Parse the settings; if they are invalid, the error explains the consequence for the program and the remedy."""
    try:
        return read_settings(text, str(program.file))
    except TreadleError as error:
        strict = f"{program.title} takes plain JSON only, and ignores a whole file with a comment or a comma too many."
        raise TreadleError(f"{error}\n{strict} Mend it, then try again{otherwise}", code=error.code) from None


def write_change(change: SettingsChange) -> None:
    """Write it: all of it, or nothing."""
    file = change.program.file
    if change.is_none:
        return
    try:
        if not change.after:
            remove_file(file.parent, file.name)
            return
        file.parent.mkdir(parents=True, exist_ok=True)
        mode = file.stat().st_mode & 0o777 if file.exists() else 0o644
        replace_file(file.parent, file.name, change.after.encode(), mode)
    except OSError as error:
        raise TreadleError(
            f"{file} cannot be written: {error.strerror}; check the permissions", code="file.unwritable"
        ) from None


def installed_commands(program: HookProgram) -> dict[str, str]:
    """Event → the command of our hook in a program's settings."""
    return hook_commands(read_settings(_text(program), str(program.file)), str(program.file))


def own_command(*, legacy: bool = False) -> str:
    """Return the command that starts this treadle as a hook: by name if that is on the PATH, to share the file."""
    words = ["treadle"] if shutil.which("treadle") else [sys.executable, "-m", "treadle"]
    return shlex.join([*words, "hook", *(["--legacy"] if legacy else [])])


def is_found(command: str) -> bool:
    """Whether the program of a command exists."""
    words = shlex.split(command)
    return bool(words) and shutil.which(words[0]) is not None


def _text(program: HookProgram) -> str:
    file = program.file
    if file.is_symlink():
        raise TreadleError(
            f"{file} is a link; put the hook into the file that it leads to, or remove the link", code="file.link"
        )
    found = read_file(file.parent, file.name, str(file), _LARGEST) if Path(file.parent).is_dir() else None
    if isinstance(found, Faulty):
        raise TreadleError(found.problems[0], code="hook.settings")
    try:
        return (found or b"").decode()
    except UnicodeDecodeError:
        raise TreadleError(
            f"{file} is not UTF-8; repair it, then try again; nothing was changed", code="file.encoding"
        ) from None


# Ask Codex which hooks it runs: only those that the user has trusted.

_PATIENCE: Final = 20.0
_LONGEST_LINE: Final = 4 * 1024 * 1024
_HELLO: Final = {"clientInfo": {"name": "treadle", "version": "1"}, "capabilities": {"experimentalApi": True}}


class HookTrust(msgspec.Struct, frozen=True):
    """Codex's report about our hooks."""

    events: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()
    """Hooks that Codex skips because the user has not trusted them, or they have changed since."""


async def ask_codex(program: str, folder: Path) -> HookTrust | None:
    """Ask Codex which of our hooks it would run in a folder; None without an answer. This calls no model."""
    try:
        async with asyncio.timeout(_PATIENCE):
            answer = await list_hooks(program, folder)
    except (OSError, TimeoutError, ValueError):
        return None
    data = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(data, list):  # an answer of another version
        return None
    hooks = [hook for one in data if isinstance(one, dict) for hook in one.get("hooks") or () if is_ours(hook)]
    runs = [hook for hook in hooks if hook.get("trustStatus") in ("trusted", "managed") and hook.get("enabled", True)]
    return HookTrust(_events(runs), _events([hook for hook in hooks if hook not in runs]))


async def list_hooks(program: str, folder: Path) -> Any:
    """Start the app server of Codex, and return its answer to `hooks/list`."""
    server = await asyncio.create_subprocess_exec(
        program, "app-server",
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
        cwd=folder, limit=_LONGEST_LINE,
    )  # fmt: skip
    try:
        assert server.stdin
        assert server.stdout
        await _call(server.stdin, server.stdout, 1, "initialize", _HELLO)
        server.stdin.write(b'{"method":"initialized"}\n')
        return await _call(server.stdin, server.stdout, 2, "hooks/list", {"cwds": [str(folder)]})
    finally:
        if server.returncode is None:
            server.kill()
        await server.wait()


async def _call(
    to: asyncio.StreamWriter, back: asyncio.StreamReader, id_: int, method: str, params: dict[str, Any]
) -> Any:
    to.write(json.dumps({"id": id_, "method": method, "params": params}).encode() + b"\n")
    await to.drain()
    while line := await back.readline():
        message = json.loads(line)
        if isinstance(message, dict) and message.get("id") == id_ and "method" not in message:
            return message.get("result")
    raise ValueError(method)


def _events(hooks: list[dict[str, Any]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(str(hook.get("eventName", "")) for hook in hooks))
