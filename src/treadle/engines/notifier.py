"""Tells people about a run as the settings say: the terminal's bell, a program of theirs, an address, channels."""

import asyncio
import os
import sys
import urllib.request
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final

import msgspec

from treadle.config.model import Notifications
from treadle.engines.channels import tell
from treadle.errors import PortError
from treadle.kernel.advance import LIMIT_ASK, OUTAGE

QUESTION: Final = "question"
_PATIENCE: Final = 20.0
_LONGEST: Final = 2000
_WHOLE: Final = 6000
_VARIABLE: Final = "env:"

Worded = Callable[[str], str]
"""What a question says, by its id."""


def _not_worded(_ask: str) -> str:
    return ""


class SettingsNotifier:
    """A notifier that does what the settings ask for, and only for what they ask."""

    def __init__(self, settings: Notifications, title: str = "", worded: Worded = _not_worded) -> None:
        self._settings, self._title, self._worded = settings, title, worded

    async def notify(self, run: str, what: str, text: str) -> None:
        """Tell it everywhere; a `PortError` says where that failed."""
        event = _event(what, text)
        if event not in self._settings.on:
            return
        said = _said(run, what, text)
        message = self._message(what, text) or said
        if self._settings.bell:
            _ring()
        if self._settings.command:
            await _start(self._settings.command, run, event, said, message)
        if self._settings.webhook:
            body = msgspec.json.encode({"run": run, "event": event, "text": said, "message": message})
            await asyncio.to_thread(_send, _address(self._settings.webhook, os.environ), body)
        if self._settings.channels:
            title = " · ".join(part for part in (self._title, run) if part)
            await asyncio.to_thread(tell, self._settings.channels, os.environ, title, message, event)

    def _message(self, what: str, text: str) -> str:
        """A question whole, as people read it; nothing for all else."""
        worded = self._worded(text) if what in (QUESTION, "reminder") else ""
        plain = "".join(char if char.isprintable() or char == "\n" else " " for char in worded)
        return plain[:_WHOLE]


def _event(what: str, text: str) -> str:
    if what != QUESTION:
        return what
    return {LIMIT_ASK: "limit", OUTAGE: "outage"}.get(text, "ask")


def _said(run: str, what: str, text: str) -> str:
    """The text that people read. It never begins with a dash: a program would take it for an option."""
    if what in (QUESTION, "reminder"):
        text = f"waits for your answer ({text}); see `treadle status {run}`"
    if what == "outage":
        text = f"{text}; see `treadle status {run}`"
    plain = "".join(char if char.isprintable() else " " for char in text)
    return f"{run}: {plain}"[:_LONGEST]


def _ring() -> None:
    if sys.stderr is not None and sys.stderr.isatty():
        with suppress(OSError):
            sys.stderr.write("\a")
            sys.stderr.flush()


async def _start(command: tuple[str, ...], run: str, event: str, text: str, message: str) -> None:
    """Start the program without a shell; the text is its last word, and in its environment, with the whole message."""
    told = {"TREADLE_RUN": run, "TREADLE_EVENT": event, "TREADLE_TEXT": text, "TREADLE_MESSAGE": message}
    env = {**os.environ, **told}
    nothing = asyncio.subprocess.DEVNULL
    try:
        process = await asyncio.create_subprocess_exec(
            *command, run, event, text, stdin=nothing, stdout=nothing, stderr=nothing, env=env
        )
    except OSError as error:
        raise PortError(
            f"notifications.command: {command[0]} cannot be started: {error.strerror}", code="notify.failed"
        ) from None
    try:
        code = await asyncio.wait_for(process.wait(), _PATIENCE)
    except TimeoutError:
        process.kill()
        await process.wait()
        raise PortError(
            f"notifications.command: {command[0]} took longer than {_PATIENCE:g} s, and was ended", code="notify.failed"
        ) from None
    if code:
        raise PortError(f"notifications.command: {command[0]} ended with code {code}", code="notify.failed")


def _address(text: str, environ: Mapping[str, str]) -> str:
    if not text.startswith(_VARIABLE):
        return text
    name = text.removeprefix(_VARIABLE)
    if not environ.get(name):
        raise PortError(f"notifications.webhook: the variable {name} is not set", code="notify.settings")
    return environ[name]


def _send(address: str, body: bytes) -> None:
    if not address.startswith(("http://", "https://")):
        raise PortError("notifications.webhook: the address must begin with https://", code="notify.settings")
    request = urllib.request.Request(address, body, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=_PATIENCE):
            pass
    except (OSError, ValueError) as error:  # the address may be a secret, and is not repeated
        raise PortError(
            f"notifications.webhook: it could not be told ({type(error).__name__})", code="notify.failed"
        ) from None
