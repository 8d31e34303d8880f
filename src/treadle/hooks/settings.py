"""The hooks in a program's settings: ours are put in, taken out and found; everything else stays as it is."""

from collections.abc import Iterable
from typing import Any, Final, NoReturn

from treadle.errors import TreadleError
from treadle.hooks.settings_text import rewritten
from treadle.results.faulty import Faulty
from treadle.results.strict_json import parse

_HOOKS: Final = "hooks"
_OURS: Final = "treadle"


def read_settings(text: str, file: str) -> dict[str, Any]:
    """The settings in a text; an empty one has none."""
    if not text.strip():
        return {}
    value = parse(text.removeprefix("\ufeff"), file)
    if isinstance(value, Faulty):
        raise TreadleError(f"{value.problems[0]}; nothing was changed", code="hook.settings")
    if not isinstance(value, dict):
        _refuse(file, "the settings", "an object")
    return value


def with_hook(settings: dict[str, Any], file: str, events: Iterable[str], command: str, timeout: int) -> dict[str, Any]:
    """The settings with our hook for some events, once each; one that an earlier treadle has put there is replaced."""
    ours = {"type": "command", "command": command, "timeout": timeout}
    hooks = dict(_events(settings, file))
    for event in events:
        groups = _groups(hooks, event, file)
        if [hook for group in groups for hook in _handlers(group, event, file) if is_ours(hook)] != [ours]:
            hooks[event] = [*_without_ours(groups, event, file), {_HOOKS: [ours]}]
    return {**settings, _HOOKS: hooks}


def without_hook(settings: dict[str, Any], file: str) -> dict[str, Any]:
    """The settings without our hook, and without what only held it."""
    if _HOOKS not in settings:
        return settings
    hooks = dict(_events(settings, file))
    for event in list(hooks):
        groups = _groups(hooks, event, file)
        left = _without_ours(groups, event, file)
        if left != groups:
            hooks[event] = left
            if not left:
                del hooks[event]
    rest = {name: value for name, value in settings.items() if name != _HOOKS}
    return {**settings, _HOOKS: hooks} if hooks or not settings[_HOOKS] else rest


def installed(settings: dict[str, Any], file: str) -> dict[str, str]:
    """Event → the command of our hook there."""
    hooks = _events(settings, file)
    found = {
        event: [it for group in _groups(hooks, event, file) for it in _handlers(group, event, file)] for event in hooks
    }
    return {event: str(it["command"]) for event, handlers in found.items() for it in handlers if is_ours(it)}


def written(settings: dict[str, Any], before: str) -> str:
    """The settings as text, as it was but for the hooks."""
    return rewritten(before, settings, _HOOKS)


def is_ours(hook: object) -> bool:
    """Whether a handler is `treadle hook`, however it is started."""
    command = hook.get("command") if isinstance(hook, dict) else None
    words = command.split() if isinstance(command, str) else []
    words = [word.strip("'\"") for word in words if word != "--legacy"]
    return words[-1:] == ["hook"] and len(words) > 1 and words[-2].rpartition("/")[2] == _OURS


def _without_ours(groups: list[Any], event: str, file: str) -> list[Any]:
    found = []
    for group in groups:
        handlers = _handlers(group, event, file)
        left = [hook for hook in handlers if not is_ours(hook)]
        if len(left) == len(handlers):
            found.append(group)
        elif left:
            found.append({**group, _HOOKS: left})
    return found


def _events(settings: dict[str, Any], file: str) -> dict[str, Any]:
    hooks = settings.get(_HOOKS, {})
    if not isinstance(hooks, dict):
        _refuse(file, "`hooks`", "an object")
    return hooks


def _groups(hooks: dict[str, Any], event: str, file: str) -> list[Any]:
    groups = hooks.get(event, [])
    if not isinstance(groups, list):
        _refuse(file, f"`hooks.{event}`", "a list")
    return groups


def _handlers(group: object, event: str, file: str) -> list[Any]:
    handlers = group.get(_HOOKS, []) if isinstance(group, dict) else None
    if not isinstance(handlers, list):
        _refuse(file, f"an entry of `hooks.{event}`", "an object with a list `hooks`")
    return handlers


def _refuse(file: str, what: str, wanted: str) -> NoReturn:
    raise TreadleError(
        f"{file}: {what} must be {wanted}; mend it, then try again; nothing was changed", code="hook.settings"
    )
