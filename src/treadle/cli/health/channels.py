"""The channels that people are told through."""

import os
from importlib.util import find_spec

from treadle.cli.health.line import Line, ok, warn
from treadle.config.model import Notifications

_VARIABLE = "env:"


def channel_lines(settings: Notifications) -> list[Line]:
    """Whether they could be told; nothing if there are none."""
    if not settings.channels:
        return []
    if find_spec("apprise") is None:
        return [
            warn(
                "channels",
                "Apprise is not installed: nobody is told",
                "pip install 'treadle[channels]'",
                code="notify.settings",
            )
        ]
    names = [it.removeprefix(_VARIABLE) for it in settings.channels if it.startswith(_VARIABLE)]
    unset = [name for name in names if not os.environ.get(name)]
    if unset:
        return [
            warn(
                "channels",
                f"not set: {', '.join(unset)}",
                "set what is missing where runs are driven",
                code="notify.settings",
            )
        ]
    return [ok("channels", f"{len(settings.channels)} named in the settings")]
