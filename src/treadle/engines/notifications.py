"""Notifies people about a run by the settings: the terminal's bell, a program, a webhook, channels of Apprise.

A question is announced once, and a part of the run when it ends; failed notifications appear in the live view.
"""

import asyncio
import os
import sys
import urllib.request
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final

import msgspec

from treadle.config.model import Notifications
from treadle.errors import PortError, writing
from treadle.kernel.advance import LIMIT_ASK, OUTAGE
from treadle.kernel.instances import ROOT
from treadle.kernel.state import State
from treadle.ports import Notifier
from treadle.protocol.model import Protocol
from treadle.views.run_status import status_at

# Notifications through Apprise: Telegram, Slack, WhatsApp, mail, desktops and about a hundred others.
#
# Apprise is an optional dependency, imported only for an actual notification.

_VARIABLE: Final = "env:"
_KEY: Final = "notifications.channels"
_KINDS: Final = {"done": "success", "failed": "failure"} | dict.fromkeys(("limit", "outage"), "warning")
"""Event → message type of Apprise, which decides a channel's colour or icon; the default is `info`."""


def notify_channels(
    channels: Iterable[str], environ: Mapping[str, str], title: str, text: str, event: str = ""
) -> None:
    """Notify all channels; a `PortError` names the failed ones, never by address: addresses are credentials."""
    try:
        import apprise  # noqa: PLC0415 - it takes its time, and may not be there
    except ImportError:
        raise PortError(
            f"{_KEY}: Apprise is not installed; `pip install 'treadle[channels]'`", code="notify.settings"
        ) from None
    missed = []
    for channel in channels:
        is_variable = channel.startswith(_VARIABLE)
        name = channel.removeprefix(_VARIABLE) if is_variable else channel.partition(":")[0]
        for address in _resolve(channel, _KEY, environ).split() if is_variable else [channel]:
            app = apprise.Apprise()
            kind = _KINDS.get(event, "info")
            if not app.add(address) or not app.notify(
                title=title, body=text, body_format=apprise.NotifyFormat.TEXT, notify_type=kind
            ):
                missed.append(name)
    if missed:
        raise PortError(f"{_KEY}: {', '.join(missed)} cannot be reached; check the address", code="notify.failed")


def _resolve(value: str, key: str, environ: Mapping[str, str]) -> str:
    """Return a setting's address; `env:NAME` takes it from a variable, because addresses are credentials."""
    if not value.startswith(_VARIABLE):
        return value
    name = value.removeprefix(_VARIABLE)
    if not environ.get(name):
        raise PortError(f"{key}: the variable {name} is not set", code="notify.settings")
    return environ[name]


_QUESTION: Final = "question"
_PATIENCE: Final = 20.0
_LONGEST: Final = 2000
_WHOLE: Final = 6000


class SettingsNotifier(Notifier):
    """A notifier for the events and the channels that the settings name; `worded` has the text of a question by id."""

    def __init__(
        self, settings: Notifications, title: str = "", worded: Callable[[str], str] = lambda _ask: ""
    ) -> None:
        self._settings, self._title, self._worded = settings, title, worded

    async def notify(self, run: str, what: str, text: str) -> None:
        """Notify by every configured way; a `PortError` names the one that failed."""
        event = {LIMIT_ASK: "limit", OUTAGE: "outage"}.get(text, "ask") if what == _QUESTION else what
        if event not in self._settings.on:
            return
        words = worded = ""
        if what in (_QUESTION, "reminder"):
            words, worded = f"waits for your answer ({text}); see `treadle status {run}`", self._worded(text)
        elif what == "outage":
            words = f"{text}; see `treadle status {run}`"
        # The run's name comes first: a program would read a leading dash of the text as an option.
        line = f"{run}: {_printable(words or text)}"[:_LONGEST]
        message = _printable(worded, keep="\n")[:_WHOLE] or line
        if self._settings.bell and sys.stderr is not None and sys.stderr.isatty():
            with suppress(OSError):
                sys.stderr.write("\a")
                sys.stderr.flush()
        if self._settings.command:
            await _run_program(self._settings.command, run, event, line, message)
        if self._settings.webhook:
            body = msgspec.json.encode({"run": run, "event": event, "text": line, "message": message})
            address = _resolve(self._settings.webhook, "notifications.webhook", os.environ)
            await asyncio.to_thread(_post, address, body)
        if self._settings.channels:
            title = " · ".join(part for part in (self._title, run) if part)
            await asyncio.to_thread(notify_channels, self._settings.channels, os.environ, title, message, event)


