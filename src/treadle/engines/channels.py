"""Tells people through Apprise: Telegram, Slack, WhatsApp, mail, desktops and some hundred others.

Apprise is not part of every installation, and it is imported only when there is something to tell.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from treadle.errors import PortError

_VARIABLE: Final = "env:"
_KEY: Final = "notifications.channels"
_KINDS: Final = {"done": "success", "failed": "failure"} | dict.fromkeys(("limit", "outage"), "warning")
"""Event → what kind of message it is to Apprise, by which channels choose a colour or a sign; else it informs."""


def tell(channels: Iterable[str], environ: Mapping[str, str], title: str, text: str, event: str = "") -> None:
    """Tell all of them; a `PortError` says who could not be told. Addresses are credentials, and never repeated."""
    try:
        import apprise  # noqa: PLC0415 - it takes its time, and may not be there
    except ImportError:
        raise PortError(
            f"{_KEY}: Apprise is not installed; `pip install 'treadle[channels]'`", code="notify.settings"
        ) from None
    said = {
        "title": title,
        "body": text,
        "body_format": apprise.NotifyFormat.TEXT,
        "notify_type": _KINDS.get(event, "info"),
    }
    missed = [name for name, address in _addresses(channels, environ) if not _told(apprise, address, said)]
    if missed:
        raise PortError(
            f"{_KEY}: {', '.join(missed)} could not be told; see that the address is right", code="notify.failed"
        )


def _told(apprise: Any, address: str, said: Mapping[str, Any]) -> bool:
    app = apprise.Apprise()
    return bool(app.add(address)) and bool(app.notify(**said))


def _addresses(channels: Iterable[str], environ: Mapping[str, str]) -> list[tuple[str, str]]:
    """What each is called in messages, and where it is; a variable may hold several addresses."""
    found = []
    for channel in channels:
        if not channel.startswith(_VARIABLE):
            found.append((channel.partition(":")[0], channel))
            continue
        name = channel.removeprefix(_VARIABLE)
        if not environ.get(name):
            raise PortError(f"{_KEY}: the variable {name} is not set", code="notify.settings")
        found += [(name, address) for address in environ[name].split()]
    return found