def _printable(text: str, keep: str = "") -> str:
    return "".join(char if char.isprintable() or char in keep else " " for char in text)


async def _run_program(command: tuple[str, ...], run: str, event: str, text: str, message: str) -> None:
    """Start the program without a shell. Its last argument is the text; its environment has the full message, too."""
    variables = {"TREADLE_RUN": run, "TREADLE_EVENT": event, "TREADLE_TEXT": text, "TREADLE_MESSAGE": message}
    env = {**os.environ, **variables}
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


def _post(address: str, body: bytes) -> None:
    if not address.startswith(("http://", "https://")):
        raise PortError("notifications.webhook: the address must begin with https://", code="notify.settings")
    request = urllib.request.Request(address, body, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=_PATIENCE):
            pass
    except (OSError, ValueError) as error:  # the address may be a secret, and is not repeated
        raise PortError(
            f"notifications.webhook: the address cannot be reached ({type(error).__name__})", code="notify.failed"
        ) from None


# Announce a question once, even if several drivers resume the run before the answer.

_FILE: Final = "told"
_VISIT: Final = "#"
"""A part of the id of a question that is asked once; questions of the run itself reuse their ids."""


class OnceNotifier(Notifier):
    """A notifier that records announced questions in the run's folder, and reports failures to the live view."""

    def __init__(self, notifier: Notifier, folder: Path, report: Callable[[str], None] = lambda _line: None) -> None:
        self._notifier, self._file, self._report = notifier, folder / _FILE, report

    async def notify(self, run: str, what: str, text: str) -> None:
        """Notify, except for a question that was announced before; a failed announcement is repeated."""
        if what != _QUESTION or _VISIT not in text:
            await self._try(run, what, text)
            return
        try:
            announced = self._file.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError):
            announced = []
        if text not in announced:
            await self._try(run, what, text)
            with writing(self._file):
                self._file.parent.mkdir(parents=True, exist_ok=True)
                with self._file.open("a", encoding="utf-8") as file:
                    file.write(f"{text}\n")

    async def _try(self, run: str, what: str, text: str) -> None:
        """Notify, and report a failure before raising it; the live view decides whether it is news."""
        try:
            await self._notifier.notify(run, what, text)
        except PortError as error:
            self._report(str(error))
            raise


# Notify people about each part of a run that ends while it is driven, for example a story of a backlog.


@asynccontextmanager
async def notify_of_parts(
    run: str, before: State, notifier: Notifier
) -> AsyncIterator[Callable[[Protocol, State], None]]:
    """Yield a function to call after every change of the run; a failed notification stops nothing."""
    known, count = {id_ for id_, inst in before.insts.items() if inst.outcome}, before.created - before.live
    tasks: list[asyncio.Task[None]] = []

    def notify_of_ended(protocol: Protocol, state: State) -> None:
        nonlocal count
        if state.created - state.live == count:  # no instance has ended: looking at all of them would cost too much
            return
        count = state.created - state.live
        for line in status_at(protocol, state).lines:
            inst = state.insts[line.instance]
            if inst.outcome and inst.parent == ROOT and inst.id not in known:
                known.add(inst.id)
                tasks.append(asyncio.create_task(notifier.notify(run, "part", f"{inst.key} {line.end}")))

    try:
        yield notify_of_ended
    finally:
        await asyncio.gather(*tasks, return_exceptions=True)
